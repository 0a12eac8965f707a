"""A person with an index of a few notes, and a process that runs commands for them under faults."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from support import TESTS
from support.faults import Commands, World

BEDS = ["beans", "carrots", "leeks", "peas", "radishes", "spinach", "tomatoes", "turnips"]


def harvest(year, each):
    """A file of several passages, of which every one names the year: passages of two years are seen as a mix."""
    beds = "".join(
        f"## Bed {number}\n\nIn {year} the {crop} of bed {number} weighed {each + number} kilos. "
        f"They were picked by hand, washed at the well and sold on the market of {year}.\n\n"
        for number, crop in enumerate(BEDS, 1)
    )
    return f"# Harvest of {year}\n\n{beds}"


def plan(costs, height):
    return (
        f"# Greenhouse\n\n## Costs\n\nThe greenhouse costs {costs} euros, glass and wood together.\n\n"
        f"## Size\n\nThe greenhouse is {height} metres high.\n"
    )


OLD = {"harvest.md": harvest(2023, 100), "plan.md": plan("4,200", 3)}
NEW = {"harvest.md": harvest(2024, 300), "plan.md": plan("5,900", 4)}
"""Two files before and after they are changed."""

STEADY = {
    "letters/tenant.txt": "Dear tenant,\n\nthe notice period of your rental contract is three months.\n",
    "letters/boat.txt": "The ferry to the island leaves at a quarter past seven from the northern pier.\n",
    "bees.md": "# Bees\n\nThe bees of the orchard gave forty jars of honey.\n",
}
"""Files that nobody changes."""

QUESTIONS = ["What does the greenhouse cost?", "When does the ferry to the island leave?", "How many jars of honey?"]


def texts_of(contents):
    """The words of a file; where its passages are cut does not matter."""
    return " ".join(contents.split())


@pytest.fixture(scope="session")
def empty_world(tmp_path_factory, converted):
    """The notes, not indexed yet; every test brings back the state that it begins with."""
    if sys.platform == "win32":
        pytest.skip("forks and signals as POSIX has them")
    world = World(tmp_path_factory.mktemp("world"))
    for name, text in (OLD | STEADY).items():
        world.write(name, text)
    world.keep("unindexed")
    return world


@pytest.fixture(scope="session")
def system_calls(empty_world):
    """The library that ends a command at a system call; None where it cannot be compiled."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        return None
    library = empty_world.base / "system_calls.so"
    source = TESTS / "support" / "system_calls.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture(scope="session")  # what it imports and computes first takes longer than most tests of a module
def commands(empty_world, system_calls):
    preloaded = {"LD_PRELOAD": str(system_calls)} if system_calls else {}
    with Commands(empty_world.env | preloaded, empty_world.base / "commands") as commands:
        yield commands


@pytest.fixture(scope="session")
def world(empty_world, commands):
    """The notes, indexed; `reset` brings both back."""
    empty_world.reset("unindexed")
    done = commands.run("index", empty_world.notes, "--chunk-size", "60", constants=SMALL)
    assert done.code == 0, done.err
    empty_world.keep("kept")
    return empty_world


SMALL = {
    "local_rag.index.store.vectors.FEW": 0,
    "local_rag.index.sync.text._BATCH": 4,
    **dict.fromkeys((f"local_rag.index.sync.embed.{name}" for name in ("FIRST", "LEAST", "MOST")), 4),
}
"""Constants as of a large index: a file of vectors is written for a few, too, and batches are small."""


def changed(world):
    """The indexed notes, of which two are not as they are indexed."""
    world.reset("kept")
    for number, (name, text) in enumerate(NEW.items()):
        world.write(name, text, age=1000 + number)
