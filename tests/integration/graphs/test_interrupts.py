"""A question that is interrupted before or after its nodes goes on as if it had not been, whoever keeps it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import ExitStack
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from support import CHECKOUT
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage
from support.fakes_index import HashingEmbedder
from support.interrupting import QUESTION, answer_of, run
from typing_extensions import TypedDict
from unit.graphs import test_graph_parts, test_graphs, test_part_by_part

from local_rag.config.settings import Settings
from local_rag.config.values import Adaptive, Crag, Limits, SelfRag, Thresholds, Values
from local_rag.core.documents import Heading, WebResults
from local_rag.core.errors import EngineError
from local_rag.core.events import Note
from local_rag.core.generation import NOT_IN_PASSAGES, Rewrite
from local_rag.core.serialization import to_plain
from local_rag.graphs import GRAPHS, compiled
from local_rag.graphs.deps import Deps, Options
from local_rag.index.index import Index
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag
from local_rag.web.search import Off

WAYS = [
    *(
        (
            name,
            script,
            {"limits": {**test_graphs.ROOM, **{key: value for key, value in world.items() if key in test_graphs.ROOM}}}
            | {key: value for key, value in world.items() if key not in test_graphs.ROOM},
        )
        for name, script, world, _, _ in test_graphs.TABLE
    ),
    *(
        ("self-rag", script, {"limits": limits, "found": 12, "self_rag": SelfRag(retrieve="each")})
        for script, limits, _, _ in test_part_by_part.TABLE
    ),
]
"""Every way through a graph that the tables of paths know."""


class World:
    """What a question is asked of; `deps` are fresh for each part of it, what was searched for is counted together."""

    def __init__(self, engine, *, found=4, web=False, pages=1, direct=False, memory=False, limits=None, **method):
        if "fallback" in method:
            method["adaptive"] = Adaptive(fallback=method.pop("fallback"))
        self.values = Values(**{key: value for key, value in method.items() if key != "thresholds"})
        self.options = Options.of(self.values, memory=memory)
        self.engine = engine
        self.corpus = FakeCorpus([passage(number) for number in range(1, found + 1)])
        self.web = FakeWeb(found=pages) if web else Off()
        self.more = {"allow_direct": direct, "thresholds": method.get("thresholds", Thresholds())}
        self.limits = Limits(**(limits or {}))

    def deps(self, engine=None):
        method = {"self_rag": self.values.self_rag, "crag": self.values.crag, "adaptive": self.values.adaptive}
        return Deps(
            self.corpus,
            engine or self.engine.going_on([]),
            self.web,
            self.limits,
            strict=self.values.strict,
            **method,
            **self.more,
        )

    def searched(self):
        return [self.corpus.queries, getattr(self.web, "queries", [])]


def check(name, make, saver, when):
    """The number of interruptions, with the same answer, path and searches as without."""
    world, other = make(), make()
    through, _ = run(name, world.options, InMemorySaver, world.deps)
    parted, count = run(name, other.options, saver, other.deps, **{when: "*"})
    assert answer_of(parted) == answer_of(through)
    assert other.searched() == world.searched()
    nodes = len(through["path"])
    assert count == (nodes if when == "interrupt_before" else nodes - 1)
    return count


def every(step, when):
    """One way of so many; of these, each fifth is quick enough for every change."""
    numbers = range(0, len(WAYS), step)
    return [pytest.param(n, when, marks=[pytest.mark.slow] if at % 5 else []) for at, n in enumerate(numbers)]


@pytest.mark.parametrize(("number", "when"), every(1, "interrupt_before") + every(3, "interrupt_after"))
def test_every_way_through_a_graph_is_the_same_with_interruptions(number, when):
    name, script, world = WAYS[number]
    memory = bool(number % 2)
    saver = InMemorySaver()
    check(name, lambda: World(ScriptedEngine(**script), memory=memory, **world), lambda: saver, when)


@settings(max_examples=max(10, settings().max_examples // 5), deadline=None)
@given(
    name=st.sampled_from(sorted(GRAPHS)),
    engine=test_graph_parts.engines,
    method=test_graph_parts.methods,
    found=st.integers(0, 20),
    when=st.sampled_from(["interrupt_before", "interrupt_after"]),
)
def test_any_verdicts_in_any_wiring_are_the_same_with_interruptions(name, engine, method, found, when):
    with TemporaryDirectory() as folder, ExitStack() as opened:

        def saver():
            return opened.enter_context(SqliteSaver.from_conn_string(f"{folder}/checkpoints.sqlite"))

        try:
            check(name, lambda: World(engine, found=found, **method), saver, when)
        except EngineError as error:
            assert "the grader gave no usable verdict" in str(error)


def test_crag_goes_on_before_the_web_with_what_it_had():
    """The web is told the rewritten query, and the relevant passages are still there."""
    engine = ScriptedEngine(relevant=["yynn", "y"], rewrites=["plan price 2026"])
    world, saver = World(engine, web=True), InMemorySaver()
    config = {"configurable": {"thread_id": "1"}}
    app = GRAPHS["crag"](world.options).compile(saver, interrupt_before=["web_search_node"])
    app.invoke({"question": "What does the plan cost?"}, config, context=world.deps(engine))
    assert app.get_state(config).next == ("web_search_node",)
    state = compiled("crag", world.options, saver).invoke(None, config, context=world.deps(engine.going_on()))
    assert world.web.queries == ["plan price 2026"]
    assert [document.metadata["chunk_id"] for document in state["documents"]] == ["1", "2", "90"]
    assert all(document.page_content for document in state["documents"])


def bytes_of(saver):
    with sqlite3.connect(saver) as db:
        rows = [*db.execute("SELECT checkpoint FROM checkpoints"), *db.execute("SELECT value FROM writes")]
    return b" ".join(bytes(row[0]) for row in rows)


SECRET = "The zebra hides behind the ninth door. It costs 100 euros. Nobody has ever seen it. The door is green."


def asked_with_a_secret(tmp_path, name, **method):
    """What a host's own saver holds after a question that files and the web answer."""
    corpus = FakeCorpus([passage(1, SECRET), passage(2)])
    world = World(ScriptedEngine(relevant=["yn", "ynyn", "y"], grades=[("no", 1), ("fully", 5)]), web=True, **method)
    world.corpus = corpus
    file = tmp_path / "host.sqlite"
    with SqliteSaver.from_conn_string(str(file)) as saver:
        app = compiled(name, world.options, saver)
        config = {"configurable": {"thread_id": "1"}}
        app.invoke({"question": "What does it cost?"}, config, context=world.deps(world.engine))
    return bytes_of(file)


