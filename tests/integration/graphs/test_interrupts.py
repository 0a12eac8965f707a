"""A question that is interrupted before or after its nodes goes on as if it had not been, whoever keeps it."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from support import CHECKOUT
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage
from support.graph_runs import QUESTION, parts
from unit.graphs.test_paths import TABLE, engines, methods

from local_rag.core.cancel import Cancel
from local_rag.core.documents import WebResults
from local_rag.core.errors import EngineError
from local_rag.core.protocols import Rewrite
from local_rag.core.serialization import to_plain
from local_rag.graphs import GRAPHS, compiled
from local_rag.graphs.deps import recursion_limit
from local_rag.web.search import Off

WHEN = ["interrupt_before", "interrupt_after"]


class World:
    """What a question is asked of; `deps` are fresh for each part of it, what was searched for is counted together."""

    def __init__(self, engine=None, **given):
        self.options, self.first = parts(engine, **given)
        self.engine, self.web = self.first.engine, self.first.web

    def deps(self, engine=None):
        fresh = {"cancel": Cancel(self.first.limits.seconds)}
        return replace(self.first, engine=engine or self.engine.going_on([]), web=self.web, **fresh)

    def searched(self):
        return [self.first.index.queries, getattr(self.web, "queries", [])]


COMPARED = "generation documents decisions usage path tries spent removed grade".split()


def answer_of(state):
    """What must be the same; of a turn all but when it was."""
    kept = {key: state.get(key) for key in [*COMPARED, "web_search"]}
    answer = state.get("answer")
    kept |= {"answer": answer and replace(answer, seconds=0.0)}
    return kept | {"turns": [{**turn, "at": ""} for turn in state.get("turns", [])]}


def run(name, world, saver=InMemorySaver, **interrupts):
    """(final state, number of interruptions). `saver` and the world's deps open everything anew for each part.

    Without `interrupts` the question runs through.
    """
    given, engine, count = {"question": QUESTION}, world.deps().engine, 0
    while True:
        deps = world.deps(engine)
        config = {"configurable": {"thread_id": "1"}, "recursion_limit": recursion_limit(deps.limits)}
        app = compiled(name, world.options).copy({"checkpointer": saver()})
        app.invoke(given, config, context=deps, **interrupts)
        if not (snapshot := app.get_state(config)).next:
            return snapshot.values, count
        given, count, engine = None, count + 1, engine.going_on()


def check(name, make, saver, when):
    """The number of interruptions, with the same answer, path and searches as without."""
    world, other = make(), make()
    through, _ = run(name, world)
    parted, count = run(name, other, saver, **{when: "*"})
    assert answer_of(parted) == answer_of(through)
    assert other.searched() == world.searched()
    nodes = len(through["path"])
    assert count == (nodes if when == "interrupt_before" else nodes - 1)
    return count


INTERRUPTED = [
    (way, when) for when, step in zip(WHEN, (2, 6), strict=True) for way in TABLE[::step] if not way.given.get("late")
]


@pytest.mark.parametrize(
    ("number", "way", "when"),
    [
        pytest.param(number, *each, marks=[pytest.mark.slow] if number % 5 else [])
        for number, each in enumerate(INTERRUPTED)
    ],
)
def test_every_way_through_a_graph_is_the_same_with_interruptions(number, way, when):
    saver = InMemorySaver()
    check(way.graph, lambda: World(**way.given), lambda: saver, when)


@pytest.mark.slow
@settings(max_examples=max(4, settings().max_examples // 10), deadline=None)
@given(name=st.sampled_from(sorted(GRAPHS)), engine=engines, method=methods, when=st.sampled_from(WHEN))
def test_any_verdicts_in_any_wiring_are_the_same_with_interruptions(name, engine, method, when):
    with TemporaryDirectory() as folder, ExitStack() as opened:

        def saver():
            return opened.enter_context(SqliteSaver.from_conn_string(f"{folder}/checkpoints.sqlite"))

        try:
            check(name, lambda: World(engine, **method), saver, when)
        except EngineError as error:
            assert "the grader gave no usable verdict" in str(error)


SECRET = "The zebra hides behind the ninth door. It costs 100 euros. Nobody has ever seen it. The door is green."


def test_a_question_that_waited_for_the_web_ends_where_it_is_off_now():
    world, saver = World(relevant=["yynn"], rewritten=["plan price 2026"], web=True), InMemorySaver()
    config = {"configurable": {"thread_id": "1"}}
    app = GRAPHS["crag"](world.options).compile(saver, interrupt_before=["web_search_node"])
    app.invoke({"question": QUESTION}, config, context=world.deps(world.engine))
    world.web = Off()
    state = app.invoke(None, config, context=world.deps(world.engine.going_on()))
    answer = state["answer"]
    assert answer.status == "grounded"
    assert [graded.why for graded in answer.decisions if graded.kind == "web_search"] == ["the web is off"]


class SavedPages(FakeWeb):
    """A fallback corpus, whose passages can be read again."""

    def __init__(self):
        super().__init__(fallback_corpus="saved pages")
        kept = {"origin": "web", "url": "saved/plan.html", "fallback_corpus": self.fallback_corpus}
        self.index = FakeCorpus([passage(70, SECRET, **kept)])

    def search(self, query, k):
        return WebResults(tuple(self.index.search(query, k)))


class Rewording(ScriptedEngine):
    """A follow-up made whole with an answer in sight says more than one made of questions alone."""

    def standalone(self, question, history):
        seen = any(turn.answer for turn in history)
        return Rewrite("What does the zebra cost?" if seen else "What else does the plan cost?")


def test_what_was_asked_of_a_fallback_corpus_never_leaves_for_the_web():
    """A standalone question has read the answers; a query for the web is made anew of the person's own words."""
    engine = Rewording(relevant=["yyyy", "nnnn", "y"])
    world, saver, config = World(engine), InMemorySaver(), {"configurable": {"thread_id": "1"}}
    world.web = SavedPages()
    app = compiled("crag", world.options, saver)
    app.invoke({"question": QUESTION}, config, context=world.deps(world.engine))
    before = ["web_search_node"]
    app.invoke({"question": "And what else?"}, config, context=world.deps(world.engine), interrupt_before=before)
    assert app.get_state(config).values["tried"][0] == "What does the zebra cost?"
    world.web = FakeWeb()
    app.invoke(None, config, context=world.deps(world.engine))
    assert world.web.queries == ["What else does the plan cost?"]


