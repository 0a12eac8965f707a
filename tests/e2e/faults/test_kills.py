"""kill -9 at any moment: what was stored is whole, every file is the old one or the new, and the same command goes on.

A moment is an event of `fault_process.Events` (a statement that changes a database, a system call that changes a
folder), or a system call inside of SQLite, of which a write is left half done. The run without a kill counts them; the
moments of a command are spread evenly over all of them.
"""

from __future__ import annotations

import pytest
from support.faults import spread

from .conftest import NEW, OLD, QUESTIONS, SMALL, STEADY, changed
from .looking import each_is_one_of, goes_on, look

ALL, CHANGED = OLD | STEADY, NEW | STEADY
LEFT = {name: text for name, text in ALL.items() if name not in ("harvest.md", "bees.md")}
"""Without the files that are removed."""

ANSWERED = (0, 4)
"""Exit codes of an answer, with reservations or without."""


def unindexed(world):
    world.reset("unindexed")


def indexed(world):
    world.reset("kept")


def deleted(world):
    world.reset("kept")
    delete(world)


def delete(world):
    for name in ALL.keys() - LEFT.keys():
        (world.notes / name).unlink()


NEW_INDEX = ["index", "NOTES", "--chunk-size", "60"]
REMOVE_ALL = ["remove", "--index", "default"]
COMMANDS = {
    "a new index": (unindexed, NEW_INDEX, ALL, 5, 4),
    "changed files": (changed, ["index"], CHANGED, 5, 4),
    "deleted files": (deleted, ["index"], LEFT, 2, 2),
    "removed files": (indexed, ["remove", "NOTES/harvest.md", "NOTES/bees.md"], LEFT, 3, 2),
    "a removed index": (indexed, REMOVE_ALL, {}, 3, 2),
}
"""Before, the command, what the index holds after it, and how many moments it is killed at, of each kind."""

KILLS = [
    pytest.param(name, kind, (number, count), id=f"{name} {kind} {number}")
    for name, (*_, events, calls) in COMMANDS.items()
    for kind, count in (("kill", events), ("system_call", calls))
    for number in range(count)
]


@pytest.fixture(scope="module")
def killed(commands, system_calls):
    """Runs a command until this (number, of how many) of its moments."""
    known = {}

    def kill(world, before, arguments, kind, moment):
        if kind == "system_call" and system_calls is None:
            pytest.skip("needs Linux and a C compiler")
        if (before, *arguments, kind) not in known:
            before(world)
            done = commands.run(*arguments, constants=SMALL, **{"system_call": -1} if kind == "system_call" else {})
            assert done.code in ANSWERED, done.err
            events = [event for event in done.events if (event == "system call") is (kind == "system_call")]
            known[before, *arguments, kind] = len(events)
        number, wanted = moment
        before(world)
        at = spread(known[before, *arguments, kind], wanted)[number]
        done = commands.run(*arguments, constants=SMALL, **{kind: at})
        # how a WAL is emptied differs by a system call or two from run to run
        assert done.code == -9 or (kind == "system_call" and done.code == 0), (done.code, done.err)

    return kill


@pytest.mark.parametrize(("name", "kind", "moment"), KILLS)
def test_what_was_stored_is_whole_and_the_same_command_goes_on(world, commands, killed, name, kind, moment):
    before, words, after, *_ = COMMANDS[name]
    arguments = [word.replace("NOTES", str(world.notes)) for word in words]
    killed(world, before, arguments, kind, moment)
    if (world.index / "index.sqlite").exists():
        states = each_is_one_of(world, look(commands, []), ALL, NEW)
        assert before is unindexed or states.keys() >= after.keys(), "a file is lost"
    elif before is unindexed:
        assert "local-rag index" in commands.run("status").failed_plainly()[1]
    if words[0] == "remove":
        done = commands.run(*arguments)
        assert done.code == 0 or "is not in the index" in done.err or "there is no index" in done.err, done.err
        if words is REMOVE_ALL:
            assert not world.index_files()
            arguments, after = ["index", str(world.notes), "--chunk-size", "60"], ALL
        else:
            assert each_is_one_of(world, look(commands, []), ALL).keys() == after.keys()
            delete(world)
            arguments = ["index"]
    best = goes_on(world, commands, after, *arguments)["best"]
    price = "5,900" if after is CHANGED else "4,200"
    assert all(price in best[f"{mode}: {QUESTIONS[0]}"] for mode in ("dense", "words"))


def test_a_removal_leaves_the_files_of_others(world, commands):
    indexed(world)
    (world.index / "index.sqlite.backup-2025").write_text("mine")
    commands.run(*REMOVE_ALL)
    assert world.index_files() == ["index.sqlite.backup-2025"]


@pytest.mark.parametrize("number", range(4))
def test_a_chat_keeps_what_was_said_and_has_the_next_turn_whole(world, commands, killed, number):
    def with_a_chat(world):
        world.reset("kept")
        assert commands.run("ask", QUESTIONS[1], "--thread", "lease").code in ANSWERED

    def turns():
        return commands.run("threads", "show", "lease", "--json").value["turns"]

    arguments = ("ask", QUESTIONS[0], "--thread", "lease")
    killed(world, with_a_chat, arguments, "kill", (number, 4))
    said = turns()
    assert [turn["question"] for turn in said] in ([QUESTIONS[1]], [QUESTIONS[1], QUESTIONS[0]])
    assert "quarter past seven" in said[0]["answer"] and all(turn["answer"] for turn in said)
    assert commands.run(*arguments).code in ANSWERED
    assert "4,200" in turns()[-1]["answer"] and len(turns()) <= 3


def test_a_command_killed_at_every_run_gets_there(empty_world, commands):
    """Each run stores something before it is killed, however often that happens."""
    unindexed(empty_world)
    arguments = ("index", str(empty_world.notes), "--chunk-size", "60")
    stored = [0]
    for _ in range(20):
        done = commands.run(*arguments, constants=SMALL, kill=110)
        if done.code == 0:
            break
        stored.append(look(commands, [])["count"])
    assert done.code == 0 and stored == sorted(stored), stored
    goes_on(empty_world, commands, ALL, *arguments)
