"""How long the rest of a sync will take."""

from __future__ import annotations

import pytest

from local_rag.index.sync.report import LEAST as KNOWN_AFTER
from local_rag.index.sync.report import RECENT, Pace


def test_a_pace_is_that_of_the_recent_past():
    now = [0.0]
    pace = Pace(1000, lambda: now[0])
    assert pace.progress(0, 0, 100, 0, "a").rate is None
    now[0] = KNOWN_AFTER / 2
    assert pace.progress(10, 1, 100, 1, "a").left is None, "too early to say"
    for now[0] in range(10, 110, 10):  # fast at first
        fast = pace.progress(now[0] * 5, now[0], 100, now[0] * 2, "a")
    assert (fast.rate, fast.left, fast.share) == (2.0, 100.0, 0.5)
    for now[0] in range(110, 110 + int(2 * RECENT), 10):  # then slow
        slow = pace.progress(400 + now[0], now[0], 100, 200, "b", phase="vectors")
    assert (slow.rate, slow.left, slow.phase, slow.path) == (0.0, pytest.approx(600 - now[0]), "vectors", "b")
