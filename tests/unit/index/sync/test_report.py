"""How long the rest of a sync will take."""

from __future__ import annotations

from local_rag.index.sync.report import LEAST, Pace


def test_a_pace_is_that_since_the_first_call():
    now = [0.0]
    pace = Pace(1000, lambda: now[0])
    now[0] = 10  # a model is loaded
    assert pace.progress(0, 0, 100, 0, "a").rate is None
    now[0] += LEAST / 2
    assert pace.progress(10, 1, 100, 1, "a").left is None, "too early to say"
    now[0] = 110
    told = pace.progress(500, 50, 100, 200, "b", phase="vectors")
    assert (told.rate, told.left, told.share, told.seconds) == (2.0, 100.0, 0.5, 110)
    assert (told.phase, told.path) == ("vectors", "b")
