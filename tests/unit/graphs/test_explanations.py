"""Every graph and every node of it is explained to people."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from local_rag.graphs import GRAPHS
from local_rag.graphs.deps import TUTORIAL
from local_rag.graphs.drawing import OF_GRAPHS, OF_NODES


def test_every_graph_and_every_node_is_explained_and_nothing_else():
    parts = ("separate", "candidates", "decide", "each", "rewrite_first", "memory")
    wired = [replace(TUTORIAL, **{part: True}) for part in parts]
    wired += [replace(TUTORIAL, complexity=complexity) for complexity in ("auto", "multi")]
    nodes = {node for build, options in product(GRAPHS.values(), wired) for node in build(options).nodes}
    assert nodes | {"__start__", "__end__"} == set(OF_NODES) and list(GRAPHS) == list(OF_GRAPHS)
