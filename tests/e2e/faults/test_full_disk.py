"""No room: nothing that was stored is lost, one line says so, and the same command goes on once there is room."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from support.faults import NEW_INDEX, QUESTION

from .conftest import ANSWERED, NEW, OLD

NO_ROOM = ("no space left", "free some space")


class Disk:
    """A file system of 4 MB in memory at `folder`."""

    def __init__(self, folder):
        self.filler = folder / "filler"

    def fill(self, but=0):
        """Leave so many kilobytes."""
        room = os.statvfs(self.filler.parent)
        with self.filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - but * 1024)


@pytest.fixture
def disk(world, request):
    """The data folder of the person, in some state of the world, is on a small disk."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root on Linux")
    world.reset(request.param)
    data, aside = world.home / "data", world.base / "aside"
    data.rename(aside) if data.exists() else aside.mkdir()
    data.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4000k,mode=700", "tmpfs", str(data)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    shutil.copytree(aside, data, dirs_exist_ok=True)
    yield Disk(data)
    subprocess.run(["umount", "-l", str(data)], check=True)
    shutil.rmtree(aside)


def must_be_whole(world, state):
    """Each stored file is whole, and none is lost that was stored before."""
    states = world.states(OLD, NEW) if (world.index / "index.sqlite").exists() else {}
    assert state == "unindexed" or states.keys() == OLD.keys()


COMMANDS = {"unindexed": (NEW_INDEX, OLD), "changed": (["index"], NEW)}
ROOMS = [("unindexed", 0), ("unindexed", 40), ("unindexed", 120), ("changed", 0), ("changed", 40), ("changed", 160)]


@pytest.mark.parametrize(("disk", "kilobytes"), ROOMS, indirect=["disk"])
def test_a_command_that_finds_no_room_goes_on_once_there_is_some(world, disk, kilobytes, request):
    state = request.node.callspec.params["disk"]
    words, wanted = COMMANDS[state]
    disk.fill(but=kilobytes)
    assert world.run(*words).failed_plainly_if_at_all(*NO_ROOM) or kilobytes > 100
    disk.filler.unlink()
    must_be_whole(world, state)
    world.goes_on(wanted, *words)


@pytest.mark.parametrize("state", COMMANDS)
@pytest.mark.parametrize("limit", [4_096, 40_000, 100_000])
def test_a_file_that_may_not_grow_ends_the_command_in_a_line(world, state, limit):
    """`ulimit -f`, which anybody can set."""
    world.reset(state)
    words, wanted = COMMANDS[state]
    world.run(*words, limit=limit).failed_plainly_if_at_all()
    must_be_whole(world, state)
    world.goes_on(wanted, *words)


@pytest.mark.parametrize("disk", ["indexed"], indirect=True)
def test_a_full_disk_can_be_asked_and_what_is_on_it_removed(world, disk):
    """Reading needs no room, or 32 KB at most: where there is none, a line says so."""
    disk.fill()
    for words in (("search", QUESTION, "--json"), ("status",), ("ask", QUESTION)):
        done = world.run(*words)
        assert done.code in ANSWERED or NO_ROOM[1] in " ".join(done.failed_plainly()), done
        assert done.code not in ANSWERED or words == ("status",) or "4,200" in done.out
    remove = ("remove", "NOTES/harvest.md")
    if world.run(*remove).failed_plainly_if_at_all(*NO_ROOM):
        disk.filler.unlink()
        must_be_whole(world, "indexed")
        assert world.run(*remove).code == 0
        disk.fill()
    done = world.run("remove", "--index", "default")
    assert done.code == 0 and not world.index.exists(), done
