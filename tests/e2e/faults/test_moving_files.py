"""Files that change under the hand of `index`: one moment of each is stored, and the next run has the last."""

from __future__ import annotations

import os
import shutil

import pytest
from support.faults import CLOCK

from .conftest import NEW, OLD, STEADY, harvest, texts_of
from .looking import each_is_one_of, look

MOMENTS = {
    "before it is read": ("open .*/harvest.md", 1),
    "between hash and parser": ("start", 1),
    "before it is stored": ("sql INSERT INTO files", 1),
    "in the middle of storing it": ("sql INSERT INTO chunks", 5),
    "after it is stored": ("sql BEGIN IMMEDIATE", 2),
}
"""Events of `fault_process.Events`, each with its number, that a file may be changed at."""


@pytest.fixture
def moved(world):
    """The notes, with a changed harvest to index, and a folder of other files that come into its place."""
    world.reset("kept")
    for number, (name, text) in enumerate(NEW.items()):
        world.write(name, text, age=1000 + number)
    aside = world.base / "live" / "aside"
    aside.mkdir()
    later = aside / "harvest.md"
    later.write_text(harvest(2025, 500))
    os.utime(later, (CLOCK + 5000, CLOCK + 5000))
    return world


LATER = {"harvest.md": harvest(2025, 500)}
SAME_SIZE = {"harvest.md": harvest(2026, 300)}


def rewritten(world):
    later = world.base / "live" / "aside" / "harvest.md"
    return [["shutil.copy2", str(later), str(world.notes / "harvest.md")]], LATER


def replaced(world):
    later = world.base / "live" / "aside" / "harvest.md"
    return [["os.replace", str(later), str(world.notes / "harvest.md")]], LATER


def rewritten_with_size_and_time(world):
    """Another text of the same length, and the time of change set back: only ctime tells."""
    later = world.base / "live" / "aside" / "harvest.md"
    later.write_text(SAME_SIZE["harvest.md"])
    assert len(SAME_SIZE["harvest.md"]) == len(NEW["harvest.md"])
    target = world.notes / "harvest.md"
    os.utime(later, (CLOCK + 1000, CLOCK + 1000))
    return [["shutil.copy2", str(later), str(target)]], SAME_SIZE


def truncated(world):
    return [["os.truncate", str(world.notes / "harvest.md"), 60]], {"harvest.md": NEW["harvest.md"][:60]}


def emptied(world):
    return [["os.truncate", str(world.notes / "harvest.md"), 0]], {}


def deleted(world):
    return [["os.unlink", str(world.notes / "harvest.md")]], {}


def made_a_folder(world):
    path = str(world.notes / "harvest.md")
    return [["os.unlink", path], ["os.mkdir", path]], {}


def made_a_pipe(world):
    path = str(world.notes / "harvest.md")
    return [["os.unlink", path], ["os.mkfifo", path]], {}


def made_a_circle(world):
    path = str(world.notes / "harvest.md")
    return [["os.unlink", path], ["os.symlink", "harvest.md", path]], {}


def swapped(world):
    harvest_file, plan = str(world.notes / "harvest.md"), str(world.notes / "plan.md")
    between = str(world.base / "live" / "aside" / "between")
    moves = [["os.rename", harvest_file, between], ["os.rename", plan, harvest_file], ["os.rename", between, plan]]
    return moves, {"harvest.md": NEW["plan.md"], "plan.md": NEW["harvest.md"]}


CHANGES = [
    rewritten,
    replaced,
    rewritten_with_size_and_time,
    truncated,
    emptied,
    deleted,
    made_a_folder,
    made_a_pipe,
    made_a_circle,
    swapped,
]


OFTEN = ("between hash and parser", "before it is stored")
CASES = [(moment, change) for moment in MOMENTS for change in CHANGES if moment in OFTEN or change in CHANGES[::4]]


