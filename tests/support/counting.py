"""How much work something is, counted instead of timed."""

from __future__ import annotations

import sys


def calls(work):
    """How many functions `work()` calls on this thread, those of C included."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def grows_in_step(work, few, many):
    """Whether `work(many)` calls at most one and a half times as much as it is larger than `work(few)`."""
    small, large = calls(lambda: work(few)), calls(lambda: work(many))
    return large <= 1.5 * small * many / few
