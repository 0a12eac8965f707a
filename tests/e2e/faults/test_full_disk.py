"""Test a full disk: stored data stays, one line reports it, and the same command continues once there is space."""

import os
import shutil
import subprocess
import sys

import pytest
from support.faults import NEW_INDEX, QUESTION

from .conftest import NEW, OLD


@pytest.fixture
def disk(tmp_path):
    """Mount a file system of 4 MB in memory."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root on Linux")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4000k", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def says_that_it_is_full(done):
    told = done.told()
    return not told or ("no space left" in told and "free some space" in told)


COMMANDS = {
    "unindexed": (NEW_INDEX, OLD),
    "changed": (["index"], NEW),
    "indexed": (["remove", "--index", "default"], {}),
}


@pytest.mark.parametrize(
    ("state", "kilobytes"),
    [("unindexed", 40), *(("changed", free) for free in (0, 40, 120)), ("indexed", 0), ("indexed", 40)],
)
def test_a_command_that_finds_no_room_goes_on_once_there_is_some(world, disk, kilobytes, state):
    """Check that reading needs at most 32 KB, and removing a whole index none."""
    world.reset(state)
    words, after = COMMANDS[state]
    data, filler = world.home / "data", disk / "filler"
    data.mkdir(exist_ok=True)
    shutil.move(data, disk)
    data.symlink_to(disk / "data")
    room = os.statvfs(disk)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - kilobytes * 1024)
    for reader in [["search", QUESTION], ["status"], ["ask", QUESTION]] if state == "indexed" else ():
        done = world.run(*reader)
        assert says_that_it_is_full(done) and (done.code == 1) == (kilobytes == 0), done
    done = world.run(*words)
    assert says_that_it_is_full(done) and (done.code == 1) == bool(after), done
    filler.unlink()
    states = world.states(OLD, NEW) if (world.index / "index.sqlite").exists() else {}
    assert state == "unindexed" or states.keys() == after.keys()
    world.goes_on(after or OLD)
