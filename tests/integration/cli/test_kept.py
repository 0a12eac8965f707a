"""What quotes a file outlives it in chats, runs and exports: it is named, deleted by a command, or by age."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from support.evaluation_cases import cases_file, notes_in

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.evaluation.folder import held
from local_rag.runtime.history_file import FILE as HISTORY
from local_rag.runtime.written import FILE, enter, forget_deleted, written

pytestmark = pytest.mark.usefixtures("converted")

GREENHOUSE, NOTICE = "What does the greenhouse cost?", "How long is the notice period of the rental contract?"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two indexed notes; a chat, a run and an export that quote the plan, and a chat about the letter."""
    base = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patched:
        enter_world(patched, base / "now")
        notes_in(base / "now")
        cases_file(base / "now")
        for command in (
            ["index", "notes"],
            ["ask", GREENHOUSE, "--thread", "garden", "--k", "1"],
            ["ask", NOTICE, "--thread", "flat", "--k", "1"],
            ["eval", "mine.jsonl", "--graph", "plain", "--out", "run"],
            ["threads", "export", "garden", "--out", "garden.md"],
        ):
            assert run(command) == 0, command
    shutil.copytree(base / "now", base / "saved")
    return base


def enter_world(patched, folder):
    folder.mkdir(exist_ok=True)
    patched.setenv("LOCAL_RAG_CONFIG_DIR", str(folder / "config"))
    patched.setenv("LOCAL_RAG_DATA_DIR", str(folder / "data"))
    patched.setenv("COLUMNS", "200")
    patched.chdir(folder)


@pytest.fixture
def here(world, monkeypatch, capsys):
    """The world as it was, at the paths that stand in it."""
    shutil.rmtree(world / "now")
    shutil.copytree(world / "saved", world / "now")
    enter_world(monkeypatch, world / "now")
    capsys.readouterr()
    return world / "now"


def said(capsys, *command, code=0):
    """What a command shows, once it has ended with that exit code."""
    capsys.readouterr()
    assert run(list(command)) == code
    shown = capsys.readouterr()
    return shown.out + shown.err


def everything(capsys, *more):
    """What is kept besides recorded questions, whose names are IDs."""
    return [pair for pair in all_that_is_kept(capsys, *more) if pair[0] != "question"]


def all_that_is_kept(capsys, *more):
    return [(one["kind"], os.path.basename(one["name"])) for one in json.loads(said(capsys, "kept", "--json", *more))]  # noqa: PTH119


def test_all_that_quotes_files_is_listed_and_what_quotes_one_file(here, capsys):
    of_the_plan = {("chat", "garden"), ("run", "run"), ("export", "garden.md")}
    assert set(everything(capsys)) == {*of_the_plan, ("chat", "flat")}
    assert set(everything(capsys, "notes/plan.md")) == of_the_plan
    assert set(everything(capsys, "notes/tenant.txt")) == {("chat", "flat"), ("run", "run")}
    assert set(everything(capsys, "notes")) == {*of_the_plan, ("chat", "flat")}
    assert everything(capsys, "flat") == [("chat", "flat")]
    assert everything(capsys, "--index", "another") == []
    (chat,) = [one for one in json.loads(said(capsys, "kept", "--json")) if one["name"] == "garden"]
    assert chat["sources"] == [str(here / "notes/plan.md")]
    table = said(capsys, "kept")
    assert "garden.md" in table and "garden" in table


def test_a_file_that_is_removed_takes_what_quotes_it_along_by_the_command_that_is_named(here, capsys):
    report = said(capsys, "remove", "notes/plan.md")
    (hint,) = re.findall("still quote it: (.*)", report)
    assert "1 chat, 1 recorded question, 1 evaluation run and 1 exported chat still quote it" in report
    gone = said(capsys, *shlex.split(hint)[1:])
    assert "deleted 1 chat, 1 recorded question, 1 evaluation run and 1 exported chat" in gone
    assert everything(capsys) == [("chat", "flat")]
    left = {path.name for path in here.iterdir()}
    assert left >= {"notes", "mine.jsonl"} and not left & {"run", "garden.md"}
    assert not any(b"4,200" in path.read_bytes() for path in (here / "data").glob("history.sqlite*"))
    assert b"plan.md" not in (here / "data" / FILE).read_bytes(), "not even its name"


def test_an_index_that_is_deleted_takes_what_was_asked_of_it_along(here, capsys):
    assert run(["index", "notes/tenant.txt", "--index", "flat"]) == 0
    assert run(["ask", NOTICE, "--thread", "other", "--index", "flat", "--graph", "plain"]) == 0
    report = said(capsys, "remove", "--index", "flat")
    (hint,) = re.findall("still quotes? it: (.*)", report)
    assert "1 chat still quotes it" in report and "deleted 1 chat" in said(capsys, *shlex.split(hint)[1:])
    assert ("chat", "other") not in everything(capsys) and ("chat", "garden") in everything(capsys)


def test_recorded_questions_are_named_by_what_they_retrieved_and_go_with_their_chat_or_index(here, capsys):
    of_the_plan = [name for kind, name in all_that_is_kept(capsys, "notes/plan.md") if kind == "question"]
    (listed,) = [one for one in json.loads(said(capsys, "runs", "--json")) if one["thread"] == "garden"]
    assert of_the_plan == [listed["id"]] and all_that_is_kept(capsys, listed["id"]) == [("question", listed["id"])]
    said(capsys, "kept", listed["id"], "--delete")
    assert [one["thread"] for one in json.loads(said(capsys, "runs", "--json"))] == ["flat"]
    assert run(["ask", NOTICE]) == 0
    assert "(1 question) and the 1 run of it" in said(capsys, "threads", "delete", "flat")
    assert [one["thread"] for one in json.loads(said(capsys, "runs", "--json"))] == [""]
    assert "deleted the index" in (report := said(capsys, "remove", "--index", "default"))
    assert "and the 1 run of questions about it" in report and "question still" not in report
    assert json.loads(said(capsys, "runs", "--json")) == []


