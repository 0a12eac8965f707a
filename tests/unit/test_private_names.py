"""Test that tests use public names: ruff (SLF001) sees attributes, this sees names that tests patch or import."""

import re

import pytest
from support import TESTS

PATCHED = re.compile(r"""(?:setattr|delattr|patch)\([^)\n]*["'](?:[\w.]*\.)?_[A-Za-z]""")
IMPORTED = re.compile(r"^\s*(?:from local_rag\S* import .*?|import local_rag\S*\.)\b_[A-Za-z]", re.MULTILINE)


@pytest.mark.parametrize("pattern", [PATCHED, IMPORTED], ids=["patched", "imported"])
def test_tests_reach_for_no_private_name(pattern):
    found = [
        f"{path.name}: {match[0].strip()}"
        for path in TESTS.rglob("*.py")
        if path.name != "test_private_names.py"
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_check_would_notice():
    assert PATCHED.search('monkeypatch.setattr(installer, "_pip", None)')
    assert PATCHED.search('monkeypatch.setattr("local_rag.web.fetch._resolve", None)')
    assert IMPORTED.search("from local_rag.web import _LIMIT")
