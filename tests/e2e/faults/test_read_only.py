"""An index in a folder that cannot be written: the last commit answers, or a line says why not; no hint harms."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest
from support.faults import DIES, QUESTION

from .conftest import NEW, OLD

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rights of Linux")

HARM = ("remove --index", "rm ", "delete", "damaged")


@contextmanager
def locked_up(folder):
    """Nothing in this folder can be written meanwhile."""
    paths = [folder, *folder.iterdir()]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    yield
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)


KILLS = [("sql INSERT INTO chunks", 3), ("sql COMMIT", 2), ("sql PRAGMA wal_checkpoint", 1), ("os.remove .*faiss", 1)]


@pytest.mark.parametrize(("event", "number"), [("", 0), *KILLS])
def test_a_reader_sees_the_last_commit_or_is_told_why_not(world, event, number):
    """After a kill what is committed lies beside the database, where a reader without rights may not find it."""
    if event:
        world.reset("changed")
        assert world.run("index", at=[event, number, DIES]).code == -9, "no such moment"
    with locked_up(world.index):
        searched, asked = (world.run(command, QUESTION, bound=True) for command in ("search", "ask"))
    price = ("4,200", "5,900")[world.states(OLD, NEW)["plan.md"]]
    assert not any(word in searched.err + asked.err for word in HARM)
    assert (event and searched.told() and asked.told()) or (price in searched.out and price in asked.out)


@pytest.mark.parametrize("words", [["index"], ["remove", "plan.md"], ["remove", "--index", "default"]], ids=str)
def test_a_change_without_rights_is_refused_and_changes_nothing(world, words):
    world.reset("changed")
    before = {path.name: path.read_bytes() for path in world.index.iterdir()}
    with locked_up(world.index):
        told = world.run(*words, bound=True, folder=str(world.notes)).told()
    assert told and not any(word in told for word in HARM), told
    assert {path.name: path.read_bytes() for path in world.index.iterdir()} == before
