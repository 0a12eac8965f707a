"""Test an index in a read-only folder: the last commit answers, or a line says why not, and no hint does harm."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rights of Linux")

HARM = ("remove --index", "rm ", "delete", "damaged")


@contextmanager
def locked_up(folder):
    """Make everything in this folder read-only in the meantime."""
    paths = [folder, *folder.iterdir()]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    yield
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)


@pytest.mark.parametrize("words", [["index"], ["remove", "plan.md"], ["remove", "--index", "default"]], ids=str)
def test_a_change_without_rights_is_refused_and_changes_nothing(world, words):
    world.reset("changed")
    before = {path.name: path.read_bytes() for path in world.index.iterdir()}
    with locked_up(world.index):
        told = world.run(*words, bound=True, folder=str(world.notes)).told()
    assert told and not any(word in told for word in HARM), told
    assert {path.name: path.read_bytes() for path in world.index.iterdir()} == before
