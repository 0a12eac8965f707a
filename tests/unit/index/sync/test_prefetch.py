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
@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 12))
def test_everything_comes_once_and_in_order(items, limit):
    with Ahead(iter(items), lambda item: item, limit) as taken:
        assert list(taken) == items


def test_it_runs_ahead_as_far_as_the_limit_and_no_farther():
    made = []

    def source():
        for number in range(20):
            made.append(number)
            yield number

    with Ahead(source(), lambda _: 2, 6) as taken:
        assert next(taken) == 0
        deadline = time.monotonic() + 60
        while len(made) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.05)
        assert len(made) == 5  # one taken, three that wait, one in hand
        assert list(taken) == list(range(1, 20))


def test_an_item_heavier_than_the_limit_passes():
    with Ahead([100, 1, 100], lambda item: item, 5) as taken:
        assert list(taken) == [100, 1, 100]


def test_an_error_comes_where_its_item_would_have():
    def source():
        yield 1
        raise ValueError("broken")

    with Ahead(source(), lambda _: 1, 5) as taken:
        assert next(taken) == 1
        with pytest.raises(ValueError, match="broken"):
            next(taken)


def test_a_stop_of_this_thread_is_heard_in_the_other():
    stop = cancel.Cancel()

    def source():
        while True:
            cancel.check()
            yield 1

    with cancel.scope(stop), Ahead(source(), lambda _: 1, 3) as taken:
        assert next(taken) == 1
        stop.stop()
        with pytest.raises(Stopped):
            list(taken)


def test_leaving_early_interrupts_and_ends_the_thread():
    wake, interrupted = threading.Event(), []

    def source():
        yield 1
        wake.wait(60)
        yield 2

    def interrupt():
        interrupted.append(True)
        wake.set()

    ahead = Ahead(source(), lambda _: 1, 3, interrupt)
    with ahead as taken:
        assert next(taken) == 1
    assert interrupted == [True] and not [
        thread for thread in threading.enumerate() if thread.name == "local-rag-ahead"
    ]


def test_leaving_early_stops_what_the_thread_is_busy_with():
    heard = []

    def source():
        yield 1
        for _ in range(1000):
            try:
                cancel.check()
            except Stopped:
                heard.append(True)
                raise
            time.sleep(0.005)

    with Ahead(source(), lambda _: 1, 3) as taken:
        assert next(taken) == 1
    assert heard == [True]


def test_who_waits_hears_a_stop_that_the_thread_does_not():
    stop, leave = cancel.Cancel(), threading.Event()

    def source():
        yield 1
        leave.wait(60)

    with cancel.scope(stop), Ahead(source(), lambda _: 1, 3, leave.set) as taken:
        assert next(taken) == 1
        stop.stop()
        with pytest.raises(Stopped):
            next(taken)
        assert not leave.is_set()
