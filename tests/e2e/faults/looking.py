"""What a person finds after a fault."""

from __future__ import annotations

import re

from .conftest import QUESTIONS, texts_of

LEFT = re.compile(r"index\.sqlite(-wal|-shm)?|writer\.lock|priority\.ids|vectors\.cache\.[0-9a-f]+")
"""The files of a whole index."""


def look(commands, questions=QUESTIONS, index="default"):
    """What a person who comes back finds: the status, and all of the index."""
    status, found = commands.steps([["status", "--index", index], {"index": index, "questions": questions}])
    assert status.code == 0, status.err
    assert "damaged" not in status.out + status.err
    assert found.code == 0, found.err
    return found.value


def each_is_one_of(world, found, *choices):
    """Every stored file is one of these states as a whole; gives the number of the first that it is."""
    states = {}
    for path, texts in found["texts"].items():
        name = path.removeprefix(f"{world.notes}/")
        said = [choice[name] for choice in choices if name in choice]
        stored = texts_of(" ".join(texts))
        matching = [number for number, text in enumerate(said) if texts_of(text) == stored]
        assert matching, f"{name} is a mix: {stored}"
        states[name] = matching[0]
    return states


def nothing_is_left_over(world):
    files = world.index_files()
    assert all(LEFT.fullmatch(name) for name in files), files
    assert sum(name.startswith("vectors") for name in files) <= 1, files
