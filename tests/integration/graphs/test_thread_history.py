"""Threads as LangGraph's programs use them: history, edits, forks and interruptions, in the file of the chats."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from threading import Thread

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from support.fakes import FakeWeb, ScriptedEngine, passage
from support.interrupting import answer_of, run
from support.remembering import Recalling, opened

from local_rag.cli.app import run as command
from local_rag.core.errors import EngineError, UsageError
from local_rag.diagnostics.kept import kept
from local_rag.graphs.deps import Deps, Options, by_interrupt
from local_rag.graphs.threads import FILE, Threads

CHAT = {"configurable": {"thread_id": "plan"}}


def asked(rag, *questions, config=CHAT, graph="self-rag", **more):
    """The state after each of these questions in a thread of the chats."""
    app = rag.graph(graph, checkpointer=rag.threads.saver)
    for question in questions:
        state = app.invoke({"question": question}, config, context=rag.context(graph=graph), **more)
    return app, state


def questions(turns):
    return [turn["question"] for turn in turns]


def stored(rag):
    """(checkpoints, writes, bytes of the checkpoints) in the file."""
    with sqlite3.connect(rag.settings.data_folder / FILE) as db:
        blobs = [bytes(row[0]) for row in db.execute("SELECT checkpoint FROM checkpoints")]
        return len(blobs), db.execute("SELECT count(*) FROM writes").fetchone()[0], sum(map(len, blobs))


def test_the_history_of_a_thread_has_each_turn():
    rag = opened()
    app, _ = asked(rag, "What does it cost?", "And then?", "And now?")
    history = list(app.get_state_history(CHAT))
    assert [questions(state.values["turns"]) for state in history] == [
        ["What does it cost?", "And then?", "And now?"],
        ["What does it cost?", "And then?"],
        ["What does it cost?"],
    ]
    assert [state.values["question"] for state in history] == ["And now?", "And then?", "What does it cost?"]
    assert {state.values["generation"] for state in history} == {"It costs 100 euros [1]."}
    assert [state.next for state in history] == [()] * 3
    assert [state.parent_config for state in history[:-1]] == [state.config for state in history[1:]]


def test_a_thread_grows_by_its_turns_and_no_more():
    rag = opened()
    sizes = []
    for number in range(12):
        asked(rag, f"What does plan {number} cost?")
        sizes.append(stored(rag))
    assert [(rows, writes) for rows, writes, _ in sizes] == [(number, 0) for number in range(1, 13)]
    grown = [after[2] - before[2] for before, after in pairwise(sizes)]
    assert max(grown) < 1.1 * min(grown)


def test_a_thread_forks_at_an_earlier_checkpoint_and_nothing_is_lost():
    rag = opened()
    app, _ = asked(rag, "What does it cost?", "And then?", "And now?")
    second = list(app.get_state_history(CHAT))[1]
    _, state = asked(rag, "And instead?", config=second.config)
    assert state["question"] == "And instead?"
    assert questions(rag.threads.turns("plan")) == ["What does it cost?", "And then?", "And instead?"]
    assert rag.engine.asked[-1][0] == "grade" and "And then?" in str(rag.engine.asked)
    asked(rag, "And after that?")
    assert questions(rag.threads.turns("plan"))[-2:] == ["And instead?", "And after that?"]
    history = [questions(state.values["turns"]) for state in app.get_state_history(CHAT)]
    assert ["What does it cost?", "And then?", "And now?"] in history, "the other branch is still there"
    assert stored(rag)[0] == 5


def test_a_state_can_be_edited_and_the_next_question_sees_it():
    rag = opened()
    app, _ = asked(rag, "What does it cost?", "And then?")
    (turn,) = app.get_state(list(app.get_state_history(CHAT))[1].config).values["turns"]
    app.update_state(CHAT, {"turns": [turn | {"answer": "It costs 7 euros."}]}, as_node="remember")
    assert [turn["answer"] for turn in rag.threads.turns("plan")] == ["It costs 7 euros."]
    asked(rag, "And now?")
    assert questions(rag.threads.turns("plan")) == ["What does it cost?", "And now?"]
    assert ("standalone", "And now?") in [call[:2] for call in rag.engine.asked]
    assert "7 euros" in str(rag.engine.asked)


@pytest.mark.parametrize("when", ["interrupt_before", "interrupt_after"])
@pytest.mark.parametrize("graph", ["plain", "self-rag", "crag", "adaptive"])
def test_a_question_of_a_chat_goes_on_with_everything_opened_anew(graph, when):
    engine = ScriptedEngine(relevant=["ynyn", "y"], grades=[("no", 1), ("fully", 5)])
    with ExitStack() as stack:

        def rag(going_on=None):
            return stack.enter_context(opened(going_on or engine.going_on([])))

        def asked(thread, **interrupts):
            options = Options(memory=True)
            return run(
                graph,
                options,
                lambda: rag().threads.saver,
                lambda going_on=None: rag(going_on).context(graph=graph),
                thread,
                **interrupts,
            )

        through, _ = asked("through")
        parted, count = asked("parted", **{when: "*"})
        assert answer_of(parted) == answer_of(through)
        assert count > 2
        assert stored(rag())[:2] == (2, 0), "the two turns, and nothing of the interruptions"


def test_an_interrupted_question_is_one_row_until_it_goes_on_or_another_is_asked():
    rag = opened()
    asked(rag, "What does it cost?")
    app, _ = asked(rag, "And then?", interrupt_before=["generate"])
    assert app.get_state(CHAT).next == ("generate",)
    assert stored(rag)[0] == 2
    assert questions(rag.threads.turns("plan")) == ["What does it cost?"]
    app.update_state(CHAT, {"query": "another"})
    assert app.get_state(CHAT).next == ("generate",) and app.get_state(CHAT).values["query"] == "another"
    assert stored(rag)[0] == 2
    assert app.invoke(None, CHAT, context=rag.context())["status"] == "grounded"
    assert questions(rag.threads.turns("plan")) == ["What does it cost?", "And then?"]
    assert stored(rag)[:2] == (2, 0)
    asked(rag, "And here?", interrupt_before=["generate"])
    asked(rag, "And now?")
    assert questions(rag.threads.turns("plan"))[1:] == ["And then?", "And now?"]
    assert stored(rag)[:2] == (3, 0)


@pytest.mark.parametrize("durability", ["exit", "sync", "async"])
def test_a_question_that_fails_or_is_left_leaves_nothing_and_one_that_goes_on_and_fails_can_go_on_again(durability):
    engine = Recalling()
    rag = opened(engine)
    app, _ = asked(rag, "What does it cost?", durability=durability)
    before = stored(rag)
    engine.broken = True
    with pytest.raises(EngineError):
        asked(rag, "And then?", durability=durability)
    parts = app.stream({"question": "And then?"}, CHAT, context=rag.context(), durability=durability)
    next(parts)
    parts.close()
    assert stored(rag) == before
    asked(rag, "And then?", interrupt_before=["generate"], durability=durability)
    with pytest.raises(EngineError):
        app.invoke(None, CHAT, context=rag.context(), durability=durability)
    assert app.get_state(CHAT).next == ("generate",)
    engine.broken = False
    app.invoke(None, CHAT, context=rag.context(), durability=durability)
    assert questions(rag.threads.turns("plan")) == ["What does it cost?", "And then?"]
    assert stored(rag)[:2] == (2, 0)


def test_two_that_ask_at_once_lose_no_turn_also_where_one_was_interrupted():
    rag, other = opened(), opened()
    asked(rag, "What does it cost?")
    app, _ = asked(rag, "And then?", interrupt_before=["generate"])
    waiting = app.get_state(CHAT).config
    slow = app.stream(None, waiting, context=rag.context())
    next(slow)
    other.ask("And here?", thread="plan")
    list(slow)
    assert sorted(questions(rag.threads.turns("plan"))) == ["And here?", "And then?", "What does it cost?"]


def test_a_fork_is_a_thread_of_its_own():
    rag = opened()
    asked(rag, "What does it cost?", "And then?", "And now?")
    assert rag.threads.fork("plan", 2) == "plan from 2"
    assert rag.threads.fork("plan", 2) == "plan from 2 2"
    assert questions(rag.threads.turns("plan from 2")) == ["What does it cost?", "And then?"]
    rag.ask("And instead?", thread="plan from 2")
    assert ("standalone", "And instead?") in [call[:2] for call in rag.engine.asked]
    assert questions(rag.threads.turns("plan from 2")) == ["What does it cost?", "And then?", "And instead?"]
    assert questions(rag.threads.turns("plan")) == ["What does it cost?", "And then?", "And now?"]
    rag.threads.delete("plan")
    rag.ask("And after that?", thread="plan from 2")
    assert questions(rag.threads.turns("plan from 2", 1)) == ["What does it cost?"]
    for upto in (0, 5):
        with pytest.raises(UsageError, match=f"has 4 turns, so there is no turn {upto}"):
            rag.threads.fork("plan from 2", upto)
    app = rag.graph("self-rag", checkpointer=rag.threads.saver)
    history = app.get_state_history({"configurable": {"thread_id": "plan from 2"}})
    assert [len(state.values["turns"]) for state in history] == [4, 3]


@pytest.mark.parametrize("failing", [False, True])
def test_a_fork_that_answers_nothing_leaves_nothing(failing):
    engine = Recalling()
    rag = opened(engine)
    asked(rag, "What does it cost?", "And then?")
    before = stored(rag)
    fork = rag.threads.fork("plan", 2)
    if failing:
        engine.broken = True
        with pytest.raises(EngineError):
            rag.ask("And now?", thread=fork)
        engine.broken = False
    assert stored(rag) == before and rag.threads.names() == ["plan"]
    rag.ask("And now?", thread=fork)
    assert stored(rag)[0] == before[0] + 1, "a row with all turns, written at once"
    assert questions(opened().threads.turns(fork)) == ["What does it cost?", "And then?", "And now?"]


def test_a_fork_whose_first_question_is_interrupted_goes_on():
    rag = opened()
    asked(rag, "What does it cost?", "And then?")
    config = {"configurable": {"thread_id": rag.threads.fork("plan", 1)}}
    asked(rag, "And now?", config=config, interrupt_before=["generate"])
    again = opened()
    app = again.graph("self-rag", checkpointer=again.threads.saver)
    app.invoke(None, config, context=again.context())
    assert questions(again.threads.turns("plan from 1")) == ["What does it cost?", "And now?"]


def test_a_thread_of_an_earlier_version_is_read_and_goes_on():
    """It had one row with all turns, which named a checkpoint that was gone."""
    rag = opened()
    asked(rag, "What does it cost?", "And then?")
    turns = list(rag.threads.turns("plan"))
    rag.threads.delete("plan")
    saver = rag.threads.saver
    checkpoint = {
        "v": 4,
        "ts": turns[-1]["at"],
        "id": "1f0e0000-0000-6000-8000-000000000000",
        "channel_values": {"question": "And then?", "generation": "It costs 100 euros [1].", "turns": turns},
        "channel_versions": {"question": "9.1", "generation": "9.1", "turns": "9.1"},
        "versions_seen": {},
        "updated_channels": None,
    }
    super(type(saver), saver).put(
        {"configurable": {"thread_id": "plan", "checkpoint_ns": "", "checkpoint_id": "1e0e-gone"}},
        checkpoint,
        {"source": "loop", "step": 9},
        {},
    )
    assert list(rag.threads.turns("plan")) == turns
    rag.ask("And now?", thread="plan")
    assert questions(rag.threads.turns("plan")) == ["What does it cost?", "And then?", "And now?"]
    app = rag.graph("self-rag", checkpointer=saver)
    assert [len(state.values["turns"]) for state in app.get_state_history(CHAT)] == [3, 2]
    assert rag.threads.fork("plan", 1)


@pytest.mark.parametrize("durability", ["exit", "sync", "async"])
@pytest.mark.parametrize("mode", ["updates", "values", ["custom", "updates"]])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_question_that_waits_is_kept_where_its_caller_stops_reading(durability, mode, version):
    """As LangGraph's documentation shows it: `if "__interrupt__" in part: break`."""
    engine = ScriptedEngine(relevant=["nnnn", "y"], rewrites=["plan price 2026"])
    rag = opened(engine)
    app = rag.graph("crag", checkpointer=rag.threads.saver)

    def deps():
        return Deps(rag.index, engine, FakeWeb(), may_search=by_interrupt)

    parts = app.stream(
        {"question": "What does it cost?"},
        CHAT,
        context=deps(),
        stream_mode=mode,
        version=version,
        durability=durability,
    )
    for part in parts:
        if "__interrupt__" in str(part) or "Interrupt(" in str(part):
            break
    parts.close()
    assert app.get_state(CHAT).next == ("web_search_node",)
    (waiting,) = app.get_state(CHAT).interrupts
    assert waiting.value["query"] == "plan price 2026"
    app.invoke(Command(resume="yes"), CHAT, context=deps())
    assert questions(rag.threads.turns("plan")) == ["What does it cost?"]
    assert stored(rag)[:2] == (1, 0)


