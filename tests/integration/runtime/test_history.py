"""Test the history: what a question leaves however it ends, and how it is read, judged and deleted."""

import json
import stat
import subprocess
import sys
import threading

import pytest
from support import CHECKOUT
from support.asking import opened
from support.databases import sql
from support.fakes import FakeWeb, ScriptedEngine, during, time_is_up

from local_rag import History
from local_rag.cli.app import run as command
from local_rag.config.settings import Settings
from local_rag.core.errors import DiskFull, EngineError, LocalRagError, UsageError
from local_rag.core.events import Done, Note, Started
from local_rag.core.verdicts import Call, Usage
from local_rag.diagnostics import kept
from local_rag.runtime.history import LETTERS, LONGEST_NOTE
from local_rag.runtime.history_file import EARLIER, FILE
from local_rag.text.answer_language import ran_out_of_time

QUESTION = "What does the plan cost?"


def asked(question=QUESTION, engine=None, corpus=None, graph="self-rag", flags=None, **about):
    """Return the run of a question, and its answer."""
    with opened(engine, corpus, **(flags or {})) as rag:
        answer = rag.ask(question, graph=graph, **about)
        return rag.history.run(answer.run), answer


@pytest.fixture
def history(home):
    with History.open() as opened_history:
        yield opened_history


def file():
    return Settings.load().data_folder / FILE


def until(events, node):
    """Read events until a node starts."""
    while not (isinstance(event := next(events), Started) and event.node == node):
        pass


class Calling(ScriptedEngine):
    """Report calls with the digests of their prompts."""

    def relevance(self, question, documents):
        first, *others = super().relevance(question, documents)
        call = Call("relevance", "tiny", 100, 5, 0.5, prompt="0123456789ab")
        usage = Usage(1, 100, 5, 0.5, log=(call,))
        return [type(first)(first.label, first.score, first.why, usage), *others]


# --- a record


def test_a_run_holds_the_way_to_the_answer_and_no_text_of_a_passage():
    engine = Calling(
        relevant=["ynyn"], grades=[("no", 1), ("fully", 5)], drafts=["No, 1 euro [1].", "It costs 100 [1]."]
    )
    run, answer = asked(engine=engine)
    assert len(run.id) == 4 and set(run.id) <= set(LETTERS)
    assert (run.status, run.question, run.graph) == ("grounded", QUESTION, "self-rag")
    assert run.answer == answer and run.path == list(answer.path)
    assert run.decisions == list(answer.decisions) and run.calls == list(answer.usage.log)
    assert run.prompts == {"relevance": "0123456789ab"}
    assert [one["chunk_id"] for one in run.passages] == ["1", "2", "3", "4"]
    (draft,) = run.drafts
    assert (draft["text"], draft["why"]) == ("No, 1 euro [1].", "not supported by the passages")
    assert "says that the plan costs" not in json.dumps(run.lines)
    assert not any(line["event"] == "token" for line in run.lines)
    assert (run.conditions["k"], run.conditions["engine"]["fingerprint"]) == (4, "scripted 1")
    assert run.conditions["settings"]["self_rag.candidates"] == 1
    states = {line["node"]: set(line["state"]) for line in run.lines if line["event"] == "step"}
    assert "documents" in states["retrieve"] and "documents" not in states["generate"], "what a node changed"
    assert not any({"decisions", "usage", "turns"} & keys for keys in states.values())


def test_a_page_of_the_web_is_kept_by_its_address():
    with opened(ScriptedEngine(relevant=["n"])) as rag:
        rag.web = FakeWeb()
        run = rag.history.run(rag.ask(QUESTION, graph="crag").run)
    page = run.passages[-1]
    assert (page["url"], page["origin"]) == ("https://web.test/0", "web") and "text" not in page


