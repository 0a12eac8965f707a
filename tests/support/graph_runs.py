"""Graphs driven as a LangGraph program drives them, with scripted parts."""

from __future__ import annotations

from local_rag.config.values import Limits, Thresholds, Values
from local_rag.graphs import compiled
from local_rag.graphs.deps import Deps, Options, recursion_limit
from local_rag.graphs.state import after
from local_rag.web.search import Off
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage

QUESTION = "What does the plan cost?"


def final_state(app, deps, question=QUESTION, config=None):
    """The whole state at the end of a question."""
    *_, state = app.stream({"question": question}, config, context=deps, stream_mode="values")
    return state


def parts(engine=None, corpus=None, *, found=4, web=None, pages=1, direct=False, thresholds=None, **given):
    """(options, deps) of one question.

    The corpus holds `found` passages; `web` is True for one that brings `pages`. `given` are sections of the settings,
    or limits by their own names; a misspelt one is refused.
    """
    limits = {kind: given.pop(kind) for kind in [*given] if kind in Limits.model_fields}
    values = Values(**given, limits=limits)
    deps = Deps(
        corpus or FakeCorpus([passage(number) for number in range(1, found + 1)]),
        engine or ScriptedEngine(),
        (FakeWeb(found=pages) if web is True else web) or Off(),
        values.limits,
        allow_direct=direct,
        self_rag=values.self_rag,
        crag=values.crag,
        adaptive=values.adaptive,
        answer=values.answer,
        thresholds=thresholds or Thresholds(),
        strict=values.strict,
    )
    return Options.of(values), deps


def run(name, engine=None, corpus=None, **world):
    """(nodes in order without begin and finish, final state, deps) of one question, of these `parts`."""
    options, deps = parts(engine, corpus, **world)
    path, state = [], {}
    config = {"recursion_limit": recursion_limit(deps.limits)}
    for update in compiled(name, options).stream({"question": QUESTION}, config, context=deps):
        for node, changes in update.items():
            path.append(node)
            state = after(state, changes or {})
    assert (path[0], path[-1]) == ("begin", "finish")
    return " ".join(path[1:-1]), state, deps


def labels(state, kind):
    """The verdicts of a kind, in their order."""
    return [decision.verdict for decision in state["decisions"] if decision.kind == kind]


def ids(documents):
    """The chunk ids of passages."""
    return [document.metadata["chunk_id"] for document in documents]


def asked_of(engine, task):
    """What an engine was asked to do of one kind."""
    return [asked for asked in engine.asked if asked[0] == task]
