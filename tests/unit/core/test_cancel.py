"""Test that work can be stopped, by a person at once and by the work it is part of, and never ends half done."""

import _thread
import threading
import time

import pytest

from local_rag.core import cancel
from local_rag.core.cancel import Cancel, stoppable
from local_rag.core.errors import DeadlineExceeded, Stopped


def never():
    raise AssertionError("nobody pressed Ctrl-C")


def test_what_the_work_gives_or_raises_comes_out():
    assert stoppable(lambda: threading.current_thread().name, never) == "local-rag-work"
    with pytest.raises(ValueError, match="broken"):
        stoppable(lambda: int("broken"), never)


def test_ctrl_c_is_said_at_once_and_the_work_ends_at_its_next_look():
    said, heard = [], []

    def work():
        _thread.interrupt_main()
        while not said:  # deep in a library
            time.sleep(0.01)
        assert not heard
        try:
            cancel.check()
        except Stopped:
            heard.append(True)
            raise

    with pytest.raises(KeyboardInterrupt):
        stoppable(work, lambda: said.append(True))
    assert (said, heard) == ([True], [True])


def test_a_second_ctrl_c_waits_no_more():
    leave = threading.Event()

    def work():
        _thread.interrupt_main()
        leave.wait(60)

    with pytest.raises(KeyboardInterrupt):
        stoppable(work, _thread.interrupt_main)
    assert not leave.is_set()
    leave.set()


def test_the_work_is_a_part_of_what_is_going_on():
    outer = Cancel()

    def work():
        outer.stop()
        cancel.check()

    with cancel.scope(outer), pytest.raises(Stopped):
        stoppable(work, never)


def test_a_part_stops_with_the_whole_and_not_the_other_way_round():
    whole = Cancel()
    part = Cancel(outer=whole)
    part.check()
    Cancel(outer=whole).stop()
    assert not whole.stopped
    whole.stop()
    assert part.stopped
    for look in (part.check, lambda: part.wait(60)):
        with pytest.raises(Stopped):
            look()
    with pytest.raises(DeadlineExceeded):
        Cancel(outer=Cancel(0.0)).check()
