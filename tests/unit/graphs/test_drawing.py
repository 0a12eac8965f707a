"""A graph is drawn on this machine: every way that LangGraph and LangChain have to draw one, under the socket guard."""

import asyncio

import pytest
from langchain_core.runnables.graph import Graph, MermaidDrawMethod
from langgraph.pregel import Pregel
from support.fakes import FakeCorpus, ScriptedEngine

from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.graphs import GRAPHS
from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.drawing import column
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag


def crag():
    return Rag(Settings.load(), FakeCorpus(), Choice(ScriptedEngine())).graph("crag")


WAYS = {
    "as it is": crag,
    "with_config": lambda: crag().with_config(tags=["x"]),
    "copy": lambda: crag().copy(),
    "bind": lambda: crag().bind(stop=["x"]),
    "with_retry": lambda: crag().with_retry(),
    "with_types": lambda: crag().with_types(input_type=dict),
    "builder": lambda: crag().builder.compile(),
    "plain": lambda: GRAPHS["plain"](TUTORIAL).compile(),
}
"""A graph by every way to come by one: as it is, copied, bound, wrapped, and compiled from its builder."""


def methods(thing, *beginnings):
    return {name for name in dir(thing) if name.startswith(beginnings)}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_draw_stays_here_or_is_refused_in_one_sentence(way, tmp_path, capsys):
    app = WAYS[way]()
    graphs = [app.get_graph(), app.get_graph().reid()]
    if isinstance(app, Pregel):
        graphs += [app.get_graph(xray=True), asyncio.run(app.aget_graph(xray=1))]
    for graph in graphs:
        for name in methods(graph, "draw", "print"):
            try:
                getattr(graph, name)(*([str(tmp_path / "graph.png")] if name == "draw_png" else []))
            except (UsageError, ImportError) as error:
                assert name in ("draw_mermaid_png", "draw_png"), error
    assert "retrieve" in capsys.readouterr().out
    for thing in (app, app.get_graph()):
        for name in methods(thing, "_repr_"):  # what a notebook asks
            shown = getattr(thing, name)()
            assert "image/png" not in shown
            assert shown["text/markdown"].startswith("```mermaid\n")
            assert "generate" in shown["text/plain"] and "+---" in shown["text/plain"]


@pytest.mark.parametrize(
    "options",
    [{}, {"draw_method": MermaidDrawMethod.PYPPETEER}, {"max_retries": 3, "base_url": "https://mermaid.test"}],
    ids=["mermaid.ink", "a browser", "another server"],
)
def test_a_png_from_another_machine_is_refused_with_the_way_to_draw_it_here(options, tmp_path):
    with pytest.raises(UsageError, match=r"\.draw_mermaid\(\)") as refused:
        crag().get_graph().draw_mermaid_png(output_file_path=str(tmp_path / "graph.png"), **options)
    assert "\n" not in str(refused.value) and not list(tmp_path.iterdir())


def test_langchain_draws_in_no_way_that_is_unknown_here():
    """A method of drawing that a new version adds must be looked at before it is trusted."""
    known = {*"draw_ascii draw_mermaid draw_mermaid_png draw_png print_ascii".split()}
    assert {name for name in dir(Graph) if "draw" in name or "print" in name} == known
    assert methods(crag(), "_repr_") == methods(crag().get_graph(), "_repr_") == {"_repr_mimebundle_"}


@pytest.mark.parametrize("options", [TUTORIAL, Options(separate=True, candidates=True, complexity="auto")])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_column_goes_from_the_question_to_the_answer(name, options):
    nodes, edges = column(name, options)
    assert (nodes, edges) == column(name, options), "the same each time"
    assert (nodes[0], nodes[-1]) == ("__start__", "__end__") and len({*nodes}) == len(nodes)
    assert {*nodes} == {node for edge in edges for node in (edge.source, edge.target)}
    back = {edge.target for edge in edges if nodes.index(edge.target) < nodes.index(edge.source)}
    assert back <= {"retrieve", "generate", "retrieve_step"}, "the loops, and nothing else"


def test_there_is_no_column_of_an_unknown_graph():
    with pytest.raises(UsageError, match="there is no graph 'none'"):
        column("none")