@pytest.mark.parametrize("name", GRAPHS)
def test_no_checkpoint_of_any_saver_holds_the_text_of_a_file(tmp_path, name):
    held = asked_with_a_secret(tmp_path, name, crag=Crag(refine=True))
    assert b"zebra" not in held
    assert b"chunk_id" in held
    if name == "crag":
        assert b"The web says" in held, "pages of the web are kept with their text"


@pytest.mark.parametrize("memory", [False, True])
def test_refined_passages_and_drafts_are_read_again_exactly(memory):
    """CRAG refines; its draft is rejected and given up on: the passages of the draft are those that were refined."""
    engine = ScriptedEngine(relevant=["y", "ynny"], grades=[("partially", 3)], drafts=["It costs 100 euros [1]."])
    worlds = []

    def make():
        worlds.append(World(engine, crag=Crag(refine=True), memory=memory))
        worlds[-1].corpus = FakeCorpus([passage(1, " ".join([SECRET] * 3))])
        return worlds[-1]

    saver = InMemorySaver()
    assert check("crag", make, lambda: saver, "interrupt_before") >= 6
    state, _ = run("crag", worlds[0].options, InMemorySaver, make().deps)
    assert "pieces" in state["documents"][0].metadata and state["status"] == "partial"


def test_a_passage_that_left_the_index_is_gone_and_the_others_keep_their_numbers():
    engine = ScriptedEngine(drafts=["It costs 100 euros [1]. Or it costs 300 euros [3]. Or 400 euros [1, 4]."])
    world, saver = World(engine), InMemorySaver()
    config = {"configurable": {"thread_id": "1"}}
    app = GRAPHS["self-rag"](world.options).compile(saver, interrupt_before=["grade_generation"])
    app.invoke({"question": "What does the plan cost?"}, config, context=world.deps(engine))
    world.corpus.passages = world.corpus.passages[1:]
    notes = []
    for mode, part in app.stream(None, config, context=world.deps(engine), stream_mode=["custom", "values"]):
        if mode == "custom" and isinstance(part, Note):
            notes.append(part.text)
        elif mode == "values":
            state = part
    assert notes == ["1 passage of this question left the index meanwhile and cannot be used"]
    assert state["generation"] == "Or it costs 300 euros [1]. Or 400 euros [2]."
    assert [document.metadata["chunk_id"] for document in state["documents"]] == ["3", "4", "2"]


