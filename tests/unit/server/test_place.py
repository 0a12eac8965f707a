"""What a place lends and stops: Rags that are in use stay open, and jobs end with it."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from support.remembering import opened
from support.serving import a_place

from local_rag.core import cancel
from local_rag.core.errors import Stopped
from local_rag.runtime.rag import Rag
from local_rag.server.indexing import indexing_of
from local_rag.server.page_pictures import pictures_of
from local_rag.server.place import Limits


@pytest.fixture
def place(monkeypatch):
    """A place that keeps one Rag open, over a corpus of its own for each number of passages."""
    monkeypatch.setattr(Rag, "open", lambda settings: opened())
    place = a_place(limits=replace(Limits(), rags=1))
    yield place
    place.close()


def test_what_somebody_uses_is_not_closed_for_another(place):
    with place.using(k=1) as first, place.using(k=1) as same:
        assert first is same
        second = place.rag(k=2)
        assert not first.index.closed and place.rag(k=1) is first
    place.rag(k=3)
    assert first.index.closed and second.index.closed


def test_what_was_kept_for_its_users_is_closed_after_the_last(place):
    with place.using(k=1) as first:
        with place.using(k=1):
            place.rag(k=2)
        assert not first.index.closed, "one still uses it"
    assert first.index.closed


def test_an_index_job_that_needs_the_place_at_its_end_does_not_keep_it_from_closing():
    place, begun = a_place(), threading.Event()

    def work(display):
        begun.set()
        with pytest.raises(Stopped):
            cancel.current().wait(60)
        pictures_of(place).forget()
        return "done"

    told = indexing_of(place).events(work)
    assert begun.wait(60)
    closing = threading.Thread(target=place.close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()
    assert [*told.events] == [("report", "done")]
    place.close()


def test_stopping_a_place_stops_its_jobs():
    place, begun = a_place(), threading.Event()

    def work(display):
        begun.set()
        cancel.current().wait(60)

    told = indexing_of(place).events(work)
    begun.wait(60)
    place.stop()
    with pytest.raises(Stopped):
        list(told.events)
    place.close()


def test_an_index_job_that_cannot_begin_is_in_nobodys_way(monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    place = a_place()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError):
            indexing_of(place).events(lambda display: "done")
    assert indexing_of(place).progress is None
    assert [*indexing_of(place).events(lambda display: "done").events] == [("report", "done")]
    place.close()
