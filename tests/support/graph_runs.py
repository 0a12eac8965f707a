"""Run graphs as a LangGraph program does, with scripted parts."""

from dataclasses import fields

from local_rag.config.values import Limits, Thresholds, Values
from local_rag.core.cancel import Cancel
from local_rag.graphs import compiled
from local_rag.graphs.deps import Deps, Options, recursion_limit
from local_rag.web.search import Off
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage

QUESTION = "What does the plan cost?"
SCRIPT = [field.name for field in fields(ScriptedEngine)]
BEGIN, FINISH = "begin", "finish"
"""The nodes that every graph begins and ends with."""


def between(path):
    """Return the nodes of a question between these two, as one text."""
    return " ".join(node for node in path if node not in (BEGIN, FINISH))


def final_state(app, deps, question=QUESTION, config=None):
    """Return the whole state at the end of a question, with fields of its answer beside the keys."""
    state = list(app.stream({"question": question}, config, context=deps, stream_mode="values"))[-1]
    answer = state["answer"]
    told = {name: getattr(answer, name) for name in ("status", "reason", "citations", "conflicts", "nearest")}
    return state | told | {"removed": list(answer.removed)}


def parts(
    engine=None,
    corpus=None,
    *,
    found=4,
    web=None,
    pages=1,
    consent=True,
    direct=False,
    thresholds=None,
    late="",
    **given,
):
    """Return (options, deps) of one question.

    The corpus has `found` passages; `web` is True for one that brings `pages` if there is `consent`. The time runs out
    at the engine's task `late`, or at the request for consent. `given` are fields of the engine, sections of the
    settings, or limits by their own names; a misspelt one is refused.
    """
    engine = engine or ScriptedEngine(**{name: given.pop(name) for name in [*given] if name in SCRIPT})
    limits = {"rewrites": 2} | {kind: given.pop(kind) for kind in [*given] if kind in Limits.model_fields}
    values, cancel = Values(**given, limits=limits), Cancel(1000)

    def expire(task):
        cancel.deadline = 0.0 if task == late else cancel.deadline

    def may_search(query):
        expire("consent")
        return consent

    if late:
        engine.at = expire
    expire("start")
    deps = Deps(
        corpus or FakeCorpus([passage(number) for number in range(1, found + 1)]),
        engine,
        (FakeWeb(found=pages) if web is True else web) or Off(),
        values.limits,
        allow_direct=direct,
        cancel=cancel,
        may_search=may_search,
        self_rag=values.self_rag,
        crag=values.crag,
        adaptive=values.adaptive,
        answer=values.answer,
        thresholds=thresholds or Thresholds(),
        strict=values.strict,
    )
    return Options.of(values), deps


def run(name, engine=None, corpus=None, question=QUESTION, **world):
    """Return (nodes in order, final state, deps) of one question with these `parts`."""
    options, deps = parts(engine, corpus, **world)
    config = {"recursion_limit": recursion_limit(deps.limits)}
    state = final_state(compiled(name, options), deps, question, config)
    return between(state["path"]), state, deps


def labels(state, kind):
    """Return the verdicts of a kind, in their order."""
    return [decision.verdict for decision in state["decisions"] if decision.kind == kind]


def ids(documents):
    """Return the chunk IDs of passages."""
    return [document.metadata["chunk_id"] for document in documents]


def asked_of(engine, task):
    """Return the tasks of one kind that an engine was given."""
    return [asked for asked in engine.asked if asked[0] == task]
