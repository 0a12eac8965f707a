"""No room: nothing that was stored is lost, one line says so, and the same command goes on once there is room."""

from __future__ import annotations

import os
import shutil

import pytest
from support.disks import Disk

from .conftest import NEW, OLD, QUESTIONS, SMALL, STEADY, changed
from .looking import each_is_one_of, failed_plainly_if_at_all, goes_on, look

ALL = OLD | STEADY
NO_ROOM = ("no space left", "free some space")
ANSWERED = (0, 4)


@pytest.fixture
def disk(world):
    """The data folder of the person, on a disk of 4 MB."""
    world.reset("kept")
    data, aside = world.home / "data", world.base / "aside"
    data.rename(aside)
    try:
        with Disk(data, 4_000) as disk:
            shutil.copytree(aside, data, dirs_exist_ok=True)
            yield disk
    finally:
        shutil.rmtree(aside)


@pytest.mark.parametrize("kilobytes", [0, 4, 40, 80, 120, 200])
def test_a_new_index_says_that_there_is_no_room_and_goes_on(world, commands, disk, kilobytes):
    shutil.rmtree(world.index)
    disk.fill(but=kilobytes)
    arguments = ("index", str(world.notes), "--chunk-size", "60")
    failed_plainly_if_at_all(commands.run(*arguments, constants=SMALL), *NO_ROOM)
    if (world.index / "index.sqlite").exists() and os.statvfs(disk.folder).f_bavail > 16:
        each_is_one_of(world, look(commands, []), ALL)
    disk.free()
    goes_on(world, commands, ALL, *arguments)


@pytest.mark.parametrize("kilobytes", [0, 24, 40, 100, 160])
def test_a_changed_file_that_finds_no_room_keeps_its_old_text(world, commands, disk, kilobytes):
    for number, (name, text) in enumerate(NEW.items()):
        world.write(name, text, age=1000 + number)
    disk.fill(but=kilobytes)
    failed_plainly_if_at_all(commands.run("index", constants=SMALL), *NO_ROOM)
    disk.free()
    assert each_is_one_of(world, look(commands), ALL, NEW).keys() == ALL.keys()
    goes_on(world, commands, NEW | STEADY)


def test_a_full_disk_can_be_asked_and_what_is_on_it_removed(world, commands, disk):
    """Reading needs no room, or 32 KB at most: where there is none, a line says so."""
    assert commands.run("ask", QUESTIONS[1], "--thread", "lease").code in ANSWERED
    commands.run("status")
    disk.fill()
    for arguments in (("search", QUESTIONS[0], "--json"), ("status",), ("ask", QUESTIONS[0], "--thread", "lease")):
        done = commands.run(*arguments)
        assert "Traceback" not in done.err
        if done.code not in ANSWERED:
            assert NO_ROOM[1] in " ".join(done.failed_plainly())
        else:
            assert "4,200" in done.out or arguments == ("status",)
    done = commands.run("threads", "export", "lease", "--out", str(disk.folder / "lease.md"))
    assert NO_ROOM[0] in done.err and "Traceback" not in done.err
    remove = ("remove", str(world.notes / "harvest.md"))
    if failed_plainly_if_at_all(commands.run(*remove), *NO_ROOM):
        disk.free()
        assert len(each_is_one_of(world, look(commands), ALL)) == 5
        assert commands.run(*remove).code == 0
        disk.fill()
    done = commands.run("remove", "--index", "default")
    assert done.code == 0 and not world.index.exists(), done.err
    disk.free()
    turns = commands.run("threads", "show", "lease", "--json").value["turns"]
    assert turns[0]["question"] == QUESTIONS[1]


LIMITS = [{"limit": size} for size in (0, 4_096, 40_000, 100_000)] + [{"nofile": count} for count in (8, 12, 16, 24)]


@pytest.mark.parametrize("fault", LIMITS, ids=str)
@pytest.mark.parametrize("is_new", [True, False])
def test_what_meets_a_limit_ends_in_a_line(world, commands, is_new, fault):
    """`ulimit -f`, no file may be larger, and `ulimit -n`, too few open files: they work for everybody."""
    world.reset("unindexed") if is_new else changed(world)
    arguments = ("index", str(world.notes), "--chunk-size", "60")
    failed_plainly_if_at_all(commands.run(*arguments, constants=SMALL, **fault))
    if not is_new:
        assert each_is_one_of(world, look(commands), ALL, NEW).keys() == ALL.keys()
    elif (world.index / "index.sqlite").exists():
        each_is_one_of(world, look(commands, []), ALL)
    goes_on(world, commands, ALL if is_new else NEW | STEADY, *arguments)
