"""No room: nothing that was stored is lost, one line says so, and the same command goes on once there is room."""

from __future__ import annotations

import os
import shutil

import pytest
from support.disks import Disk

from .conftest import NEW, OLD, QUESTIONS, SMALL, STEADY
from .looking import each_is_one_of, look

NO_ROOM = "no space left"


@pytest.fixture
def disk(world, request):
    """The data folder of the person, on a disk of so many kilobytes."""
    world.reset("kept")
    data, aside = world.home / "data", world.base / "aside"
    data.rename(aside)
    try:
        with Disk(data, getattr(request, "param", 4_000)) as disk:
            shutil.copytree(aside, data, dirs_exist_ok=True)
            yield disk
    finally:
        shutil.rmtree(aside)


@pytest.mark.parametrize("kilobytes", [0, 4, 16, 40, 80, 120, 160, 200, 260])
def test_a_new_index_says_that_there_is_no_room_and_goes_on(world, commands, disk, kilobytes):
    shutil.rmtree(world.index)
    disk.fill(but=kilobytes)
    arguments = ("index", str(world.notes), "--chunk-size", "60")
    done = commands.run(*arguments, constants=SMALL)
    if done.code:
        line, hint = done.failed_plainly()
        assert NO_ROOM in line and "free some space" in hint
    if (world.index / "index.sqlite").exists() and os.statvfs(disk.folder).f_bavail > 16:
        each_is_one_of(world, look(commands, []), OLD | STEADY)
    disk.free()
    done = commands.run(*arguments, constants=SMALL)
    assert done.code == 0, done.err
    assert each_is_one_of(world, look(commands), OLD | STEADY) == dict.fromkeys([*OLD, *STEADY], 0)


@pytest.mark.parametrize("kilobytes", [0, 8, 24, 32, 40, 60, 100, 160])
def test_a_changed_file_that_finds_no_room_keeps_its_old_text(world, commands, disk, kilobytes):
    for number, (name, text) in enumerate(NEW.items()):
        world.write(name, text, age=1000 + number)
    disk.fill(but=kilobytes)
    done = commands.run("index", constants=SMALL)
    if done.code:
        line, hint = done.failed_plainly()
        assert NO_ROOM in line and "free some space" in hint
    disk.free()
    states = each_is_one_of(world, look(commands), OLD | STEADY, NEW)
    assert states.keys() == {*OLD, *STEADY}
    assert commands.run("index", constants=SMALL).code == 0
    assert each_is_one_of(world, look(commands), NEW | STEADY, OLD) == dict.fromkeys([*OLD, *STEADY], 0)


def test_a_full_disk_can_be_asked(world, commands, disk):
    """Reading needs no room, or 32 KB at most: where there is none, a line says so."""
    commands.run("status")
    disk.fill()
    for arguments in (("search", QUESTIONS[0], "--json"), ("status",), ("ask", QUESTIONS[0])):
        done = commands.run(*arguments)
        if done.code == 1:
            line, hint = done.failed_plainly()
            assert NO_ROOM in line and "free some space" in hint
        else:
            assert "4,200" in done.out or arguments == ("status",)
    disk.free()
    assert "4,200" in commands.run("search", QUESTIONS[0], "--json").out


def test_a_file_that_cannot_be_removed_for_want_of_room_is_removed_later(world, commands, disk):
    disk.fill()
    arguments = ("remove", str(world.notes / "harvest.md"))
    done = commands.run(*arguments)
    if done.code:
        line, hint = done.failed_plainly()
        assert NO_ROOM in line and "free some space" in hint
        disk.free()
        assert len(each_is_one_of(world, look(commands), OLD | STEADY)) == 5
        assert commands.run(*arguments).code == 0
    assert len(each_is_one_of(world, look(commands), OLD | STEADY)) == 4


