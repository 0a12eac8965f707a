"""Every drawn edge can be taken, and every edge that is taken is drawn: `python -m support.edge_walk` prints them."""

from __future__ import annotations

import pytest
from support.edge_walk import WIRINGS, walk


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        pytest.param(name, settings, marks=[pytest.mark.slow] if 0 < number < len(wirings) - 1 else [])
        for name, wirings in WIRINGS.items()
        for number, settings in enumerate(wirings)
    ],
)
def test_each_edge_is_drawn_and_can_be_taken(name, settings):
    walked = walk(name, settings)
    assert set(walked.drawn) == set(walked.taken), f"\n{walked.table}"