@pytest.mark.parametrize(("moment", "change"), CASES, ids=lambda part: getattr(part, "__name__", part))
def test_a_file_that_changes_while_it_is_indexed(moved, commands, moment, change):
    moves, contents = change(moved)
    pattern, number = MOMENTS[moment]
    reads = str(moved.notes)
    (done,) = commands.steps([["index"]], reads=reads, acts=[[pattern, number, moves]])
    assert done.code == 0, done.err
    each_is_one_of(moved, look(commands, []), STEADY, OLD, NEW, contents)
    assert (
        not os.path.lexists(moved.notes / "harvest.md")
        or (moved.notes / "harvest.md").stat(follow_symlinks=False).st_mtime != CLOCK
    ), "nothing was changed"
    done = commands.run("index")
    assert done.code == 0, done.err
    last = STEADY | {"plan.md": NEW["plan.md"]} | contents
    stored = {
        path.removeprefix(f"{moved.notes}/"): texts_of(" ".join(texts))
        for path, texts in look(commands, [])["texts"].items()
    }
    assert stored == {name: texts_of(text) for name, text in last.items()}


def test_two_files_of_one_size_and_date_that_change_places(world, commands):
    """Between two runs, by rename alone: neither size nor date tells, and no quote may name the wrong file."""
    world.reset("unindexed")
    pair = {"first.md": "The lamp in the hall burns oil.\n", "other.md": "The lamp in the yard burns gas.\n"}
    for name, text in pair.items():
        world.write(name, text)
    assert commands.run("index", world.notes).code == 0
    for source, target in (("first.md", "between"), ("other.md", "first.md"), ("between", "other.md")):
        (world.notes / source).rename(world.notes / target)
    assert commands.run("index").code == 0
    (hit,) = commands.run("search", "lamp in the hall", "--json", "--k", "1").value
    assert hit["source"].endswith("other.md") and hit["text"] == pair["first.md"].strip()


def test_a_log_that_grows_all_the_time_is_indexed_up_to_some_moment(world, commands):
    world.reset("kept")
    world.write("boat.log", "".join(f"Entry {number}: the sea was calm.\n" for number in range(300)), age=1)
    more = world.base / "live" / "more"
    more.write_text("Entry 300: the storm came.\n")
    grow = ["shutil.copyfile", str(more), str(world.notes / "boat.log")]
    done = commands.run(
        "index", reads=str(world.notes), acts=[["sql INSERT INTO chunks", number, [grow]] for number in range(1, 9)]
    )
    assert done.code == 0, done.err
    assert commands.run("index").code == 0
    texts = look(commands, [])["texts"][str(world.notes / "boat.log")]
    assert texts == ["Entry 300: the storm came."]


def test_a_folder_that_vanishes_while_it_is_walked_is_kept_and_named(world, commands):
    world.reset("kept")
    gone = [["shutil.move", str(world.notes / "letters"), str(world.base / "live" / "letters")]]
    done = commands.run(
        "index", reads=str(world.notes), acts=[["open .*plan.md", 1, gone], ["sql BEGIN EXCLUSIVE", 1, gone]]
    )
    assert done.code == 0, done.err
    shutil.move(world.base / "live" / "letters", world.notes / "letters")
    assert commands.run("index").code == 0
    assert each_is_one_of(world, look(commands, []), OLD | STEADY) == dict.fromkeys([*OLD, *STEADY], 0)


def test_a_disk_that_is_not_mounted_takes_nothing_away(world, commands):
    """The whole folder is empty, or not there, for one run: what was indexed is kept and named."""
    world.reset("kept")
    aside = world.base / "live" / "aside"
    for is_there in (False, True):
        world.notes.rename(aside)
        if is_there:
            world.notes.mkdir()
        done = commands.run("index")
        assert done.code == 0 and "5 indexed files of it kept" in done.out, done.out + done.err
        if is_there:
            world.notes.rmdir()
        aside.rename(world.notes)
        assert each_is_one_of(world, look(commands, []), OLD | STEADY) == dict.fromkeys([*OLD, *STEADY], 0)