def test_an_index_on_a_full_disk_can_be_removed(world, commands, disk):
    disk.fill()
    done = commands.run("remove", "--index", "default")
    assert done.code == 0, done.err
    assert not world.index.exists()


def test_an_answer_is_shown_where_its_chat_finds_no_room(world, commands, disk):
    first = commands.run("ask", QUESTIONS[1], "--thread", "lease")
    assert "quarter past seven" in first.out
    disk.fill()
    done = commands.run("ask", QUESTIONS[0], "--thread", "lease")
    assert "Traceback" not in done.err
    if done.code not in (0, 4):
        _, hint = done.failed_plainly()
        assert "free some space" in hint
    disk.free()
    turns = commands.run("threads", "show", "lease", "--json").value["turns"]
    assert turns[0]["question"] == QUESTIONS[1]
    assert commands.run("ask", QUESTIONS[0], "--thread", "lease").code in (0, 4)
    assert len(commands.run("threads", "show", "lease", "--json").value["turns"]) == 2


def test_what_is_exported_to_a_full_disk_says_so(world, commands, disk):
    assert commands.run("ask", QUESTIONS[1], "--thread", "lease").code in (0, 4)
    disk.fill()
    for arguments in (
        ("threads", "export", "lease", "--out", str(disk.folder / "lease.md")),
        ("ask", QUESTIONS[0], "--trace-file", str(disk.folder / "trace.jsonl")),
    ):
        done = commands.run(*arguments)
        assert done.code != 0 or NO_ROOM in done.err
        assert "Traceback" not in done.err
        assert NO_ROOM in done.err, done.err


@pytest.mark.parametrize("size", [0, 1_000, 4_096, 8_192, 20_000, 40_000, 70_000, 100_000])
def test_files_that_may_not_grow_end_in_a_line(world, commands, size):
    """`ulimit -f`: no file may be larger. It works for everybody and everywhere."""
    world.reset("unindexed")
    arguments = ("index", str(world.notes), "--chunk-size", "60")
    done = commands.run(*arguments, constants=SMALL, limit=size)
    if done.code:
        assert done.failed_plainly()[1]
    if (world.index / "index.sqlite").exists():
        each_is_one_of(world, look(commands, []), OLD | STEADY)
    done = commands.run(*arguments, constants=SMALL)
    assert done.code == 0, done.err
    assert each_is_one_of(world, look(commands), OLD | STEADY) == dict.fromkeys([*OLD, *STEADY], 0)


@pytest.mark.parametrize("size", [1_000, 20_000, 40_000, 100_000])
def test_a_change_that_may_not_grow_a_file_ends_in_a_line(world, commands, size):
    world.reset("kept")
    for number, (name, text) in enumerate(NEW.items()):
        world.write(name, text, age=1000 + number)
    done = commands.run("index", constants=SMALL, limit=size)
    if done.code:
        assert done.failed_plainly()[1]
    assert each_is_one_of(world, look(commands), OLD | STEADY, NEW).keys() == {*OLD, *STEADY}
    assert commands.run("index", constants=SMALL).code == 0
    assert each_is_one_of(world, look(commands), NEW | STEADY, OLD) == dict.fromkeys([*OLD, *STEADY], 0)


@pytest.mark.parametrize("count", [8, 12, 16, 20, 24])
def test_too_few_open_files_end_in_a_line(world, commands, count):
    """`ulimit -n`."""
    world.reset("kept")
    for number, (name, text) in enumerate(NEW.items()):
        world.write(name, text, age=1000 + number)
    done = commands.run("index", constants=SMALL, nofile=count)
    if done.code:
        assert done.failed_plainly()[1]
    assert each_is_one_of(world, look(commands), OLD | STEADY, NEW).keys() == {*OLD, *STEADY}
    assert commands.run("index", constants=SMALL).code == 0
    assert each_is_one_of(world, look(commands), NEW | STEADY, OLD) == dict.fromkeys([*OLD, *STEADY], 0)
