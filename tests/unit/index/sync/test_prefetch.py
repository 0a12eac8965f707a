"""Threads that hand on what they made: in order, bounded, and gone when nobody wants more."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_rag.core import cancel
from local_rag.core.errors import Stopped
from local_rag.index.sync.prefetch import Ahead


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 5))
def test_everything_comes_once_and_in_order_heavy_items_too(items, limit):
    with Ahead(iter(items), lambda item: item, limit) as taken:
        assert list(taken) == items


def test_it_runs_ahead_as_far_as_the_limit_and_no_farther():
    made = []
    with Ahead((made.append(number) or number for number in range(20)), lambda _: 2, 6) as taken:
        assert next(taken) == 0
        deadline = time.monotonic() + 60
        while len(made) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.05)
        assert len(made) == 5  # one taken, three that wait, one in hand
        assert list(taken) == list(range(1, 20))


def test_an_error_comes_where_its_item_would_have():
    with Ahead((1 // number for number in (1, 0)), lambda _: 1, 5) as taken:
        assert next(taken) == 1
        with pytest.raises(ZeroDivisionError):
            next(taken)


@pytest.mark.parametrize("who", ["who makes", "who waits"])
def test_a_stop_is_heard_on_both_sides(who):
    stop, leave = cancel.Cancel(), threading.Event()

    def source():
        yield 1
        while who == "who makes":
            cancel.check()
            yield 1
        leave.wait(60)

    with cancel.scope(stop), Ahead(source(), lambda _: 1, 3, leave.set) as taken:
        assert next(taken) == 1
        stop.stop()
        with pytest.raises(Stopped):
            list(taken)
        assert not leave.is_set()


def test_leaving_early_interrupts_the_thread_and_ends_it():
    wake, heard = threading.Event(), []

    def source():
        yield 1
        wake.wait(60)
        try:
            cancel.check()
        except Stopped:
            heard.append(True)
            raise

    with Ahead(source(), lambda _: 1, 3, wake.set) as taken:
        assert next(taken) == 1
    assert heard == [True] and not any(thread.name == "local-rag-ahead" for thread in threading.enumerate())