@pytest.mark.parametrize(
    ("gone", "status", "answer"),
    [(["1"], "partial", "Or it costs 200 euros [1]."), (["1", "2"], "abstained", NOT_IN_PASSAGES)],
)
def test_an_answer_that_stood_loses_what_left_the_index_before_it_was_kept(gone, status, answer):
    engine = ScriptedEngine(drafts=["It costs 100 euros [1]. Or it costs 200 euros [2]."])
    world, saver = World(engine, memory=True), InMemorySaver()
    config = {"configurable": {"thread_id": "1"}}
    app = GRAPHS["self-rag"](world.options).compile(saver, interrupt_before=["remember"])
    assert app.invoke({"question": QUESTION}, config, context=world.deps(engine))["status"] == "grounded"
    world.corpus.passages = [kept for kept in world.corpus.passages if kept.metadata["chunk_id"] not in gone]
    app.invoke(None, config, context=world.deps(engine))
    turn = app.get_state(config).values["turns"][-1]
    assert (turn["status"], turn["answer"]) == (status, answer)
    assert turn["reason"] == "passages that it was written from have left the index"
    assert [source["source"] for source in turn["sources"]] == ["/notes/2.md"] * (status == "partial")


def test_a_question_that_waited_for_the_web_ends_where_it_is_off_now():
    engine = ScriptedEngine(relevant=["yynn"], rewrites=["plan price 2026"])
    world, saver = World(engine, web=True), InMemorySaver()
    config = {"configurable": {"thread_id": "1"}}
    app = GRAPHS["crag"](world.options).compile(saver, interrupt_before=["web_search_node"])
    app.invoke({"question": QUESTION}, config, context=world.deps(engine))
    world.web = Off()
    state = app.invoke(None, config, context=world.deps(engine.going_on()))
    assert state["status"] == "grounded"
    assert [graded.why for graded in state["decisions"] if graded.kind == "web_search"] == ["the web is off"]


class SavedPages(FakeWeb):
    """A fallback corpus, whose passages can be read again."""

    def __init__(self):
        super().__init__(fallback_corpus="saved pages")
        kept = {"origin": "web", "url": "saved/plan.html", "fallback_corpus": self.fallback_corpus}
        self.index = FakeCorpus([passage(70, SECRET, **kept)])

    def search(self, query, k):
        return WebResults(tuple(self.index.search(query, k)))


def test_no_checkpoint_holds_the_text_of_a_fallback_corpus(tmp_path):
    engine = ScriptedEngine(relevant=["nnnn", "y"], drafts=["It costs 100 euros [1]."])
    world, config = World(engine), {"configurable": {"thread_id": "1"}}
    world.web = SavedPages()
    with SqliteSaver.from_conn_string(str(tmp_path / "host.sqlite")) as saver:
        app = GRAPHS["crag"](world.options).compile(saver, interrupt_before=["generate"])
        app.invoke({"question": QUESTION}, config, context=world.deps(engine))
        assert b"zebra" not in bytes_of(tmp_path / "host.sqlite")
        state = app.invoke(None, config, context=world.deps(engine.going_on()))
    assert [document.page_content for document in state["documents"]] == [SECRET]
    assert state["status"] == "grounded"


class Rewording(ScriptedEngine):
    """A follow-up made whole with an answer in sight says more than one made of questions alone."""

    def standalone(self, question, history):
        seen = any(turn.answer for turn in history)
        return Rewrite("What does the zebra cost?" if seen else "What else does the plan cost?")


def test_what_was_asked_of_a_fallback_corpus_never_leaves_for_the_web():
    """A standalone question has read the answers; a query for the web is made anew of the person's own words."""
    engine = Rewording(relevant=["yyyy", "nnnn", "y"])
    world, saver, config = World(engine, memory=True), InMemorySaver(), {"configurable": {"thread_id": "1"}}
    world.web = SavedPages()
    app = compiled("crag", world.options, saver)
    app.invoke({"question": QUESTION}, config, context=world.deps(engine))
    before = ["web_search_node"]
    app.invoke({"question": "And what else?"}, config, context=world.deps(engine), interrupt_before=before)
    assert app.get_state(config).values["own"][0] == "What does the zebra cost?"
    world.web = FakeWeb()
    app.invoke(None, config, context=world.deps(engine))
    assert world.web.queries == ["What else does the plan cost?"]


