"""Test kill -9 at any moment: every file is the old or the new one, and the same command continues.

A moment is the first event of its kind for `fault_process.watch`: a statement that changes a database, or a call that
changes a folder. The command dies just before it.
"""

import pytest
from support.faults import DIES, NEW_INDEX, QUESTION

from .conftest import NEW, OLD

GONE = ("harvest.md", "bees.md")
LEFT = {name: text for name, text in OLD.items() if name not in GONE}
COMMANDS = {
    "a new index": ("unindexed", NEW_INDEX, OLD),
    "changed files": ("changed", ["index"], NEW),
    "removed files": ("indexed", ["remove", *(f"NOTES/{name}" for name in GONE)], LEFT),
    "new vectors": ("indexed", ["index", "--reembed"], OLD),
}
"""The state before, the command, and the contents of the index once the notes are indexed again."""

MOMENTS = {
    "a new index": [
        "sql CREATE TABLE chunks",
        "os.rename .*index.sqlite",
        "sql INSERT INTO chunks",
        "sql INSERT .* vectors VALUES",
        "open .*vectors.faiss",
        "sql INSERT .*'vectors'",
    ],
    "changed files": [
        "sql DELETE FROM files",
        "sql COMMIT",
        "sql INSERT INTO full_text .*'optimize'",
        "sql PRAGMA wal_checkpoint",
        "os.remove .*vectors.faiss",
    ],
    "removed files": ["sql COMMIT", "sql DELETE FROM meta WHERE name = 'forget'"],
    "new vectors": ["sql INSERT INTO full_text .*'delete-all'", "sql COMMIT"],
}
CASES = [(name, moment) for name, moments in MOMENTS.items() for moment in moments]


@pytest.mark.parametrize(("name", "event"), CASES)
def test_what_was_stored_is_whole_and_the_same_command_goes_on(world, name, event):
    state, words, after = COMMANDS[name]
    world.reset(state)
    for file in GONE if after is LEFT else ():
        (world.notes / file).unlink()
    assert world.run(*words, at=[event, 1, DIES]).code == -9, "no such moment"
    if (world.index / "index.sqlite").exists():
        states = world.states(OLD, NEW)
        assert state == "unindexed" or states.keys() >= after.keys(), "a file is lost"
        assert "plan.md" not in states or ("4,200", "5,900")[states["plan.md"]] in world.answer()
    told = world.run(*words).told()
    assert not told or "is not in the index" in told
    world.goes_on(after)
    assert ("5,900" if after is NEW else "4,200") in world.answer()


def test_a_command_killed_at_every_run_gets_there(world):
    """Check that what runs have stored before they were killed stays, each at a later commit than the one before."""
    world.reset("unindexed")
    stored, number = [0], 4
    while world.run(*NEW_INDEX, at=["sql COMMIT", number, DIES]).code == -9:
        status = world.run("status", "--json").value
        stored.append(status["chunks"] + status["embedded"])
        number += 2
    assert len(stored) > 2 and stored == sorted(stored)
    world.goes_on(OLD)


def test_a_chat_keeps_what_was_said(world):
    first, second = "When does the ferry leave?", ["ask", QUESTION, "--thread", "lease"]
    assert not world.run("ask", first, "--thread", "lease").told()
    assert world.run(*second, at=["sql COMMIT", 1, DIES]).code == -9
    assert not world.run(*second).told()
    turns = world.run("threads", "show", "lease", "--json").value["turns"]
    answers = [turn["answer"] for turn in turns]
    assert answers[0]["question"] == first and "quarter past seven" in answers[0]["text"]
    assert "4,200" in answers[-1]["text"] and all(answer["text"] for answer in answers)