def test_a_question_that_waits_before_a_node_is_kept_where_its_caller_stops_reading():
    rag = opened()
    app = rag.graph("self-rag", checkpointer=rag.threads.saver)
    for part in app.stream({"question": "What?"}, CHAT, context=rag.context(), interrupt_before=["generate"]):
        if "__interrupt__" in part:
            break
    assert app.get_state(CHAT).next == ("generate",)


@pytest.mark.parametrize(
    "turns",
    [
        [1],
        "a turn",
        [{}],
        [{"question": "What?", "asked": "What?", "answer": 7}],
        [{"question": "What?"}],
        [{"question": "What?", "answer": "So.", "at": "yesterday"}],
        [{"question": "What?", "answer": "So.", "sources": [{"source": "a.md"}]}],
    ],
)
def test_what_is_no_turn_is_not_written_and_the_file_is_not_blamed(turns):
    rag = opened()
    app, _ = asked(rag, "What does it cost?")
    before = stored(rag)
    with pytest.raises(UsageError, match="turns are a list of mappings with the texts question and answer"):
        app.update_state(CHAT, {"turns": turns}, as_node="remember")
    with pytest.raises(TypeError, match="serializable"):
        app.update_state(CHAT, {"query": object()}, as_node="remember")
    assert stored(rag) == before
    assert questions(rag.threads.turns("plan")) == ["What does it cost?"]


