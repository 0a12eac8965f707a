"""Files that change under the hand of `index`: one moment of each is stored, and the next run has the last."""

from __future__ import annotations

import os

import pytest
from support.faults import CLOCK

from .conftest import NEW, OLD, STEADY, harvest

FILE = "harvest.md"
LATER, SAME_SIZE = harvest("snowdrop", 2025), harvest("foxglove", 2034)
assert len(SAME_SIZE) == len(NEW[FILE])
MOMENTS = {
    "before it is read": (f"open .*/{FILE}", 1),
    "between hash and parser": ("subprocess.Popen", 1),
    "before it is stored": ("sql INSERT INTO files", 1),
    "in the middle of storing it": ("sql INSERT INTO chunks", 5),
    "after it is stored": ("sql BEGIN IMMEDIATE", 2),
}
CHANGES = {
    "rewritten": ([["shutil.copy2", "LATER", "FILE"]], {FILE: LATER}),
    "rewritten with its size and time": ([["shutil.copy2", "SAME", "FILE"]], {FILE: SAME_SIZE}),
    "cut": ([["os.truncate", "FILE", 60]], {FILE: NEW[FILE][:60]}),
    "emptied": ([["os.truncate", "FILE", 0]], {}),
    "deleted": ([["os.unlink", "FILE"]], {}),
    "made a folder": ([["os.unlink", "FILE"], ["os.mkdir", "FILE"]], {}),
    "made a pipe": ([["os.unlink", "FILE"], ["os.mkfifo", "FILE"]], {}),
    "made a circle": ([["os.unlink", "FILE"], ["os.symlink", "FILE", "FILE"]], {}),
    "swapped": (
        [["os.rename", "FILE", "BETWEEN"], ["os.rename", "PLAN", "FILE"], ["os.rename", "BETWEEN", "PLAN"]],
        {FILE: NEW["plan.md"], "plan.md": NEW[FILE]},
    ),
}
"""What is called, and what the files hold then."""

CASES = [*((moment, "rewritten") for moment in MOMENTS), *(("between hash and parser", change) for change in CHANGES)]


@pytest.mark.parametrize(("moment", "change"), dict.fromkeys(CASES))
def test_a_file_that_changes_while_it_is_indexed(world, moment, change):
    world.reset("changed")
    paths = {"FILE": world.notes / FILE, "PLAN": world.notes / "plan.md"}
    paths |= {name: world.live / name for name in ("LATER", "SAME", "BETWEEN")}
    for name, text, age in (("LATER", LATER, 5000), ("SAME", SAME_SIZE, 1000)):
        paths[name].write_text(text)
        os.utime(paths[name], (CLOCK + age,) * 2)
    calls, contents = CHANGES[change]
    calls = [[name, *(str(paths[word]) if word in paths else word for word in words)] for name, *words in calls]
    done = world.run("index", acts=[[*MOMENTS[moment], calls]])
    assert done.code == 0, done
    world.states(OLD, NEW, contents)
    world.goes_on(STEADY | {"plan.md": NEW["plan.md"]} | contents)


def test_a_log_that_grows_all_the_time_is_indexed_up_to_some_moment(world):
    text = "".join(f"Entry {number}: the sea was calm.\n" for number in range(300))
    world.write("boat.log", text, age=1)
    more = world.live / "more"
    more.write_text(last := "Entry 300: the storm came.\n")
    grow = [["shutil.copyfile", str(more), str(world.notes / "boat.log")]]
    assert world.run("index", acts=[["sql INSERT INTO chunks", number, grow] for number in range(1, 9)]).code == 0
    world.goes_on(OLD | {"boat.log": last})


def test_a_folder_that_vanishes_while_it_is_walked_is_kept(world):
    letters, aside = world.notes / "letters", world.live / "letters"
    gone = [["shutil.move", str(letters), str(aside)]]
    assert world.run("index", acts=[["sql BEGIN EXCLUSIVE", 1, gone]]).code == 0
    aside.rename(letters)
    world.goes_on(OLD)
