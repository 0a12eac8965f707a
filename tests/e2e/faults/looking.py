"""What a person finds after a fault."""

from __future__ import annotations

import re

from .conftest import QUESTIONS, SMALL, texts_of

LEFT = re.compile(r"index\.sqlite(-wal|-shm)?|writer\.lock|vectors\.faiss\.[0-9a-f]+")
"""The files of a whole index."""


def look(commands, questions=QUESTIONS, index="default"):
    """What a person who comes back finds: the status, and all of the index."""
    steps = [["status", "--index", index], {"index": index, "questions": questions}]
    status, found = commands.steps(steps, constants=SMALL)
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


def goes_on(world, commands, wanted, *arguments):
    """The same command goes on: afterwards the index is as wanted, with nothing beside it. Gives what is found."""
    done = commands.run(*(arguments or ["index"]), constants=SMALL)
    assert done.code == 0, done.err
    found = look(commands)
    assert each_is_one_of(world, found, wanted) == dict.fromkeys(wanted, 0)
    files = world.index_files()
    assert all(map(LEFT.fullmatch, files)) and sum(name.startswith("vectors") for name in files) <= 1, files
    return found


def failed_plainly_if_at_all(done, *said):
    """Whether a command failed, which it says in a line with a hint; `said` is in these."""
    if done.code:
        line, hint = done.failed_plainly()
        assert hint and all(words in line + hint for words in said), (line, hint)
    return bool(done.code)
