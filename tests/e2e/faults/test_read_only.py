"""An index in a folder that cannot be written: the last commit answers, or a line says why not; no hint harms."""

from __future__ import annotations

import os
import sqlite3
import sys

import pytest

from .conftest import NEW, OLD, QUESTIONS, SMALL, STEADY
from .looking import each_is_one_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rights of Linux")

HARM = ("remove --index", "rm ", "delete")


def lock_up(folder):
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)


@pytest.fixture
def left_behind(world, commands):
    """`kill` leaves the index in a folder that cannot be written, after a share of the events of a second `index`."""

    def changed():
        world.reset("kept")
        for number, (name, text) in enumerate(NEW.items()):
            world.write(name, text, age=1000 + number)

    def kill(share):
        changed()
        count = len(commands.run("index", constants=SMALL).events)
        changed()
        done = commands.run("index", constants=SMALL, kill=int(share * (count - 1)))
        assert done.code == -9, done.err
        lock_up(world.index)

    yield kill
    if world.index.exists():
        world.index.chmod(0o755)


def asked(commands):
    """What a reader without rights is told: the passages, or the line."""
    step = {"index": "default", "questions": QUESTIONS}
    status, searched, answered, whole = commands.steps(
        [["status"], ["search", QUESTIONS[0], "--json", "--k", "2"], ["ask", QUESTIONS[0]], step], bound=True
    )
    for done in (status, searched, answered):
        assert "Traceback" not in done.err, done.err
        assert not any(word in done.err for word in HARM), done.err
        assert "damaged" not in done.err, done.err
    return status, searched, answered, whole


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4, 0.6, 0.75, 0.9, 1])
def test_a_reader_after_a_kill_never_sees_what_was_superseded(world, commands, left_behind, share):
    left_behind(share)
    _, searched, answered, whole = asked(commands)
    world.index.chmod(0o755)
    for path in world.index.iterdir():
        path.chmod(0o600)
    truth = commands.steps([{"index": "default", "questions": QUESTIONS}])[0].value
    if searched.code:
        _, hint = searched.failed_plainly()
        assert hint
        assert answered.code == 1
    else:
        assert whole.value["texts"] == truth["texts"], "an older state than the last commit"
        assert whole.value["best"] == truth["best"]
    each_is_one_of(world, truth, OLD | STEADY, NEW)


def test_a_closed_index_is_read_without_any_right_to_write(world, commands):
    world.reset("kept")
    lock_up(world.index)
    try:
        status, searched, answered, whole = asked(commands)
        assert (status.code, searched.code) == (0, 0), status.err + searched.err
        assert answered.code in (0, 4) and "4,200" in answered.out
        assert each_is_one_of(world, whole.value, OLD | STEADY) == dict.fromkeys(OLD | STEADY, 0)
    finally:
        world.index.chmod(0o755)


def test_a_reader_while_another_writes_sees_commits_and_no_damage(world, commands):
    """The writer is in the middle of a transaction all the time; its WAL grows."""
    world.reset("kept")
    writer = sqlite3.connect(world.index / "index.sqlite", isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT OR REPLACE INTO meta VALUES ('last_sync', '1')")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT OR REPLACE INTO meta VALUES ('last_sync', '2')")
    world.index.chmod(0o555)
    modes = {path: path.stat().st_mode for path in world.index.iterdir()}
    for path in modes:
        path.chmod(0o444)
    try:
        _, searched, _, whole = asked(commands)
        if searched.code:
            assert searched.failed_plainly()[1]
        else:
            assert each_is_one_of(world, whole.value, OLD | STEADY) == dict.fromkeys(OLD | STEADY, 0)
    finally:
        world.index.chmod(0o755)
        writer.execute("COMMIT")
        writer.close()


@pytest.mark.parametrize("command", [["index"], ["remove", "plan.md"], ["remove", "--index", "default"]], ids=str)
def test_a_change_without_rights_is_refused_and_changes_nothing(world, commands, command):
    world.reset("kept")
    world.write("plan.md", NEW["plan.md"], age=1000)
    lock_up(world.index)
    try:
        before = {path.name: path.read_bytes() for path in world.index.iterdir()}
        done = commands.run(*command, bound=True, folder=str(world.notes))
        _, hint = done.failed_plainly()
        assert hint and not any(word in hint for word in HARM), hint
        assert {path.name: path.read_bytes() for path in world.index.iterdir()} == before
    finally:
        world.index.chmod(0o755)


def test_a_data_folder_without_rights_is_named(world, commands):
    world.reset("unindexed")
    (world.home / "data").mkdir(exist_ok=True)
    (world.home / "data").chmod(0o555)
    try:
        for arguments in (("index", str(world.notes)), ("ask", QUESTIONS[0], "--thread", "lease")):
            _, hint = commands.run(*arguments, bound=True).failed_plainly()
            assert hint
    finally:
        (world.home / "data").chmod(0o755)


def test_notes_that_nobody_may_read_are_kept_and_named(world, commands):
    world.reset("kept")
    (world.notes / "letters").chmod(0o000)
    (world.notes / "plan.md").write_text("changed")
    (world.notes / "plan.md").chmod(0o000)
    try:
        done = commands.run("index", bound=True)
        assert done.code == 0 and "letters" in done.out and "plan.md" in done.out, done.out + done.err
    finally:
        (world.notes / "letters").chmod(0o755)
        (world.notes / "plan.md").chmod(0o644)
    found = commands.steps([{"index": "default", "questions": []}])[0].value
    assert each_is_one_of(world, found, OLD | STEADY) == dict.fromkeys(OLD | STEADY, 0)


def test_a_folder_of_another_user_is_read(world, commands):
    """As a user without any right to it, not as a superuser whose rights are taken."""
    if os.geteuid() != 0:
        pytest.skip("needs root to be somebody else")
    world.reset("kept")
    for path in (world.home / "data").rglob("*"):
        os.chown(path, 12345, 12345)
        path.chmod(0o755 if path.is_dir() else 0o644)
    searched = commands.run("search", QUESTIONS[0], "--json", "--k", "1", bound=True)
    assert searched.code == 0 and "4,200" in searched.out, searched.err
    assert not (world.index / "index.sqlite-wal").exists()
