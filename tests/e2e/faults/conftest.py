"""Provide a person with an index of a few notes, for whom commands run under faults."""

import sys

import pytest
from support.faults import NEW_INDEX, World

BEDS = ["beans", "carrots", "leeks", "peas", "radishes", "spinach", "tomatoes", "turnips"]


def harvest(field, year):
    """Return a file of several passages that all name the field and the year, so that a mixture of two is noticed."""
    beds = "".join(
        f"## Bed {number}\n\nIn {year} the {crop} of bed {number} weighed {year % 100 + number} kilos. "
        f"They were picked by hand, washed at the well and sold on the market of {field}.\n\n"
        for number, crop in enumerate(BEDS, 1)
    )
    return f"# Crops of {year}\n\n{beds}"


def plan(wood, costs):
    return (
        f"# Greenhouse\n\n## Costs\n\nThe greenhouse costs {costs} euros, glass and {wood} together.\n\n"
        f"## Size\n\nThe greenhouse of {wood} is three metres high.\n"
    )


STEADY = {
    "letters/tenant.txt": "Dear tenant,\n\nthe notice period of your rental contract is three months.\n",
    "letters/boat.txt": "The ferry to the island leaves at a quarter past seven from the northern pier.\n",
    "bees.md": "# Bees\n\nThe bees of the orchard gave forty jars of honey.\n",
}
"""The files that nobody changes."""

OLD = {"harvest.md": harvest("marigold", 2023), "plan.md": plan("hawthorn", "4,200")} | STEADY
NEW = {"harvest.md": harvest("foxglove", 2024), "plan.md": plan("sycamore", "5,900")} | STEADY
"""All files before and after two of them are changed."""


@pytest.fixture(scope="session")  # what it imports first takes longer than most tests of a module
def home_world(tmp_path_factory, converted):
    if sys.platform == "win32":
        pytest.skip("forks and signals as POSIX has them")
    world = World(tmp_path_factory.mktemp("world"), OLD)
    assert not world.run(*NEW_INDEX).told()
    world.keep("indexed")
    for name in ("harvest.md", "plan.md"):
        world.write(name, NEW[name], age=1000)
    world.keep("changed")
    yield world
    world.process.communicate()


@pytest.fixture
def world(home_world):
    """Return the notes, indexed."""
    home_world.reset()
    return home_world
