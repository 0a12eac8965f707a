"""An index in a folder that cannot be written: the last commit answers, or a line says why not; no hint harms."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

import pytest

from .conftest import NEW, OLD, QUESTIONS, SMALL, STEADY, changed
from .looking import each_is_one_of, failed_plainly_if_at_all

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rights of Linux")

ALL = OLD | STEADY
HARM = ("remove --index", "rm ", "delete")
WHOLE = {"index": "default", "questions": QUESTIONS}


@contextmanager
def locked_up(folder):
    """Nothing in this folder can be written meanwhile."""
    modes = {path: path.stat().st_mode for path in (folder, *folder.iterdir())}
    for path in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        yield
    finally:
        for path, mode in modes.items():
            if path.exists():
                path.chmod(mode)


def asked(commands):
    """What a reader without rights is told: the passages, or the line."""
    steps = [["status"], ["search", QUESTIONS[0], "--json", "--k", "2"], ["ask", QUESTIONS[0]], WHOLE]
    *told, whole = commands.steps(steps, bound=True)
    for done in told:
        assert not any(word in done.err for word in (*HARM, "Traceback", "damaged")), done.err
    return *told, whole


@pytest.mark.parametrize("share", [0.05, 0.4, 0.75, 1])
def test_a_reader_after_a_kill_never_sees_what_was_superseded(world, commands, share):
    changed(world)
    count = len(commands.run("index", constants=SMALL).events)
    changed(world)
    assert commands.run("index", constants=SMALL, kill=int(share * (count - 1))).code == -9
    with locked_up(world.index):
        _, searched, answered, whole = asked(commands)
    truth = commands.steps([WHOLE])[0].value
    if failed_plainly_if_at_all(searched):
        assert answered.code == 1
    else:
        assert whole.value == truth, "an older state than the last commit"
    each_is_one_of(world, truth, ALL, NEW)


def test_a_closed_index_is_read_without_any_right_to_write(world, commands):
    world.reset("kept")
    with locked_up(world.index):
        status, searched, answered, whole = asked(commands)
    assert (status.code, searched.code) == (0, 0), status.err + searched.err
    assert answered.code in (0, 4) and "4,200" in answered.out
    assert each_is_one_of(world, whole.value, ALL) == dict.fromkeys(ALL, 0)


@pytest.mark.parametrize("command", [["index"], ["remove", "plan.md"], ["remove", "--index", "default"]], ids=str)
def test_a_change_without_rights_is_refused_and_changes_nothing(world, commands, command):
    changed(world)
    before = {path.name: path.read_bytes() for path in world.index.iterdir()}
    with locked_up(world.index):
        _, hint = commands.run(*command, bound=True, folder=str(world.notes)).failed_plainly()
        assert hint and not any(word in hint for word in HARM), hint
        assert {path.name: path.read_bytes() for path in world.index.iterdir()} == before


def test_notes_that_nobody_may_read_are_kept_and_named(world, commands):
    world.reset("kept")
    world.write("plan.md", "changed", age=1).chmod(0o000)
    (world.notes / "letters").chmod(0o000)
    done = commands.run("index", bound=True)
    assert done.code == 0 and "letters" in done.out and "plan.md" in done.out, done.out + done.err
    (world.notes / "letters").chmod(0o755)
    assert each_is_one_of(world, commands.steps([WHOLE])[0].value, ALL) == dict.fromkeys(ALL, 0)


def test_a_folder_of_another_user_is_read(world, commands):
    """As a user without any right to it, not as a superuser whose rights are taken."""
    if os.geteuid() != 0:
        pytest.skip("needs root to be somebody else")
    world.reset("kept")
    for path in (world.home / "data").rglob("*"):
        os.chown(path, 12345, 12345)
        path.chmod(0o755 if path.is_dir() else 0o644)
    searched = commands.run("search", QUESTIONS[0], "--json", "--k", "1", bound=True)
    assert searched.code == 0 and "4,200" in searched.out, searched.err
    assert not (world.index / "index.sqlite-wal").exists()
