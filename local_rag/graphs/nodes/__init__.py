"""The nodes of the graphs: plain functions of the state and its Deps."""
