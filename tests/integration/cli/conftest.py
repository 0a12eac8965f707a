"""Give each test of the command line a person who types."""

import pytest
from support.typed import Typed


@pytest.fixture
def said(capsys):
    return Typed(capsys)
