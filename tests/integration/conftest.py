"""Make a person who has asked about notes once for all tests, and restore that state for each test."""

from __future__ import annotations

import shutil

import pytest
from support.garden import asked_in, enter, put_back


@pytest.fixture(scope="session")
def garden(tmp_path_factory, converted):
    """Return the person's folder, and a copy of its first state."""
    base = tmp_path_factory.mktemp("garden") / "now"
    base.mkdir()
    asked_in(base)
    return base, shutil.copytree(base, base.parent / "kept")


@pytest.fixture
def here(garden, monkeypatch, capsys):
    """Be that person, in the folder of the notes, the index and the runs."""
    base, kept = garden
    put_back(base, kept)
    enter(monkeypatch, base)
    monkeypatch.chdir(base)
    capsys.readouterr()
    return base
