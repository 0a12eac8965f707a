"""kill -9 inside SQLite: at its writes, of which the last is left half done, at its syncs, and where it deletes.

The moments of `test_kills` are statements. These are the system calls that a statement, a commit, a checkpoint and the
end of a connection make, from a library that is compiled here and preloaded.
"""

from __future__ import annotations

import pytest
from support.faults import spread

from .conftest import NEW, OLD, QUESTIONS, SMALL, STEADY
from .looking import each_is_one_of, look, nothing_is_left_over

ALL = OLD | STEADY


@pytest.fixture(scope="module", autouse=True)
def compiled(system_calls):
    if system_calls is None:
        pytest.skip("needs Linux and a C compiler")


def unindexed(world):
    world.reset("unindexed")


def changed(world):
    world.reset("kept")
    for number, (name, text) in enumerate(NEW.items()):
        world.write(name, text, age=1000 + number)


def indexed(world):
    world.reset("kept")


@pytest.fixture(scope="module")
def killed(world, commands):
    """Runs a command until this (number, of how many) of its system calls."""
    known = {}

    def kill(arguments, prepare, moment):
        number, wanted = moment
        if arguments not in known:
            prepare(world)
            done = commands.run(*arguments, constants=SMALL, system_call=-1)
            assert done.code == 0, done.err
            known[arguments] = done.events.count("system call")
        prepare(world)
        at = spread(known[arguments], wanted)[number]
        done = commands.run(*arguments, constants=SMALL, system_call=at)
        assert done.code in (-9, 0), done.err  # how a WAL is emptied differs by a call or two from run to run

    return kill


def moments(count):
    return pytest.mark.parametrize("moment", [(number, count) for number in range(count)], ids=lambda m: str(m[0]))


@moments(10)
def test_a_new_index(world, commands, killed, moment):
    arguments = ("index", str(world.notes), "--chunk-size", "60")
    killed(arguments, unindexed, moment)
    if (world.index / "index.sqlite").exists():
        each_is_one_of(world, look(commands, []), ALL)
    assert commands.run(*arguments, constants=SMALL).code == 0
    assert each_is_one_of(world, look(commands), ALL) == dict.fromkeys(ALL, 0)
    nothing_is_left_over(world)


@moments(12)
def test_a_changed_file(world, commands, killed, moment):
    killed(("index",), changed, moment)
    assert each_is_one_of(world, look(commands), ALL, NEW).keys() == ALL.keys()
    assert commands.run("index", constants=SMALL).code == 0
    found = look(commands)
    assert each_is_one_of(world, found, NEW | STEADY, OLD) == dict.fromkeys(ALL, 0)
    assert "5,900" in found["best"][f"dense: {QUESTIONS[0]}"]
    nothing_is_left_over(world)


@moments(5)
def test_a_removed_file(world, commands, killed, moment):
    killed(("remove", str(world.notes / "harvest.md")), indexed, moment)
    assert len(each_is_one_of(world, look(commands), ALL)) in (4, 5)


@moments(4)
def test_a_removed_index(world, commands, killed, moment):
    arguments = ("remove", "--index", "default")
    killed(arguments, indexed, moment)
    if (world.index / "index.sqlite").exists():
        each_is_one_of(world, look(commands, []), ALL)
    done = commands.run(*arguments)
    assert not world.index_files(), done.err
    assert commands.run("index", world.notes, "--chunk-size", "60", constants=SMALL).code == 0
    assert each_is_one_of(world, look(commands), ALL) == dict.fromkeys(ALL, 0)
