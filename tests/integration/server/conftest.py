"""Servers on loopback that end with the test."""

from contextlib import ExitStack

import pytest
from support.serving import a_workspace, asking, work_here


@pytest.fixture
def serve():
    """Starts a server of a workspace, by default of the settings in force; a client of it, see `support.serving`."""
    with ExitStack() as opened:
        yield lambda workspace=None, who="cookie": opened.enter_context(asking(workspace or a_workspace(), who))


@pytest.fixture
def at_once(monkeypatch):
    """Begin no process for what a page begins; `test_indexing` has tests of that process."""
    work_here(monkeypatch)