GOING_ON = """
import json, sys
from langgraph.checkpoint.sqlite import SqliteSaver
from local_rag.core.serialization import to_plain
from local_rag.graphs import compiled
from integration.graphs.test_interrupts import PARTED, World, answer_of

with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
    for name, asked in json.loads(sys.argv[2]).items():
        world = World(**PARTED[name], web=True)
        app = compiled(name, world.options, saver)
        config = {"configurable": {"thread_id": name}}
        deps = world.deps(world.engine.going_on(asked))
        *_, state = app.stream(None, config, context=deps, stream_mode="values")
        print(json.dumps(to_plain(answer_of(state))))
"""
"""What another process runs."""

PARTED = {
    "plain": {},
    "self-rag": {"grades": [("no", 1), ("fully", 5)]},
    "crag": {"relevant": ["yynn", "y"]},
    "adaptive": {"grades": [("fully", 2), ("fully", 5)]},
}


@pytest.mark.slow
def test_another_process_goes_on_where_this_one_stopped(tmp_path):
    file, asked, through = tmp_path / "host.sqlite", {}, []
    with SqliteSaver.from_conn_string(str(file)) as saver:
        for name, script in PARTED.items():
            world = World(**script, web=True)
            state, _ = run(name, world)
            through.append(to_plain(answer_of(state)))
            config = {"configurable": {"thread_id": name}}
            at = ["web_search_node" if name == "crag" else "generate"]
            engine = world.deps().engine
            app = compiled(name, world.options, saver)
            app.invoke({"question": QUESTION}, config, context=world.deps(engine), interrupt_before=at)
            assert app.get_state(config).next == tuple(at)
            asked[name] = [what[0] for what in engine.asked]
    environment = {
        **os.environ,
        "LANGGRAPH_STRICT_MSGPACK": "true",
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "tests")]),
    }
    command = [sys.executable, "-c", GOING_ON, str(file), json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=True)
    assert [json.loads(line) for line in done.stdout.splitlines()] == through
    assert done.stderr == "", "no warning of a type that is not known"
