"""Test that chats, runs and exports that quote a removed file are listed, and deleted by a command or by age."""

import re
import shlex
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.databases import sql
from support.evaluation_cases import cases_file
from support.garden import notes_in

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.evaluation.folder import held
from local_rag.runtime.history_file import FILE as HISTORY
from local_rag.runtime.written import FILE, enter, forget_deleted, written

pytestmark = pytest.mark.usefixtures("converted")

GREENHOUSE, NOTICE = "What does the greenhouse cost?", "How long is the notice period of the rental contract?"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return two indexed notes; a chat, a run and an export that quote the plan, and a chat about the letter."""
    base = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patched:
        enter_world(patched, base / "now")
        notes_in(base / "now")
        cases_file(base / "now")
        for line in (
            "index notes",
            f"ask '{GREENHOUSE}' --thread garden --k 1",
            f"ask '{NOTICE}' --thread flat --k 1",
            "eval mine.jsonl --graph plain --out run",
            "threads export garden --out garden.md",
        ):
            assert run(shlex.split(line)) == 0, line
    shutil.copytree(base / "now", base / "saved")
    return base


def enter_world(patched, folder):
    folder.mkdir(exist_ok=True)
    patched.setenv("LOCAL_RAG_CONFIG_DIR", str(folder / "config"))
    patched.setenv("LOCAL_RAG_DATA_DIR", str(folder / "data"))
    patched.setenv("COLUMNS", "200")
    patched.chdir(folder)


@pytest.fixture
def here(world, monkeypatch):
    """Restore the first state of the world, at the paths that its files name."""
    shutil.rmtree(world / "now")
    shutil.copytree(world / "saved", world / "now")
    enter_world(monkeypatch, world / "now")
    return world / "now"


def all_that_is_kept(said, what=""):
    return [(one["kind"], Path(one["name"]).name) for one in said.json(f"kept {what}")]


def everything(said, what=""):
    """Return what is kept besides recorded questions, whose names are IDs."""
    return [pair for pair in all_that_is_kept(said, what) if pair[0] != "question"]


def threads(said):
    return [one["thread"] for one in said.json("runs")]


def deleted_as_told(said, report):
    """Type the command at the end of a report, and return its output."""
    (hint,) = re.findall("still quotes? it: local-rag (.*)", report)
    return said(hint)


FOUR = "1 chat, 1 recorded question, 1 evaluation run and 1 exported chat"


def test_all_that_quotes_files_is_listed_and_what_quotes_one_file(here, said):
    of_the_plan = {("chat", "garden"), ("run", "run"), ("export", "garden.md")}
    for what, listed in (
        ("", {*of_the_plan, ("chat", "flat")}),
        ("notes", {*of_the_plan, ("chat", "flat")}),
        ("notes/plan.md", of_the_plan),
        ("notes/letters/tenant.txt", {("chat", "flat"), ("run", "run")}),
        ("flat", {("chat", "flat")}),
        ("--index another", set()),
    ):
        assert set(everything(said, what)) == listed, what
    (chat,) = [one for one in said.json("kept") if one["name"] == "garden"]
    assert chat["sources"] == [str(here / "notes/plan.md")]
    assert "garden.md" in said("kept")
    assert said.error("kept --delete")[0] == "error: name what to delete"
    assert "Nothing quotes it." in said("kept notes/other.txt --delete") and len(everything(said)) == 4


@pytest.mark.parametrize("by", ["remove notes/plan.md", "index"])
def test_a_file_that_goes_takes_what_quotes_it_along_by_the_command_that_is_named(here, said, by):
    if by == "index":
        (here / "notes/plan.md").unlink()
    report = said(by)
    assert f"{FOUR} still quote it" in report and f"deleted {FOUR}" in deleted_as_told(said, report)
    assert everything(said) == [("chat", "flat")] and "still quote" not in said("index")
    left = {path.name for path in here.iterdir()}
    assert left >= {"notes", "mine.jsonl"} and not left & {"run", "garden.md"}
    assert not any(b"4,200" in path.read_bytes() for path in (here / "data").glob("history.sqlite*"))
    assert b"plan.md" not in (here / "data" / FILE).read_bytes(), "not even its name"


def test_an_index_that_is_deleted_takes_what_was_asked_of_it_along(here, said):
    said("index notes/letters/tenant.txt --index flat")
    said(f"ask '{NOTICE}' --thread other --index flat --graph plain")
    report = said("remove --index flat")
    assert "1 chat still quotes it" in report and "deleted 1 chat" in deleted_as_told(said, report)
    assert ("chat", "other") not in everything(said) and ("chat", "garden") in everything(said)


def test_recorded_questions_are_named_by_what_they_retrieved_and_go_with_their_chat_or_index(here, said):
    (of_the_plan,) = [pair for pair in all_that_is_kept(said, "notes/plan.md") if pair[0] == "question"]
    (listed,) = [one["id"] for one in said.json("runs") if one["thread"] == "garden"]
    assert [of_the_plan] == all_that_is_kept(said, listed) == [("question", listed)]
    said(f"kept {listed} --delete")
    assert threads(said) == ["flat"]
    said(f"ask '{NOTICE}'")
    assert "(1 question) and the 1 run of it" in said("threads delete flat")
    assert threads(said) == [""]
    report = said("remove --index default")
    assert "deleted the index" in report and "and the 1 run of questions about it" in report
    assert "question still" not in report and threads(said) == []


def test_proposed_cases_are_named_and_left_because_a_person_writes_in_them(here, said):
    said("eval make made.jsonl --yes --count 3 --unanswerable 0")
    (made,) = [one for one in everything(said, "notes/plan.md") if one[0] == "cases"]
    assert made == ("cases", "made.jsonl")
    report = said("kept notes/plan.md --delete")
    assert f"rm {here / 'made.jsonl'}" in report and (here / "made.jsonl").exists()


def test_a_run_keeps_what_others_put_beside_it_and_stays_while_it_is_added_to(here, said):
    folder = here / "run"
    (folder / "my notes.txt").write_text("mine")
    with held(folder):
        assert "another local-rag eval is writing" in said(f"kept {folder} --delete", 2)
    assert (folder / "records.jsonl").exists() and ("run", "run") in everything(said)
    said(f"kept {folder} --delete")
    assert [path.name for path in folder.iterdir()] == ["my notes.txt"]


def age(days, thread):
    """Set the last use of a chat to a number of days ago."""
    at = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
    change = "UPDATE questions SET at = ? WHERE id IN (SELECT question FROM turns WHERE thread = ?)"
    sql(Settings.load().data_folder / HISTORY, change, at, thread)


def test_what_is_old_is_deleted_with_its_runs_where_the_settings_say_so(here, said, monkeypatch):
    age(31, "garden")
    age(29, "flat")
    said("index")
    assert ("chat", "garden") in everything(said), "by default everything is kept"
    monkeypatch.setenv("LOCAL_RAG_HISTORY_KEEP_DAYS", "30")
    assert " of more than 30 days ago (history.keep_days)" in said("index")
    assert [name for kind, name in everything(said) if kind == "chat"] == ["flat"] == threads(said)
    assert not any(b"4,200" in path.read_bytes() for path in (here / "data").glob("history.sqlite*"))
    assert "deleted" not in said("threads")


def test_a_bundle_with_a_copy_of_the_index_is_named_and_left(here, said):
    (here / "stick").mkdir()
    enter(here / "data", "bundle", here / "stick", index=here / "data/indexes/default")
    for command in ("remove notes/plan.md", "remove --index default", "kept --index default --delete"):
        assert f"rm -r {here / 'stick'}" in said(command) and (here / "stick").exists()


def test_what_lies_on_a_disk_that_is_not_there_now_is_not_forgotten(tmp_path):
    for name in ("stick/chat.md", "here.jsonl"):
        enter(tmp_path / "data", "export", tmp_path / name)
    forget_deleted(tmp_path / "data")
    (tmp_path / "stick").mkdir()
    (tmp_path / "stick/chat.md").touch()
    assert [entry.path for entry in written(tmp_path / "data")] == [str(tmp_path / "stick/chat.md")]


def test_chats_that_cannot_be_read_do_not_fail_a_removal(here, said):
    (here / "data/history.sqlite").write_bytes(b"not a database, by any means" * 99)
    report = said("remove notes/plan.md")
    assert "1 file removed" in report and "Chats may quote it, and cannot be read" in report


def test_a_list_that_cannot_be_written_or_read_stops_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    enter(tmp_path / "file", "export", tmp_path / "chat.md")
    enter(tmp_path, "export", tmp_path / "file")
    with (tmp_path / FILE).open("ab") as out:
        out.write(b'nonsense\n[1]\n{"kind": "export"}\n')
    assert [entry.path for entry in written(tmp_path)] == [str(tmp_path / "file")]