def test_files_that_a_question_was_restricted_to_are_named_for_any_folder(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    assert asked(within=["notes", "*.md"])[0].conditions["within"] == [str(tmp_path / "notes"), "*.md"]
    for name in ("~nobody-of-that-name/x", "x" * 300, "zero\0byte"):
        assert asked(within=[name])[0].conditions["within"] == [name], "no path is kept as it was typed"


def test_only_its_owner_may_read_it_and_each_question_is_written_when_it_starts(history):
    with opened() as rag:
        events = rag.stream(QUESTION, thread="plan")
        until(events, "generate")
        (running,) = history.runs()
        assert (running.status, running.thread) == ("running", "plan")
        assert history.run(running.id).path == ["begin", "retrieve", "grade_documents", "generate"]
        assert history.threads() == [] and history.unanswered()["plan"][0].state == "running"
        for each in file().parent.glob(f"{FILE}*"):
            assert stat.S_IMODE(each.stat().st_mode) == 0o600, each
        events.close()
    assert [run.status for run in history.runs()] == ["stopped"]


@pytest.mark.parametrize(("flags", "record"), [({"runs__keep": 0}, True), ({}, False)])
def test_nothing_is_recorded_where_nobody_wants_it(flags, record, history, monkeypatch):
    before, _ = asked()
    monkeypatch.setattr("local_rag.runtime.rag.conditions", lambda *_, **__: pytest.fail("they cost time"))
    with opened(**flags) as rag:
        assert rag.ask(QUESTION, record=record).run == ""
        assert rag.ask(QUESTION, record=record, thread="plan").run == "", "a chat keeps the turn alone"
        events = rag.stream("And the other?", record=record, thread="plan")
        until(events, "generate")
        events.close()
    assert [run.id for run in history.runs()] == [before.id], "what is there stays"
    assert len(history.turns("plan")) == 1
    (stopped,) = history.unanswered()["plan"]
    assert (stopped.question, stopped.state, stopped.draft) == ("And the other?", "stopped", ""), (
        "a chat keeps it alone"
    )


def test_so_many_records_are_kept_the_last_ones_and_chats_and_judgements_stay(history):
    with opened(runs__keep=3) as rag:
        judged = rag.ask(QUESTION, thread="plan").run
        rag.history.judge(judged, True, "fine")
        ids = [rag.ask(f"What does plan {number} cost?").run for number in range(5)]
        assert [run.id for run in rag.history.runs()] == ids[:1:-1]
    (turn,) = history.turns("plan")
    assert (turn.run, turn.answer.run, turn.answer.text) == (judged, "", "It costs 100 euros [1].")
    assert [judgement.note for judgement in history.judgements()] == ["fine"]


def test_a_stopped_a_failed_a_refused_and_a_late_question_say_so(history):
    engine = ScriptedEngine()
    with opened(engine) as rag:
        events = rag.stream(QUESTION)
        until(events, "generate")
        events.close()
        engine.broken = True
        with pytest.raises(EngineError):
            rag.ask(QUESTION, graph="plain")

    def refuse():
        raise UsageError("no file is called so", hint="local-rag files")

    with pytest.raises(UsageError):
        asked(engine=during("relevance", refuse))
    late, _ = asked(engine=during("relevance", time_is_up))
    assert (late.status, ran_out_of_time(late.reason)) == ("abstained", True)
    assert [run.status for run in history.runs()] == ["abstained", "refused", "failed", "stopped"]
    _, refused, failed, stopped = (history.run(run.id) for run in history.runs())
    assert (refused.reason, refused.hint) == ("no file is called so", "local-rag files")
    assert (failed.reason, failed.hint) == ("the model fell over", "ollama serve")
    assert stopped.path == ["begin", "retrieve", "grade_documents", "generate"]
    assert [run.id for run in history.runs(status="stopped")] == [stopped.id] and len(history.runs(last=2)) == 2
    with pytest.raises(UsageError, match="a status is grounded, partial"):
        history.runs(status="good")


def test_an_answer_that_is_not_waited_for_is_recorded_all_the_same(history):
    with opened() as rag:
        events = rag.stream(QUESTION)
        while not isinstance(next(events), Done):
            pass
        events.close()
    assert history.run("last").status == "grounded"


@pytest.mark.slow
def test_several_processes_and_threads_ask_at_once(history):
    program = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from support.asking import opened\n"
        "with opened(runs__keep=6) as rag:\n"
        "    print(flush=True)\n"
        "    for number in range(4): rag.ask(f'What does plan {number} cost?', thread='plan')"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=CHECKOUT, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        with opened(runs__keep=6) as rag:
            for number in range(4):
                rag.ask(f"What does plan {number} cost?", thread="plan")
        assert child.wait() == 0
    assert len(history.turns("plan")) == 8 and len(history.runs()) == 6
    with opened() as rag:
        threads = [threading.Thread(target=rag.ask, args=(f"What does plan {n} cost?",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {history.run(run.id).answer.question for run in history.runs(last=4)} == {
        f"What does plan {n} cost?" for n in range(4)
    }


# --- what cannot be written or read


def notes_of(events):
    return [event.text for event in events if isinstance(event, Note)]


def test_a_data_folder_that_cannot_be_written_fails_no_question_and_is_told_once():
    with opened() as rag:
        file().parent.mkdir(parents=True, exist_ok=True)
        file().mkdir()
        (note,) = notes_of(events := list(rag.stream(QUESTION)))
        assert "runs are not recorded: nothing can be kept in" in note and events[-1].answer.status == "grounded"
        assert events[-1].answer.run == "" and notes_of(rag.stream(QUESTION)) == []
        with pytest.raises(LocalRagError, match="nothing can be kept in"):
            rag.ask(QUESTION, thread="plan")


@pytest.mark.parametrize(
    ("method", "thread", "note"),
    [
        ("add", None, "runs are not recorded: no space left"),
        ("end", None, "runs are not recorded: no space left"),
        ("end", "plan", "this answer is not kept in the chat: no space left"),
    ],
)
def test_on_a_full_disk_an_answer_is_handed_on_and_leaves_no_half_of_a_record(method, thread, note, monkeypatch):
    write, calls = getattr(History, method), []

    def full(*arguments, **named):
        calls.append(arguments)
        if len(calls) == {"add": 3, "end": 1}[method]:
            raise DiskFull("no space left")
        write(*arguments, **named)

    monkeypatch.setattr(History, method, full)
    with opened() as rag:
        *_, last = events = list(rag.stream(QUESTION, thread=thread))
        left = {name: [(each.state, each.error) for each in ended] for name, ended in rag.history.unanswered().items()}
        assert (left, rag.history.runs()) == ({"plan": [("failed", "no space left")]} if thread else {}, [])
    assert (last.answer.status, last.answer.run, notes_of(events)) == ("grounded", "", [note])


@pytest.mark.parametrize("kind", ["text", "foreign", "another version"])
def test_a_file_that_is_no_history_is_left_alone(kind, capsys):
    file().parent.mkdir(parents=True)
    if kind == "text":
        file().write_text("no database at all, but long enough to be looked at " * 40)
    else:
        sql(file(), "CREATE TABLE songs (name TEXT)" if kind == "foreign" else "PRAGMA user_version = 7")
    before = file().read_bytes()
    with pytest.raises(LocalRagError, match="is no history of questions") as caught:
        History.open()
    assert caught.value.hint.startswith("mv ") and file().read_bytes() == before
    assert command(["threads"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_an_answer_that_cannot_be_read_is_one_line(history):
    with opened() as rag:
        rag.ask(QUESTION, thread="plan")
    sql(file(), """UPDATE questions SET answer = '{"text": 5}'""")
    for read in (lambda: history.turns("plan"), lambda: history.run("last")):
        with pytest.raises(LocalRagError, match="an answer in it cannot be read"):
            read()


def test_what_an_earlier_version_kept_is_named_and_not_read(capsys):
    folder = file().parent
    (folder / "runs").mkdir(parents=True)
    (folder / "threads.sqlite").write_text("x")
    assert command(["threads"]) == 0
    written = capsys.readouterr()
    assert "There are no threads yet" in written.out
    (line,) = written.err.splitlines()
    assert "is not read, and still quotes your files: rm -r" in line
    assert all(str(folder / name) in line for name in EARLIER[:2]) and "feedback" not in line


# --- names, judgements, and how all of it goes


def test_a_run_is_named_by_the_beginning_of_its_id(history):
    with pytest.raises(UsageError, match="there are no runs yet"):
        history.run("last")
    run, _ = asked()
    assert history.run(run.id[:2]) == history.run("last") == history.run(run.id.upper()) == run
    for name in ("", "zzzzz", "nothing"):
        with pytest.raises(UsageError, match="there is no run"):
            history.run(name)
    assert history.delete(runs=[run.id]) == [run.id] and history.delete(runs=[run.id]) == []
    assert history.runs() == []


def test_a_judgement_takes_the_place_of_the_one_before_and_goes_when_it_is_taken_back(history):
    run, answer = asked()
    given = history.judge(run.id, True, "just so\ud800 ")
    assert (given.question, given.good, given.note, given.answer) == (QUESTION, True, "just so?", answer)
    again = history.judge("last", False, expected="900 euros")
    assert history.judgements() == [again] and history.judgement(run.id) == again
    history.delete(runs=[run.id])
    assert history.judgements() == [again], "it needs the question and its answer, not the record"
    history.delete(judgements=[run.id])
    assert history.judgement(run.id) is None
    assert sql(file(), "SELECT id FROM questions") == []


def test_what_cannot_be_a_judgement_is_refused(history):
    run, _ = asked()
    for about, error in (
        ({"note": "x" * (LONGEST_NOTE + 1)}, "the note has 2,001 characters"),
        ({"expected": "seven", "unanswerable": True}, "has no expected answer"),
    ):
        with pytest.raises(UsageError, match=error):
            history.judge(run.id, False, **about)
    with pytest.raises(UsageError, match="there is no run 'zzzz'"):
        history.judge("zzzz", True)
    with opened() as rag:
        events = rag.stream(QUESTION)
        until(events, "generate")
        with pytest.raises(UsageError, match=r"has no answer \(running\)"):
            history.judge("last", True)
        events.close()
    assert history.judgements() == []


def test_a_fork_keeps_the_records_and_judgements_that_it_shares(history):
    with opened() as rag:
        first = rag.ask(QUESTION, thread="plan").run
        second = rag.ask("And the other?", thread="plan").run
        rag.history.judge(first, True)
        fork = rag.history.fork("plan", 1)
        third = rag.ask("And then?", thread=fork).run
    assert [turn.answer.run for turn in history.turns(fork)] == [first, third]
    assert history.delete(threads=["plan"]) == [second]
    assert [each.run for each in history.judgements()] == [first] and history.run(first).thread == fork


def test_what_is_deleted_leaves_no_text_behind_while_others_have_it_open(history):
    with opened(ScriptedEngine(drafts=["The xylophone costs 100 euros [1]."])) as rag:
        rag.ask("What does the xylophone cost?", thread="plan")
        history.delete(threads=["plan"])
        for each in file().parent.glob(f"{FILE}*"):
            assert b"xylophone" not in each.read_bytes(), each
    assert kept.kept(Settings.load()) == []
    with pytest.raises(UsageError, match="there is no thread 'plan'; there are none yet"):
        history.delete(threads=["plan"])


def test_a_question_that_was_deleted_while_it_runs_is_not_brought_back(history):
    with opened() as rag:
        stream = rag.stream(QUESTION, thread="plan")
        until(stream, "retrieve")
        history.delete(threads=["plan"])
        assert list(stream)[-1].answer.status == "grounded"
    assert history.threads(begun=True) == [] and history.runs() == []