def test_the_history_reads_each_row_once():
    rag = opened()
    app, _ = asked(rag, *(f"What does plan {number} cost?" for number in range(12)))
    reads, inner = [], rag.threads.saver.serde.inner

    class Counting:
        dumps_typed = inner.dumps_typed

        def loads_typed(self, data):
            reads.append(data)
            return inner.loads_typed(data)

    rag.threads.saver.serde.inner = Counting()
    assert [len(state.values["turns"]) for state in app.get_state_history(CHAT)] == list(range(12, 0, -1))
    assert len(reads) == 12


def test_a_thread_whose_first_question_waits_is_listed_and_can_be_deleted():
    rag = opened()
    asked(rag, "What does it cost?", interrupt_before=["generate"])
    rag.close()
    with Threads.open(rag.settings.data_folder) as threads:
        (thread,) = threads.list()
        assert (thread.name, thread.turns, thread.first) == ("plan", 0, "What does it cost?")
        with pytest.raises(UsageError, match="'plan' has no answered question yet") as caught:
            threads.turns("plan")
        assert caught.value.hint.startswith("local-rag chat --thread plan ")
        threads.delete("plan")
        assert threads.list() == []
    assert stored(rag)[:2] == (0, 0)


def test_what_quotes_a_file_is_found_in_every_branch_and_in_a_question_that_waits(home):
    rag = opened()
    app, _ = asked(rag, "What does it cost?")
    first = app.get_state(CHAT).config
    rag.index.passages = [passage(7)]
    asked(rag, "And then?", config=first)
    rag.index.passages = [passage(8)]
    asked(rag, "And here?", config=first)
    rag.index.passages = [passage(9)]
    asked(rag, "And now?", interrupt_before=["generate"])
    assert questions(rag.threads.turns("plan")) == ["What does it cost?", "And here?"]
    (chat,) = [item for item in kept(rag.settings) if item.kind == "chat"]
    assert {"/notes/1.md", "/notes/7.md", "/notes/8.md", "/notes/9.md"} <= set(chat.sources)
    rag.threads.delete("plan")
    assert stored(rag)[:2] == (0, 0)


