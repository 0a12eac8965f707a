"""Do the work of the graphs in nodes: plain functions of the state and its Deps."""