def test_a_chat_that_goes_by_age_takes_its_runs_along(here, capsys, monkeypatch):
    age(31, "garden")
    monkeypatch.setenv("LOCAL_RAG_HISTORY_KEEP_DAYS", "30")
    said(capsys, "index")
    assert [one["thread"] for one in json.loads(said(capsys, "runs", "--json"))] == ["flat"]


def test_proposed_cases_are_named_and_left_because_a_person_writes_in_them(here, capsys):
    assert run(["eval", "make", "made.jsonl", "--yes", "--count", "3", "--unanswerable", "0"]) == 0
    (made,) = [one for one in everything(capsys, "notes/plan.md") if one[0] == "cases"]
    assert made == ("cases", "made.jsonl")
    report = said(capsys, "kept", "notes/plan.md", "--delete")
    assert f"rm {here / 'made.jsonl'}" in report and (here / "made.jsonl").exists()


def test_a_run_keeps_what_others_put_beside_it(here, capsys):
    (here / "run" / "my notes.txt").write_text("mine")
    said(capsys, "kept", str(here / "run"), "--delete")
    assert [path.name for path in (here / "run").iterdir()] == ["my notes.txt"]


def test_a_run_that_is_being_added_to_stays(here, capsys):
    with held(here / "run"):
        assert "another local-rag eval is writing" in said(capsys, "kept", str(here / "run"), "--delete", code=2)
    assert (here / "run/records.jsonl").exists() and ("run", "run") in everything(capsys)


def test_nothing_is_deleted_that_is_not_named(here, capsys):
    assert "error: name what to delete" in said(capsys, "kept", "--delete", code=2)
    assert len(everything(capsys)) == 4
    assert "Nothing quotes it." in said(capsys, "kept", "notes/other.txt", "--delete")


@pytest.mark.slow
def test_a_run_of_before_the_list_is_found_in_the_data_folder(here, capsys):
    assert run(["eval", "mine.jsonl", "--graph", "plain"]) == 0
    (here / "data" / FILE).unlink()
    (found,) = [one for one in everything(capsys, "notes/plan.md") if one[0] == "run"]
    assert found[1].startswith("mine-extractive")


def age(days, thread):
    """Let a chat have been used for the last time so many days ago."""
    at_an_age(days, "id IN (SELECT question FROM turns WHERE thread = ?)", thread)


def at_an_age(days, which, value):
    """Let a question have been asked so many days ago."""
    at = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
    with closing(sqlite3.connect(Settings.load().data_folder / HISTORY)) as database, database:
        database.execute(f"UPDATE questions SET at = ? WHERE {which}", (at, value))


def test_what_is_old_is_deleted_where_the_settings_say_so(here, capsys, monkeypatch):
    age(31, "garden")
    age(29, "flat")
    said(capsys, "index")
    assert ("chat", "garden") in everything(capsys), "by default everything is kept"
    monkeypatch.setenv("LOCAL_RAG_HISTORY_KEEP_DAYS", "30")
    assert " of more than 30 days ago (history.keep_days)" in said(capsys, "index")
    assert [name for kind, name in everything(capsys) if kind == "chat"] == ["flat"]
    data = here / "data"
    assert not any(b"4,200" in path.read_bytes() for path in data.glob("history.sqlite*"))
    assert "deleted" not in said(capsys, "threads")


def test_a_file_that_goes_by_itself_is_named_too(here, capsys):
    (here / "notes/plan.md").unlink()
    report = said(capsys, "index")
    (hint,) = re.findall("still quote it: (.*)", report)
    assert "deleted 1 chat, 1 recorded question" in said(capsys, *shlex.split(hint)[1:])
    assert "still quote" not in said(capsys, "index")


def test_a_bundle_with_a_copy_of_the_index_is_named_and_left(here, capsys):
    (here / "stick").mkdir()
    enter(here / "data", "bundle", here / "stick", index=here / "data/indexes/default")
    bundle = f"rm -r {here / 'stick'}"
    assert bundle in said(capsys, "remove", "notes/plan.md")
    assert bundle in said(capsys, "remove", "--index", "default")
    assert bundle in said(capsys, "kept", "--index", "default", "--delete") and (here / "stick").exists()


def test_what_lies_on_a_disk_that_is_not_there_now_is_not_forgotten(tmp_path):
    for name in ("stick/chat.md", "here.jsonl"):
        enter(tmp_path / "data", "export", tmp_path / name)
    forget_deleted(tmp_path / "data")
    (tmp_path / "stick").mkdir()
    (tmp_path / "stick/chat.md").touch()
    assert [entry.path for entry in written(tmp_path / "data")] == [str(tmp_path / "stick/chat.md")]


def test_chats_that_cannot_be_read_do_not_fail_a_removal(here, capsys):
    (here / "data/history.sqlite").write_bytes(b"not a database, by any means" * 99)
    report = said(capsys, "remove", "notes/plan.md")
    assert "1 file removed" in report and "Chats may quote it, and cannot be read" in report


def test_a_list_that_cannot_be_written_or_read_stops_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    enter(tmp_path / "file", "export", tmp_path / "chat.md")
    enter(tmp_path, "export", tmp_path / "file")
    with (tmp_path / FILE).open("ab") as out:
        out.write(b'nonsense\n[1]\n{"kind": "export"}\n')
    assert [entry.path for entry in written(tmp_path)] == [str(tmp_path / "file")]