@pytest.mark.parametrize("name", ["user:42", "a/b\x1b[31m", "x" * 200, "u\u0308ber"])
def test_a_thread_that_a_program_named_is_listed_goes_on_and_can_be_deleted(name, home, capsys, monkeypatch):
    """Only the name of a new thread is a person's to choose; LangGraph takes any."""
    rag = opened()
    asked(rag, "What does it cost?", config={"configurable": {"thread_id": name}})
    rag.ask("And then?", thread=name)
    assert rag.threads.fork(name, 1)
    rag.close()
    monkeypatch.setenv("LOCAL_RAG_THREADS_KEEP_DAYS", "30")
    assert command(["threads"]) == 0 and command(["kept"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert command(["threads", "show", name]) == 0
    assert command(["threads", "delete", name]) == 0
    assert "\x1b" not in capsys.readouterr().out and stored(rag)[0] == 0


def test_a_seeded_turn_is_filled_in_shown_and_deleted(home, capsys):
    rag = opened()
    app = rag.graph("self-rag", checkpointer=rag.threads.saver)
    config = {"configurable": {"thread_id": "seeded"}}
    turn = {"question": "Hi", "answer": "Hello"}
    app.update_state(config, {"turns": [turn]}, as_node="remember")
    (kept_turn,) = app.get_state(config).values["turns"]
    assert turn.items() <= kept_turn.items() and kept_turn["asked"] == "Hi" and kept_turn["at"] > "2026"
    for arguments in (["threads"], ["threads", "show", "seeded"], ["threads", "export", "seeded"], ["kept"]):
        assert command(arguments) == 0
    assert "Hello" in capsys.readouterr().out
    asked(rag, "And then?", config=config)
    assert [(turn.question, turn.answer) for turn in rag.engine.asked[0][2]] == [("Hi", "Hello")]
    assert questions(rag.threads.turns("seeded")) == ["Hi", "And then?"]
    rag.close()
    assert command(["threads", "delete", "seeded"]) == 0


def test_a_seeded_turn_of_another_saver_is_read():
    rag = opened()
    app = rag.graph("self-rag", checkpointer=InMemorySaver())
    app.update_state(CHAT, {"turns": [{"question": "Hi", "answer": "Hello"}]}, as_node="remember")
    app.invoke({"question": "And then?"}, CHAT)
    assert questions(app.get_state(CHAT).values["turns"]) == ["Hi", "And then?"]


def test_a_damaged_thread_can_be_deleted(home):
    rag = opened()
    asked(rag, "What does it cost?")
    with sqlite3.connect(rag.settings.data_folder / FILE) as db:
        db.execute("UPDATE checkpoints SET type = 'pickle'")
    rag.close()
    assert command(["threads", "delete", "plan"]) == 0
    assert stored(rag)[0] == 0


@pytest.mark.parametrize("config", [None, {}, {"configurable": {}}])
def test_a_config_without_a_thread_is_refused_with_the_one_to_pass(config):
    app = (rag := opened()).graph("self-rag", checkpointer=rag.threads.saver)
    with pytest.raises(UsageError, match="the config names none") as caught:
        app.invoke({"question": "What?"}, config)
    assert '"configurable": {"thread_id": ' in caught.value.hint
    assert rag.threads.list() == []


@pytest.mark.parametrize("durability", ["exit", "sync"])
def test_a_fork_that_is_interrupted_stays_behind_the_turn_it_forks_from(durability):
    rag = opened()
    app, _ = asked(rag, "What does it cost?", "And then?")
    first = list(app.get_state_history(CHAT))[1]
    asked(rag, "And here?", config=first.config, interrupt_before=["generate"], durability=durability)
    app.update_state(CHAT, {"query": "another"})
    app.invoke(None, CHAT, interrupt_after=["generate"], durability=durability)
    app.invoke(None, CHAT, durability=durability)
    assert questions(rag.threads.turns("plan")) == ["What does it cost?", "And here?"]
    assert stored(rag)[:2] == (3, 0)


@pytest.mark.parametrize("kind", ["threads", "memory"])
def test_an_edit_needs_no_name_of_a_node(kind):
    rag = opened()
    app = rag.graph("self-rag", checkpointer=rag.threads.saver if kind == "threads" else InMemorySaver())
    for question in ("What does it cost?", "And then?"):
        app.invoke({"question": question}, CHAT)
    turns = app.get_state(CHAT).values["turns"]
    app.update_state(CHAT, {"turns": turns[:1]})
    app.invoke({"question": "And now?"}, CHAT)
    assert questions(app.get_state(CHAT).values["turns"]) == ["What does it cost?", "And now?"]


@pytest.mark.parametrize("by", ["going on", "another question"])
def test_a_checkpoint_that_is_gone_is_named(by):
    rag = opened()
    app, _ = asked(rag, "What does it cost?", interrupt_before=["generate"])
    waiting = app.get_state(CHAT).config
    app.invoke(None if by == "going on" else {"question": "And here?"}, waiting)
    for given in (None, {"question": "And now?"}):
        with pytest.raises(UsageError, match="a checkpoint that the thread 'plan' no longer has"):
            app.invoke(given, waiting)
    assert stored(rag)[:2] == (1, 0)


@pytest.mark.parametrize("saver", ["threads", "memory"])
def test_a_question_that_waits_before_a_node_of_another_wiring_is_not_half_answered(saver, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_SELF_RAG_FINAL_GRADE", "separate")
    rag = opened()
    kept = rag.threads.saver if saver == "threads" else InMemorySaver()
    app = rag.graph("self-rag", checkpointer=kept)
    app.invoke({"question": "What does it cost?"}, CHAT, interrupt_before=["prepare_for_final_grade"])
    assert app.get_state(CHAT).next == ("prepare_for_final_grade",)
    monkeypatch.delenv("LOCAL_RAG_SELF_RAG_FINAL_GRADE")
    other = opened().graph("self-rag", checkpointer=kept)
    with pytest.raises(UsageError, match="waits before prepare_for_final_grade, which this graph does not have"):
        other.invoke(None, CHAT)
    assert app.invoke(None, CHAT)["generation"]


def test_a_chat_is_kept_by_the_async_calls_too():
    rag = opened()
    app = rag.graph("self-rag", checkpointer=rag.threads.saver)

    async def chat():
        await app.ainvoke({"question": "What does it cost?"}, CHAT)
        await app.ainvoke({"question": "And then?"}, CHAT, interrupt_before=["generate"])
        assert (await app.aget_state(CHAT)).next == ("generate",)
        await app.ainvoke(None, CHAT)
        async for part in app.astream({"question": "And here?"}, CHAT, interrupt_before=["generate"]):
            if "__interrupt__" in part:
                break
        assert (await app.aget_state(CHAT)).next == ("generate",)
        await app.ainvoke({"question": "And now?"}, CHAT)
        return [questions(state.values["turns"])[-1] async for state in app.aget_state_history(CHAT)]

    assert asyncio.run(chat()) == ["And now?", "And then?", "What does it cost?"]
    assert stored(rag)[:2] == (3, 0)


def test_a_chat_whose_first_question_waits_names_its_index(monkeypatch):
    rag = opened()
    app = rag.graph("self-rag", checkpointer=rag.threads.saver)
    deps = replace(rag.context(), folder="/indexes/demo")
    app.invoke({"question": "What does it cost?"}, CHAT, context=deps, interrupt_before=["generate"])
    (chat,) = [item for item in kept(rag.settings) if item.kind == "chat"]
    assert chat.indexes == ("/indexes/demo",)


@pytest.mark.filterwarnings("ignore:`(config_schema|get_config_jsonschema)` is deprecated")
@pytest.mark.parametrize("graph", ["plain", "self-rag", "crag", "adaptive"])
def test_the_schemas_of_a_graph_can_be_made(graph):
    app = opened().graph(graph)
    assert app.get_context_jsonschema() == {"type": "object", "properties": {}}
    assert app.config_schema().model_json_schema() == app.get_config_jsonschema()
    assert app.get_input_jsonschema()["required"] == ["question"]


def test_closing_waits_for_a_transaction_of_another_thread(tmp_path):
    threads = Threads.open(tmp_path)
    with threads.saver.cursor() as cursor:
        closing = Thread(target=threads.close)
        closing.start()
        closing.join(0.2)
        assert closing.is_alive() and cursor.execute("SELECT 1").fetchone() == (1,)
    closing.join()
