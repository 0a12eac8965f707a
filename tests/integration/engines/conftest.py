"""Wire each graph once for all tests of engines."""

from __future__ import annotations

from functools import cache

import pytest

from local_rag import graphs

once = cache(graphs.compiled)


@pytest.fixture(autouse=True)
def wired_once(monkeypatch):
    """Let every Rag share the graphs that are wired alike, because wiring one takes a tenth of a second."""
    monkeypatch.setattr(graphs, "compiled", once)