@pytest.mark.parametrize("strict", [False, True])
def test_a_saver_reads_the_types_of_a_state_and_no_others_without_a_word(strict, caplog):
    """LangGraph warns of each type that it was not told of, and makes objects of any."""
    serde = JsonPlusSerializer(allowed_msgpack_modules=None if strict else True)
    world, saver = World(ScriptedEngine(grades=[("no", 1), ("fully", 5)])), InMemorySaver(serde=serde)
    run("self-rag", Options(candidates=True), lambda: saver, world.deps, interrupt_before="*")
    assert caplog.text == ""
    foreign = serde.dumps_typed(Heading(1, 2, "of another program"))
    read = compiled("self-rag", checkpointer=saver).checkpointer.serde.loads_typed(foreign)
    assert read == {"start": 1, "level": 2, "text": "of another program"}


def test_a_graph_within_another_keeps_no_texts_either(tmp_path):
    """The saver is that of the graph around it."""

    class Outer(TypedDict):
        question: str
        generation: str

    world = World(ScriptedEngine())
    world.corpus = FakeCorpus([passage(1, SECRET)])
    outer = StateGraph(Outer, context_schema=Deps)
    outer.add_node("rag", GRAPHS["self-rag"]().compile(interrupt_before=["generate"]))
    outer.add_edge(START, "rag")
    with SqliteSaver.from_conn_string(str(tmp_path / "host.sqlite")) as saver:
        app, config = outer.compile(saver), {"configurable": {"thread_id": "1"}}
        for given in ({"question": "What does it cost?"}, None):
            assert list(app.stream(given, config, context=world.deps(), subgraphs=True))
        assert app.get_state(config).values["generation"] == "It costs 100 euros [1]."
    assert b"zebra" not in bytes_of(tmp_path / "host.sqlite")


GOING_ON = """
import json, sys
from langgraph.checkpoint.sqlite import SqliteSaver
from support.fakes import FakeWeb, ScriptedEngine
from support.fakes_index import HashingEmbedder
from support.interrupting import QUESTION, answer_of
from local_rag.core.serialization import to_plain
from local_rag.graphs import compiled
from integration.graphs.test_interrupts import PARTED, World

with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
    for name, asked in json.loads(sys.argv[2]).items():
        world = World(ScriptedEngine(**PARTED[name]), web=True, memory=True)
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
            world = World(ScriptedEngine(**script), web=True, memory=True)
            state, _ = run(name, world.options, InMemorySaver, world.deps)
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


@pytest.mark.parametrize(
    ("name", "when"), [*((name, "interrupt_before") for name in GRAPHS), ("crag", "interrupt_after")]
)
def test_passages_of_a_real_index_are_read_again_with_the_index_opened_anew(tmp_path, name, when):
    """A new Rag, a new connection to index and saver for each part of a question; CRAG refines, ö has two bytes."""
    (tmp_path / "plan.md").write_text("# Größe\n\n" + " ".join(f"Größe {n} kostet {n}00 euros." for n in range(1, 40)))
    embedder = HashingEmbedder()
    with Index.open(tmp_path / "index", embedder, chunk_size=60, create=True) as index:
        index.sync([tmp_path])
    engine = ScriptedEngine(relevant=["y", "ynyn", "y"], grades=[("no", 1), ("fully", 5)], drafts=["So [1]. Yes [3]."])

    def asked(**interrupts):
        with ExitStack() as stack:

            def deps(going_on=None):
                index = stack.enter_context(Index.open(tmp_path / "index", embedder, chunk_size=60))
                rag = Rag(Settings.load(crag__refine=True), index, Choice(going_on or engine.going_on([])))
                return rag.context(graph=name)

            def saver():
                file = tmp_path / f"{''.join(interrupts)}.sqlite"
                return stack.enter_context(SqliteSaver.from_conn_string(str(file)))

            return run(name, Options(memory=True), saver, deps, **interrupts)

    state, count = asked(**{when: "*"})
    through, _ = asked()
    assert count > 2
    assert answer_of(state) == answer_of(through)
    quoted = "".join(citation.quote for citation in state["citations"])
    kept = bytes_of(tmp_path / f"{when}.sqlite").decode(errors="replace")
    assert {n for n in range(1, 40) if f"kostet {n}00 euros" in kept} == {
        n for n in range(1, 40) if f"kostet {n}00 euros" in quoted
    }, "what an answer quotes, and no more"
