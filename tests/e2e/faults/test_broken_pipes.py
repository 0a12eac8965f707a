"""Test commands whose output nobody reads: they are silent, with the exit code of a broken pipe."""

import shlex

import pytest

BROKEN_PIPE = 141
QUESTION = "ask 'What does the greenhouse cost?'"
COMMANDS = ["--help", "index", QUESTION, "search greenhouse --json", "doctor", "graph crag"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_that_nobody_reads_ends_every_command_silently(world, command):
    done = world.run(*shlex.split(command), broken=[1])
    assert (done.code, "rror" in done.err) == (BROKEN_PIPE, False), done.err


def test_errors_that_nobody_reads_are_a_broken_pipe_too(world):
    assert world.run("no-such-command", broken=[1]).code == 2, "it writes to stderr only"
    assert world.run("no-such-command", broken=[1, 2]).code == BROKEN_PIPE
