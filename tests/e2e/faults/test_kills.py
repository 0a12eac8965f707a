"""kill -9 at any moment: what was stored is whole, every file is the old one or the new, and the same command goes on.

A moment is an event of `fault_process.watch`: a statement that changes a database, or a call that changes a folder. The
command dies just before it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from support.faults import NEW_INDEX, QUESTION

from .conftest import ANSWERED, NEW, OLD

LEFT = {name: text for name, text in OLD.items() if name not in ("harvest.md", "bees.md")}
REMOVE = ["remove", "NOTES/harvest.md", "NOTES/bees.md"]
DESTROY = ["remove", "--index", "default"]


def lose_vectors(world):
    with closing(sqlite3.connect(world.index / "index.sqlite")) as db, db:
        db.execute("DELETE FROM vectors")


def delete(world):
    for name in OLD.keys() - LEFT.keys():
        (world.notes / name).unlink()


COMMANDS = {
    "a new index": ("unindexed", None, NEW_INDEX, OLD),
    "changed files": ("changed", None, ["index"], NEW),
    "deleted files": ("indexed", delete, ["index"], LEFT),
    "removed files": ("indexed", None, REMOVE, LEFT),
    "new vectors": ("indexed", lose_vectors, ["index", "--reembed"], OLD),
    "a removed index": ("indexed", None, DESTROY, {}),
}
"""Before, what is done then, the command, and what the index holds after it."""

MOMENTS = [
    ("a new index", "sql CREATE TABLE chunks", 1),
    ("a new index", "os.rename .*index.sqlite", 1),
    ("a new index", "sql INSERT INTO chunks", 5),
    ("a new index", "sql COMMIT", 3),
    ("a new index", "sql INSERT .* vectors VALUES", 6),
    ("a new index", "open .*vectors.faiss", 2),
    ("a new index", "sql INSERT .*'vectors'", 1),
    ("changed files", "sql DELETE FROM files", 1),
    ("changed files", "sql COMMIT", 1),
    ("changed files", "sql COMMIT", 2),
    ("changed files", "sql INSERT INTO full_text .*'merge'", 1),
    ("changed files", "sql PRAGMA wal_checkpoint", 1),
    ("changed files", "os.remove .*vectors.faiss", 1),
    ("deleted files", "sql DELETE FROM meta WHERE name = 'forget'", 1),
    ("removed files", "sql COMMIT", 1),
    ("removed files", "open .*vectors.faiss", 3),
    ("removed files", "sql PRAGMA wal_checkpoint", 1),
    ("new vectors", "sql DELETE FROM vectors", 1),
    ("new vectors", "sql COMMIT", 3),
    ("a removed index", "os.remove .*vectors.faiss", 1),
    ("a removed index", "os.remove .*index.sqlite$", 1),
    ("a removed index", "os.remove .*writer.lock$", 1),
]


@pytest.mark.parametrize(("name", "at", "number"), MOMENTS)
def test_what_was_stored_is_whole_and_the_same_command_goes_on(world, name, at, number):
    state, prepare, words, after = COMMANDS[name]
    world.reset(state)
    if prepare:
        prepare(world)
    world.kill(*words, at=at, number=number)
    if (world.index / "index.sqlite").exists() and name != "new vectors":
        states = world.states(OLD, NEW)
        assert state == "unindexed" or states.keys() >= after.keys(), "a file is lost"
        assert "plan.md" not in states or ("4,200", "5,900")[states["plan.md"]] in world.answers()
    elif name == "a new index":
        assert "local-rag index" in world.run("status").failed_plainly()[1]
    if words[0] == "remove":
        done = world.run(*words)
        assert done.code == 0 or "is not in the index" in done.err or "there is no index" in done.err, done.err
        assert words is REMOVE or not world.index.exists()
        delete(world) if words is REMOVE else None
        words, after = (["index"], LEFT) if words is REMOVE else (NEW_INDEX, OLD)
    world.goes_on(after, *words)
    assert ("5,900" if after is NEW else "4,200") in world.answers()


def test_a_command_killed_at_every_run_gets_there(world):
    """Each run stores something before it is killed, however often that happens."""
    world.reset("unindexed")
    stored = [0]
    act = ["sql COMMIT", 6, [["signal.raise_signal", 9]]]
    while (done := world.run(*NEW_INDEX, acts=[act])).code == -9 and len(stored) < 12:
        status = world.run("status", "--json").value
        stored.append(status["chunks"] + status["embedded"])
    assert done.code == 0 and len(stored) > 2 and stored == sorted(stored), (done, stored)
    world.goes_on(OLD, *NEW_INDEX)


def test_a_removal_leaves_the_files_of_others(world):
    (world.index / "index.sqlite.backup-2025").write_text("mine")
    assert world.run(*DESTROY).code == 0
    assert [file.name for file in world.index.iterdir()] == ["index.sqlite.backup-2025"]


def test_a_chat_keeps_what_was_said(world):
    first, second = ("ask", "When does the ferry leave?", "--thread", "lease"), ("ask", QUESTION, "--thread", "lease")
    assert world.run(*first).code in ANSWERED
    world.kill(*second, at="sql COMMIT")
    assert world.run(*second).code in ANSWERED
    turns = world.run("threads", "show", "lease", "--json").value["turns"]
    assert turns[0]["question"] == first[1] and "quarter past seven" in turns[0]["answer"]
    assert "4,200" in turns[-1]["answer"] and all(turn["answer"] for turn in turns)
