"""Every edge that a graph draws, and the first script that takes it: `python -m support.edge_walk` in tests/ prints it.

The edges are those of `get_graph()`. Each script is a question under the default settings, except for those of the
wiring; what a person switches on for it (`--web`, `--direct`) stands beside the edge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from local_rag.config.values import Values
from local_rag.core.cancel import Cancel
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.core.verdicts import Thought
from local_rag.graphs import compiled
from local_rag.graphs.deps import Deps, Options
from local_rag.web.search import Off
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage

START, END = "__start__", "__end__"
DULL, UNSUPPORTED = ("fully", 2), ("no", 5)


@dataclass(frozen=True)
class Script:
    """What the engine says, what is switched on, and what files and web hold, in words and as arguments."""

    words: str
    engine: dict = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    pages: int = 1
    declined: bool = False
    late: bool = False

    @property
    def shown(self):
        return f"{self.words} ({' '.join(self.flags)})" if self.flags else self.words


WEB, DIRECT = ("--web",), ("--direct",)
TO_THE_WEB = {"source": "web_search"}
NO_ANSWER = [NOT_IN_PASSAGES]
SEVERAL = {"complexity": "multi"}
ONWARD = [Thought("Ada leads it.", query="Ada"), Thought("Ada is in Rome.", query="Rome")]
LAST_RESORT = {"relevant": ["y", "y", "n"], "grades": [DULL]}
SCRIPTS = (
    Script("all is well"),
    Script("nothing in the files is relevant", {"relevant": ["n"]}),
    Script("some passages are relevant", {"relevant": ["yynn"]}),
    Script("the answer is never supported", {"grades": [UNSUPPORTED]}),
    Script("the answer is never useful", {"grades": [DULL]}),
    Script("the passages hold no answer", {"drafts": NO_ANSWER}),
    Script("one step of reasoning is enough", SEVERAL),
    Script("reasoning until nothing new comes", SEVERAL | {"thoughts": ONWARD}),
    Script("a second part stands in the same passages", {"next": ["continue", "no"]}),
    Script("a second part needs others, and none is relevant", {"next": ["yes"], "relevant": ["y", "n"]}),
    Script("small talk", {"source": "direct", "needed": False, "drafts": ["Hello."]}, DIRECT),
    Script("nothing in the files is relevant", {"relevant": ["n", "y"]}, WEB),
    Script("nothing is relevant, the web gives nothing", {"relevant": ["n"]}, WEB, pages=0),
    Script("some passages are relevant", {"relevant": ["yynn"], "scores": [[0.5, 0.5, 0.01, 0.01]]}, WEB),
    Script("the files hold no answer", {"drafts": NO_ANSWER}, WEB),
    Script("a question for the web", TO_THE_WEB, WEB),
    Script("a question for the web, which has no answer", TO_THE_WEB | {"drafts": NO_ANSWER}, WEB),
    Script("a question for the web, its answer is never useful", TO_THE_WEB | {"grades": [DULL]}, WEB),
    Script("a question for the web, which gives nothing", TO_THE_WEB, WEB, pages=0),
    Script("a question for the web, declined", TO_THE_WEB | {"relevant": ["n"]}, WEB, declined=True),
    Script("rewritten twice, then nothing is relevant, and the web gives nothing", LAST_RESORT, WEB, pages=0),
    Script("an answer is not useful, then nothing is relevant", {"grades": [DULL], "relevant": ["n"]}, WEB, pages=0),
    Script("the time runs out on the web", TO_THE_WEB, WEB, late=True),
)
WIRINGS = {
    "plain": [{}],
    "self-rag": [
        {"self_rag": {"final_grade": grade, "candidates": candidates, "retrieve": retrieve}}
        for grade in ("together", "separate")
        for candidates in (1, 3)
        for retrieve in ("always", "decide")
    ]
    + [
        {"self_rag": {"retrieve": "each"}},
    ],
    "crag": [{}, {"crag": {"trigger": "thresholds"}}, {"crag": {"refine": True}}],
    "adaptive": [
        {"adaptive": {"complexity": complexity, "fallback": fallback}}
        for complexity in ("single", "auto", "multi")
        for fallback in ("web", "rewrite")
    ],
}
"""The settings that change the wiring of each graph; the first are the default ones."""


OFFLINE = ("plain", "self-rag")
"""Graphs that have no web: its scripts are no others for them."""


@dataclass(frozen=True)
class Walk:
    """The edges that a wiring draws, with their labels, and those that the scripts take, with the first that does."""

    drawn: dict[tuple[str, str], str]
    taken: dict[tuple[str, str], str]

    @property
    def table(self):
        rows = [(*edge, label, self.taken.get(edge, "NEVER")) for edge, label in self.drawn.items()]
        rows += [(*edge, "NOT DRAWN", script) for edge, script in self.taken.items() if edge not in self.drawn]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        cells = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
        return "\n".join("  ".join(row).rstrip() for row in cells)


def walk(name, settings=None):
    """Every script on one graph, wired as these settings ask for."""
    values = Values(**(settings or {}))
    graph = compiled(name, Options.of(values))
    drawn: dict[tuple[str, str], str] = {}
    for edge in graph.get_graph().edges:
        assert (edge.source, edge.target) not in drawn, "one edge for each pair, so that a path names its edges"
        label = str(edge.data or edge.target) if edge.conditional else ""
        drawn[edge.source, edge.target] = label
    taken: dict[tuple[str, str], str] = {}
    for script in SCRIPTS:
        if name in OFFLINE and "--web" in script.flags:
            continue
        for edge in pairwise([START, *_path(graph, script, values), END]):
            taken.setdefault(edge, script.shown)
    return Walk(drawn, taken)


def _path(graph, script, values):
    """The nodes that one question goes through."""
    cancel = Cancel(1000.0)

    def consent(query):
        cancel.deadline = 0.0 if script.late else cancel.deadline
        return not script.declined

    web = FakeWeb(found=script.pages) if "--web" in script.flags else Off()
    corpus = FakeCorpus([passage(number) for number in range(1, 13)])
    deps = Deps(
        corpus,
        ScriptedEngine(**script.engine),
        web,
        values.limits,
        allow_direct="--direct" in script.flags,
        self_rag=values.self_rag,
        crag=values.crag,
        adaptive=values.adaptive,
        cancel=cancel,
        may_search=consent,
    )
    updates = graph.stream({"question": "What does the plan cost?"}, context=deps, stream_mode="updates")
    return [node for update in updates for node in update]


def main():
    for name, wirings in WIRINGS.items():
        for settings in wirings:
            title = str(settings or "")
            print(f"\n{name}  {title}\n{walk(name, settings).table}")


if __name__ == "__main__":
    main()
