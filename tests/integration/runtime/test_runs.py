"""Runs: what a question leaves behind, however it ends, and what is read of it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
import unicodedata

import pytest
from support import CHECKOUT
from support.fakes import FakeWeb, ScriptedEngine
from support.permissions import bound_by_permissions
from support.remembering import Recalling, opened

from local_rag import Runs
from local_rag.config.settings import Settings
from local_rag.core.errors import EngineError, LocalRagError, UsageError
from local_rag.core.events import Note, Started
from local_rag.core.usage import Call, Usage
from local_rag.diagnostics import kept
from local_rag.runtime import kept_run, kept_runs
from local_rag.runtime.kept_run import KeptRun
from local_rag.runtime.recording import FOLDER, LENGTH, LETTERS
from local_rag.runtime.retention import delete_chats
from local_rag.text.answer_texts import ran_out_of_time

QUESTION = "What does the plan cost?"


def asked(question=QUESTION, engine=None, corpus=None, graph="self-rag", flags=None, **about):
    """The run of a question, and its answer."""
    with opened(engine, corpus, **(flags or {})) as rag:
        answer = rag.ask(question, graph=graph, **about)
        return rag.runs.get(answer.run), answer


def folder():
    return Settings.load().data_folder / FOLDER


def files():
    return sorted(folder().iterdir()) if folder().exists() else []


class Calling(ScriptedEngine):
    """Names its calls and the digests of their prompts."""

    def relevance(self, question, documents):
        first, *others = super().relevance(question, documents)
        call = Call("relevance", "tiny", 100, 5, 0.5, prompt="0123456789ab")
        usage = Usage(1, 100, 5, 0.5, log=(call,))
        return [type(first)(first.label, first.score, first.why, usage), *others]


def test_a_run_holds_the_way_to_the_answer_and_no_text_of_a_passage():
    engine = Calling(
        relevant=["ynyn"], grades=[("no", 1), ("fully", 5)], drafts=["No, 1 euro [1].", "It costs 100 [1]."]
    )
    run, answer = asked(engine=engine)
    assert len(run.id) == LENGTH and set(run.id) <= set(LETTERS)
    assert (run.status, run.question, run.graph, run.path) == ("grounded", QUESTION, "self-rag", list(answer.path))
    assert run.answer == answer and run.decisions == list(answer.decisions) and run.calls == list(answer.usage.log)
    assert run.prompts == {"relevance": "0123456789ab"}
    assert [one["chunk_id"] for one in run.passages] == ["1", "2", "3", "4"]
    (draft,) = run.drafts
    assert (draft["text"], draft["why"]) == ("No, 1 euro [1].", "not supported by the passages")
    assert "says that the plan costs" not in json.dumps([line for line in run.lines if line["event"] != "done"])
    assert not any(line["event"] == "token" for line in run.lines)
    assert (run.conditions["k"], run.conditions["engine"]["fingerprint"]) == (4, "scripted 1")
    assert run.conditions["settings"]["self_rag.candidates"] == 1


def test_of_a_state_only_what_a_node_changed_is_kept():
    run, _ = asked()
    states = {line["node"]: set(line["state"]) for line in run.lines if line["event"] == "step"}
    assert "documents" in states["retrieve"] and "documents" not in states["generate"]
    assert not any({"decisions", "usage", "turns"} & keys for keys in states.values())


def test_files_that_a_question_was_restricted_to_are_named_for_any_folder(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    run, _ = asked(within=["notes", "*.md"])
    assert run.conditions["within"] == [str(tmp_path / "notes"), "*.md"]


@pytest.mark.parametrize("name", ["~nobody-of-that-name/x", "x" * 300, "zero\0byte"])
def test_a_name_that_is_no_path_is_kept_as_it_was_typed(name):
    assert asked(within=[name])[0].conditions["within"] == [name]


def test_conditions_are_gathered_only_for_a_record(monkeypatch):
    def refused(*_, **__):
        raise AssertionError("nothing is recorded")

    monkeypatch.setattr("local_rag.runtime.rag.conditions", refused)
    with opened(runs__keep=0) as rag:
        assert rag.ask(QUESTION).status == "grounded"


def test_only_its_owner_may_read_it():
    asked()
    (file,) = files()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(folder().stat().st_mode) == 0o700


@pytest.mark.parametrize("flags", [{"runs__keep": 0}, {}])
def test_nothing_is_recorded_where_nobody_wants_it(flags):
    asked()
    with opened(**flags) as rag:
        answer = rag.ask(QUESTION, record=bool(flags))
    assert answer.run == "" and len(files()) == 1, "what is there stays"


def test_so_many_are_kept_the_last_ones():
    with opened(runs__keep=3) as rag:
        ids = [rag.ask(f"What does plan {number} cost?").run for number in range(5)]
        assert [run.id for run in rag.runs.list()] == ids[:1:-1]


def test_a_stopped_a_failed_and_a_late_question_say_so():
    engine = Recalling()
    with opened(engine) as rag:
        events = rag.stream(QUESTION)
        while not (isinstance(event := next(events), Started) and event.node == "generate"):
            pass
        events.close()
        engine.broken = True
        with pytest.raises(EngineError):
            rag.ask(QUESTION, graph="plain")
        failed, stopped = map(rag.runs.get, (run.id for run in rag.runs.list()))
    assert (failed.status, failed.reason, failed.ended["hint"]) == ("failed", "the model fell over", "ollama serve")
    assert (stopped.status, stopped.path) == ("stopped", ["retrieve", "grade_documents", "generate"])

    class Slow(Recalling):
        def relevance(self, question, documents):
            time.sleep(0.5)
            return super().relevance(question, documents)

    late, _ = asked(engine=Slow(), flags={"limits__seconds": 0.4})
    assert (late.status, ran_out_of_time(late.reason)) == ("abstained", True)
    runs = Runs.open()
    assert [run.status for run in runs.list()] == ["abstained", "failed", "stopped"]
    assert [run.id for run in runs.list(status="stopped")] == [stopped.id] and len(runs.list(last=2)) == 2
    with pytest.raises(UsageError, match="a status is grounded, partial"):
        runs.list(status="good")


def test_an_answer_that_is_not_waited_for_is_recorded_all_the_same():
    with opened() as rag:
        events = rag.stream(QUESTION)
        for event in events:
            if type(event).__name__ == "Done":
                break
        events.close()
        assert rag.runs.get("last").status == "grounded"


@pytest.mark.slow
def test_what_is_killed_leaves_what_it_did():
    program = (
        "import os, sys; sys.path.insert(0, 'tests')\n"
        "from support.remembering import opened\n"
        "for event in opened().stream('What does the plan cost?'):\n"
        "    if getattr(event, 'node', '') == 'generate': os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, check=False)
    assert done.returncode == -9
    run = Runs.open().get("last")
    assert (run.status, run.path) == ("unfinished", ["retrieve", "grade_documents", "generate"])
    assert [graded.verdict for graded in run.decisions][:4] == ["relevant"] * 4
    with files()[0].open("ab") as file:
        file.write(b'{"event": "done", "at"')  # as a full disk or a crash leaves it
    assert Runs.open().get("last").status == "unfinished"


def notes_of(events):
    return [event.text for event in events if isinstance(event, Note)]


def test_a_folder_that_cannot_be_written_fails_no_question_and_is_told_once(tmp_path):
    with opened() as rag:
        rag.settings.data_folder.mkdir(parents=True, exist_ok=True)
        folder().write_text("a file, where a folder should be")
        (note,) = notes_of(events := list(rag.stream(QUESTION)))
        assert "runs are not recorded in" in note and events[-1].answer.status == "grounded"
        assert events[-1].answer.run == "" and notes_of(rag.stream(QUESTION)) == []
        assert rag.runs.list() == []


def test_a_data_folder_without_the_right_to_write_fails_no_question():
    with opened() as rag:
        folder().mkdir(parents=True)
        folder().chmod(0o500)
        try:
            events = bound_by_permissions(lambda: list(rag.stream(QUESTION)))
        finally:
            folder().chmod(0o700)
    assert len(notes_of(events)) == 1 and events[-1].answer.status == "grounded"


def test_a_disk_that_fills_up_leaves_no_half_of_a_record(monkeypatch):
    """The third line finds no room."""
    write, count = os.write, iter(range(100))

    def full(handle, data):
        return len(data) // 2 if data.startswith(b'{"event"') and next(count) == 2 else write(handle, data)

    monkeypatch.setattr("local_rag.runtime.recording.os.write", full)
    with opened() as rag:
        *events, done = rag.stream(QUESTION)
    assert len(notes_of(events)) == 1 and done.answer.status == "grounded" and done.answer.run == ""
    assert files() == []


@pytest.mark.slow
def test_two_processes_record_at_once():
    program = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from support.remembering import opened\n"
        "with opened(runs__keep=12) as rag:\n"
        "    for number in range(8): rag.ask(f'What does plan {number} cost?')"
    )
    both = [subprocess.Popen([sys.executable, "-c", program], cwd=CHECKOUT) for _ in range(2)]
    assert [child.wait(120) for child in both] == [0, 0]
    runs = Runs.open().list()
    assert 11 <= len(runs) <= 13 and len({run.id for run in runs}) == len(runs)
    assert {run.status for run in runs} == {"grounded"}


def test_questions_on_several_threads_have_runs_of_their_own():
    with opened() as rag:
        threads = [threading.Thread(target=rag.ask, args=(f"What does plan {n} cost?",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        questions = {rag.runs.get(run.id).answer.question for run in rag.runs.list()}
    assert questions == {f"What does plan {n} cost?" for n in range(4)}


def test_a_run_is_named_by_the_beginning_of_its_id():
    run, _ = asked()
    runs = Runs.open()
    assert runs.get(run.id[:2]).id == runs.get("last").id == runs.get(run.id.upper()).id == run.id
    for name in ("", "zzzzz", "nothing"):
        with pytest.raises(UsageError, match="there is no run"):
            runs.get(name)
    assert runs.delete(["last"]) == [run.id] and files() == []
    with pytest.raises(UsageError, match="there are no runs yet"):
        runs.get("last")


def test_what_another_process_has_deleted_meanwhile_is_no_error():
    run, _ = asked()
    runs = Runs.open()
    paths = runs.before("2100-01-01")
    assert runs.delete_paths(paths) == [run.id] and runs.delete_paths(paths) == []


def test_a_chat_takes_its_runs_along_however_its_name_is_typed():
    name = "M\u00fcller"
    run, _ = asked(thread=name)
    assert run.thread == name
    assert delete_chats(Settings.load(), [unicodedata.normalize("NFD", name)]) == 1 and files() == []


def test_a_record_is_read_again_where_it_has_changed(monkeypatch):
    for question in ("One?", "Two?"):
        asked(question)
    runs, read = Runs.open(), []
    ends = kept_runs.ends_of_record
    monkeypatch.setattr(kept_runs, "ends_of_record", lambda path: [read.append(path), ends(path)][1])
    assert [run.question for run in runs.list()] == [run.question for run in runs.list()] == ["Two?", "One?"]
    assert len(read) == 2
    files()[0].write_bytes(files()[0].read_bytes().replace(b"One?", b"Once?"))
    assert [run.question for run in runs.list()] == ["Two?", "Once?"] and len(read) == 3
    files()[1].unlink()
    assert [run.question for run in runs.list()] == ["Once?"] and len(read) == 3


def test_a_list_reads_no_more_runs_than_it_shows(monkeypatch):
    for _ in range(3):
        asked()
    opened_paths = []
    read = kept_runs.ends_of_record
    monkeypatch.setattr(kept_runs, "ends_of_record", lambda path: (opened_paths.append(path), read(path))[1])
    assert len(Runs.open().list(last=1)) == 1 and opened_paths == files()[-1:]


@pytest.mark.parametrize("size", [10, kept_run.BLOCK, 3 * kept_run.BLOCK])
def test_the_ends_of_a_record_are_those_of_the_whole(size):
    asked()
    (file,) = files()
    lines = file.read_bytes().splitlines(keepends=True)
    long = json.dumps({"event": "ended", "at": 1.0, "how": "failed", "error": "x" * size}).encode() + b"\n"
    for content in ([lines[0]], lines, [*lines, long], [*lines, long, long[:-1]], [lines[0], long]):
        file.write_bytes(b"".join(content))
        ends, whole = kept_run.ends_of_record(file), kept_run.whole_record(file)
        assert (ends.lines[0], ends.lines[-1]) == (whole.lines[0], whole.lines[-1])
    file.write_bytes(lines[0][:-1])
    with pytest.raises(ValueError, match="no record"):
        kept_run.ends_of_record(file)


def test_a_damaged_record_is_one_line_and_what_is_no_record_is_left_alone():
    run, _ = asked()
    (file,) = files()
    (folder() / "mine.jsonl").write_text("mine")
    file.write_bytes(b"nonsense\n")
    runs = Runs.open()
    assert runs.list() == []
    with pytest.raises(LocalRagError, match="cannot be read") as caught:
        runs.get(run.id)
    assert caught.value.hint == f"local-rag runs delete {run.id}"
    runs.delete([run.id])
    assert [path.name for path in files()] == ["mine.jsonl"]


@pytest.mark.parametrize(
    "changed", [{"time": None}, {"index": None}, {"index": {}}, {"engine": []}, {"question": 5}, {"settings": None}]
)
def test_a_record_whose_first_line_lacks_something_is_a_damaged_one(changed):
    run, _ = asked()
    (file,) = files()
    lines = file.read_bytes().split(b"\n")
    first = {name: value for name, value in (json.loads(lines[0]) | changed).items() if value is not None}
    file.write_bytes(b"\n".join([json.dumps(first).encode(), *lines[1:]]))
    runs = Runs.open()
    assert runs.list() == []
    with pytest.raises(LocalRagError, match="its first line lacks"):
        runs.get(run.id)
    file.write_bytes(b'{"event": "asked", "format": 1}\n')
    with pytest.raises(LocalRagError, match="its first line lacks"):
        runs.get(run.id)
    assert run.id in {item.name for item in kept.kept(Settings.load())}


def test_a_page_of_the_web_is_kept_by_its_address():
    with opened(ScriptedEngine(relevant=["n"])) as rag:
        rag.web = FakeWeb()
        run = rag.runs.get(rag.ask(QUESTION, graph="crag").run)
    page = run.passages[-1]
    assert (page["url"], page["origin"]) == ("https://web.test/0", "web") and "text" not in page


def test_a_run_of_another_version_reads_with_what_it_lacks(tmp_path):
    run, _ = asked()
    lines = [dict(line) for line in run.lines]
    lines[0]["settings"] = {"gone.setting": 1}
    lines[-1]["answer"] = {name: lines[-1]["answer"][name] for name in ("question", "text", "status")} | {"later": 1}
    older = KeptRun(lines)
    assert older.status == "grounded" and older.answer.citations == ()
