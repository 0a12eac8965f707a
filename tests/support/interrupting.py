"""One question that is interrupted at every node, and goes on with everything opened anew."""

from __future__ import annotations

from dataclasses import replace

from local_rag.graphs import compiled
from local_rag.graphs.deps import recursion_limit
from support.fakes import ScriptedEngine

QUESTION = "What does the plan cost?"
COMPARED = "generation documents decisions usage path tries spent removed dropped grade".split()


def answer_of(state):
    """What must be the same; of a turn all but when it was."""
    kept = {key: state.get(key) for key in [*COMPARED, "web_search"]}
    answer = state.get("answer")
    kept |= {"answer": answer and replace(answer, seconds=0.0)}
    return kept | {"turns": [{**turn, "at": ""} for turn in state.get("turns", [])]}


def run(name, options, saver, deps, thread="1", **interrupts):
    """(final state, number of interruptions). `saver` and `deps` (of an engine) open everything anew for each part.

    Without `interrupts` the question runs through.
    """
    given, engine, count = {"question": QUESTION}, deps().engine, 0
    while True:
        parts, now = deps(engine), saver()
        config = {"configurable": {"thread_id": thread}, "recursion_limit": recursion_limit(parts.limits)}
        app = compiled(name, options, now)
        *_, state = (
            part
            for part in app.stream(given, config, context=parts, stream_mode="values", **interrupts)
            if "__interrupt__" not in part
        )
        if not app.get_state(config).next:
            return state, count
        given, count = None, count + 1
        engine = engine.going_on() if isinstance(engine, ScriptedEngine) else engine
