"""Files that change under the hand of `index`: one moment of each is stored, and the next run has the last."""

from __future__ import annotations

import os
import shutil

import pytest
from support.faults import CLOCK

from .conftest import NEW, OLD, STEADY, changed, harvest
from .looking import each_is_one_of, goes_on, look

ALL = OLD | STEADY
MOMENTS = {
    "before it is read": ("open .*/harvest.md", 1),
    "between hash and parser": ("start", 1),
    "before it is stored": ("sql INSERT INTO files", 1),
    "in the middle of storing it": ("sql INSERT INTO chunks", 5),
    "after it is stored": ("sql BEGIN IMMEDIATE", 2),
}
"""Events of `fault_process.Events`, each with its number, that a file may be changed at."""

LATER = harvest(2025, 500)
SAME_SIZE = harvest(2026, 300)
assert len(SAME_SIZE) == len(NEW["harvest.md"])
CHANGES = {
    "rewritten": ([["shutil.copy2", "LATER", "FILE"]], {"harvest.md": LATER}),
    "replaced": ([["os.replace", "LATER", "FILE"]], {"harvest.md": LATER}),
    "rewritten with its size and time": ([["shutil.copy2", "SAME", "FILE"]], {"harvest.md": SAME_SIZE}),
    "cut": ([["os.truncate", "FILE", 60]], {"harvest.md": NEW["harvest.md"][:60]}),
    "emptied": ([["os.truncate", "FILE", 0]], {}),
    "deleted": ([["os.unlink", "FILE"]], {}),
    "made a folder": ([["os.unlink", "FILE"], ["os.mkdir", "FILE"]], {}),
    "made a pipe": ([["os.unlink", "FILE"], ["os.mkfifo", "FILE"]], {}),
    "made a circle": ([["os.unlink", "FILE"], ["os.symlink", "harvest.md", "FILE"]], {}),
    "swapped": (
        [["os.rename", "FILE", "BETWEEN"], ["os.rename", "PLAN", "FILE"], ["os.rename", "BETWEEN", "PLAN"]],
        {"harvest.md": NEW["plan.md"], "plan.md": NEW["harvest.md"]},
    ),
}
"""What is called, and what the file holds then."""

OFTEN, NOW_AND_THEN = ("between hash and parser", "before it is stored"), ("rewritten", "emptied")
CASES = [(moment, name) for moment in MOMENTS for name in CHANGES if moment in OFTEN or name in NOW_AND_THEN]


@pytest.mark.parametrize(("moment", "name"), CASES)
def test_a_file_that_changes_while_it_is_indexed(world, commands, moment, name):
    changed(world)
    aside = world.base / "live" / "aside"
    aside.mkdir()
    for written, text, age in (("later", LATER, 5000), ("same", SAME_SIZE, 1000)):
        (aside / written).write_text(text)
        os.utime(aside / written, (CLOCK + age,) * 2)
    paths = {"FILE": world.notes / "harvest.md", "PLAN": world.notes / "plan.md"}
    paths |= {"LATER": aside / "later", "SAME": aside / "same", "BETWEEN": aside / "between"}
    calls, contents = CHANGES[name]
    moves = [[str(paths.get(word, word)) if isinstance(word, str) else word for word in call] for call in calls]
    done = commands.run("index", reads=str(world.notes), acts=[[*MOMENTS[moment], moves]])
    assert done.code == 0, done.err
    each_is_one_of(world, look(commands, []), STEADY, OLD, NEW, contents)
    goes_on(world, commands, STEADY | {"plan.md": NEW["plan.md"]} | contents)


def test_a_log_that_grows_all_the_time_is_indexed_up_to_some_moment(world, commands):
    world.reset("kept")
    world.write("boat.log", "".join(f"Entry {number}: the sea was calm.\n" for number in range(300)), age=1)
    more = world.base / "live" / "more"
    more.write_text("Entry 300: the storm came.\n")
    grow = ["shutil.copyfile", str(more), str(world.notes / "boat.log")]
    acts = [["sql INSERT INTO chunks", number, [grow]] for number in range(1, 9)]
    assert commands.run("index", reads=str(world.notes), acts=acts).code == 0
    goes_on(world, commands, ALL | {"boat.log": more.read_text()})


def test_a_folder_that_vanishes_while_it_is_walked_is_kept(world, commands):
    world.reset("kept")
    aside = world.base / "live" / "letters"
    gone = [["shutil.move", str(world.notes / "letters"), str(aside)]]
    done = commands.run("index", reads=str(world.notes), acts=[["sql BEGIN EXCLUSIVE", 1, gone]])
    assert done.code == 0, done.err
    shutil.move(aside, world.notes / "letters")
    goes_on(world, commands, ALL)
