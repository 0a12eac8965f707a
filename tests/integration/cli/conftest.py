"""Give each test of the command line a person who types."""

from __future__ import annotations

import pytest
from support.typed import Typed


@pytest.fixture
def said(capsys):
    return Typed(capsys)
