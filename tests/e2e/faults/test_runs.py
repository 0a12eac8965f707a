"""The record of a question under faults: no question fails for it, and what is there of it can be read or deleted."""

from __future__ import annotations

import sys

import pytest
from support.disks import Disk

from .conftest import QUESTIONS

resource = pytest.importorskip("resource", reason="limits as POSIX has them")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="rights as POSIX has them")

ANSWERED = (0, 3, 4)
NOT_RECORDED = "note: runs are not recorded in"


@pytest.fixture
def runs(world):
    """The folder of the records, none of which is there yet."""
    world.reset("kept")
    return world.home / "data" / "runs"


def asked_before(commands):
    for question in QUESTIONS[:2]:
        assert commands.run("ask", question).code in ANSWERED


def at_size(runs, size):
    """From the moment in which a record is opened no file may grow above a size; the index was read before."""
    calls = [("resource.setrlimit", resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))]
    return {"reads": str(runs), "acts": [("open .*jsonl", 1, calls)]}


@pytest.mark.parametrize("size", [0, 300, 3_000, 6_000, 9_000])
def test_a_question_that_is_killed_while_its_record_is_written_leaves_what_it_did(runs, commands, size):
    asked_before(commands)
    done = commands.run("ask", QUESTIONS[2], **at_size(runs, size), kill=0)
    assert done.code == -9 and done.events[0].startswith("unlink"), "in the middle of a line, before that is undone"
    listed = commands.run("runs", "--json").value
    assert "unfinished" not in [run["status"] for run in listed[-2:]]
    assert [run["status"] for run in listed[:-2]] == (["unfinished"] if size >= 3_000 else [])
    if size >= 3_000:
        shown = commands.run("runs", "show", "last")
        assert shown.code == 0 and "not finished" in shown.out and QUESTIONS[2] in shown.out
        assert commands.run("runs", "replay", "last").code == 4
    assert commands.run("runs", "delete", "--all").code == 0 and list(runs.iterdir()) == []


@pytest.mark.parametrize("size", [0, 300, 3_000, 6_000, 9_000])
def test_a_record_that_may_not_grow_fails_no_question(runs, commands, size):
    asked_before(commands)
    done = commands.run("ask", QUESTIONS[2], **at_size(runs, size))
    assert done.code in ANSWERED and done.out
    assert done.err.count(NOT_RECORDED) == 1 and len(list(runs.iterdir())) == 2, "and nothing is left of it"


@pytest.mark.parametrize("kilobytes", [0, 4, 8])
def test_a_full_disk_fails_no_question_and_the_next_one_is_recorded(world, commands, kilobytes):
    world.reset("kept")
    runs = world.home / "data" / "runs"
    with Disk(runs, 500) as disk:
        disk.fill(but=kilobytes)
        done = commands.run("ask", QUESTIONS[0])
        assert done.code == 0 and "4,200" in done.out and done.err.count(NOT_RECORDED) == 1
        assert commands.run("runs", "--json").value == []
        (runs / "filler").unlink()
        assert NOT_RECORDED not in commands.run("ask", QUESTIONS[0]).err
        assert len(commands.run("runs", "--json").value) == 1


def test_a_folder_without_the_right_to_write_fails_no_question(runs, commands):
    asked_before(commands)
    runs.chmod(0o500)
    try:
        asked, listed, deleted = commands.steps(
            [["ask", QUESTIONS[2]], ["runs", "--json"], ["runs", "delete", "--all"]], bound=True
        )
    finally:
        runs.chmod(0o700)
    assert asked.code in ANSWERED and asked.err.count(NOT_RECORDED) == 1 and len(listed.value) == 2
    assert "runs" in deleted.failed_plainly()[0] and len(list(runs.iterdir())) == 2
