"""Test files that change during `index`: one state of each is stored, and the next run stores the last."""

import pytest

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
    "rewritten": ([["shutil.copy2", "../later", FILE]], {FILE: LATER}),
    "rewritten with its size and time": ([["shutil.copy2", "../same", FILE]], {FILE: SAME_SIZE}),
    "emptied": ([["shutil.copy2", "../empty", FILE]], {}),
    "deleted": ([["os.unlink", FILE]], {}),
    "made a pipe": ([["os.unlink", FILE], ["os.mkfifo", FILE]], {FILE: OLD[FILE]}),
    "made a circle": ([["os.unlink", FILE], ["os.symlink", FILE, FILE]], {FILE: OLD[FILE]}),
    "swapped": (
        [["os.rename", FILE, "../between"], ["os.rename", "plan.md", FILE], ["os.rename", "../between", "plan.md"]],
        {FILE: NEW["plan.md"], "plan.md": NEW[FILE]},
    ),
}
"""The calls during the command, and the contents of the files afterwards."""

CASES = [*((moment, "rewritten") for moment in MOMENTS), *(("between hash and parser", change) for change in CHANGES)]


@pytest.mark.parametrize(("moment", "change"), dict.fromkeys(CASES))
def test_a_file_that_changes_while_it_is_indexed(world, moment, change):
    world.reset("changed")
    for name, text, age in (("later", LATER, 5000), ("same", SAME_SIZE, 1000), ("empty", "", 5000)):
        world.write(f"../{name}", text, age)
    calls, contents = CHANGES[change]
    calls = [[name, *(str(world.notes / path) for path in paths)] for name, *paths in calls]
    assert not world.run("index", at=[*MOMENTS[moment], calls]).told()
    world.states(OLD, NEW, contents)
    world.goes_on(STEADY | {"plan.md": NEW["plan.md"]} | contents)
