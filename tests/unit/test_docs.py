"""What the pages of the documentation show is what the code does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def script():
    spec = importlib.util.spec_from_file_location("update_docs", ROOT / "scripts" / "update_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BLOCKS = [block for page in script().PAGES for block in script().BLOCK.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.group("what"))
def test_generated_blocks_are_up_to_date(block):
    expected = script().updated(block.group())
    assert block.group() == expected, "run: python scripts/update_docs.py"


def test_each_graph_and_command_is_documented():
    from local_rag.graphs import GRAPHS

    documented = {block.group("what") for block in BLOCKS}
    assert {f"graph {name}" for name in GRAPHS} <= documented
    assert {"help ask", "help index"} <= documented


def test_the_table_of_profiles_is_that_of_models_yaml():
    from local_rag.config.models import load_models
    from local_rag.config.settings import Settings

    models = load_models(Settings.load())
    rows = [[cell.strip(" `") for cell in row.split("|")[1:-1]] for row in README.splitlines() if "gb` | `" in row]
    shown = [(name, model, download, window) for name, model, download, window, *_ in rows]
    assert shown == [
        (name, profile.model, f"{models.spec(profile.model).download:g} GB", f"{profile.num_ctx:,} tokens")
        for name, profile in models.profiles.items()
    ]
    assert f"ollama pull {models.profiles['16gb'].model} " in README


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_into_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", (ROOT / page).read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target
