"""An index in a folder that cannot be written: the last commit answers, or a line says why not; no hint harms."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest
from support.faults import QUESTION

from .conftest import ANSWERED, NEW, OLD

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rights of Linux")

HARM = ("remove --index", "rm ", "delete", "damaged")
READERS = [["status"], ["search", QUESTION, "--json"], ["ask", QUESTION]]


@contextmanager
def locked_up(folder):
    """Nothing in this folder can be written meanwhile."""
    modes = {path: path.stat().st_mode for path in (folder, *folder.iterdir())}
    for path in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield
    for path, mode in modes.items():
        path.chmod(mode)


KILLS = [("sql INSERT INTO chunks", 3), ("sql COMMIT", 2), ("sql PRAGMA wal_checkpoint", 1), ("os.remove .*faiss", 1)]


@pytest.mark.parametrize(("at", "number"), [("", 0), *KILLS])
def test_a_reader_sees_the_last_commit_or_is_told_why_not(world, at, number):
    """After a kill what is committed lies beside the database, where a reader without rights may not find it."""
    if at:
        world.reset("changed")
        world.kill("index", at=at, number=number)
    with locked_up(world.index):
        status, searched, answered = (world.run(*words, bound=True) for words in READERS)
    told = status.err + searched.err + answered.err
    assert not any(word in told for word in HARM)
    price = ("4,200", "5,900")[world.states(OLD, NEW)["plan.md"]]
    if searched.failed_plainly_if_at_all():
        assert answered.code == 1 and at
    else:
        assert price in searched.value[0]["text"] and answered.code in ANSWERED and price in answered.out


@pytest.mark.parametrize("words", [["index"], ["remove", "plan.md"], ["remove", "--index", "default"]], ids=str)
def test_a_change_without_rights_is_refused_and_changes_nothing(world, words):
    world.reset("changed")
    before = {path.name: path.read_bytes() for path in world.index.iterdir()}
    with locked_up(world.index):
        _, hint = world.run(*words, bound=True, folder=str(world.notes)).failed_plainly()
    assert not any(word in hint for word in HARM), hint
    assert {path.name: path.read_bytes() for path in world.index.iterdir()} == before


def test_notes_that_nobody_may_read_are_kept_and_named(world):
    world.write("plan.md", "changed", age=1).chmod(0o000)
    (world.notes / "letters").chmod(0o000)
    done = world.run("index", bound=True)
    (world.notes / "letters").chmod(0o755)
    assert done.code == 0 and "letters" in done.out and "plan.md" in done.out, done
    assert world.holds(OLD)
