"""Streams over uvicorn on loopback: heartbeats, errors, clients that leave."""

from __future__ import annotations

import threading
from dataclasses import replace

from support.serving import Client, a_place, events_of, served, signed_in

from local_rag.core.errors import IndexBusy
from local_rag.server.endpoints import Endpoint
from local_rag.server.place import Limits
from local_rag.server.sse import Events

QUICK = replace(Limits(), heartbeat=0.05, streams=2)


class Watched:
    """An iterator that waits until it is stopped, and knows what was done to it."""

    def __init__(self, *first):
        self.first, self.stopped, self.closed = list(first), threading.Event(), threading.Event()

    def stream(self, place, request):
        return Events(self.events(), self.stopped.set)

    def events(self):
        try:
            for number in self.first:
                yield "number", {"number": number}
            self.stopped.wait()
        finally:
            self.closed.set()

    @property
    def endpoint(self):
        return Endpoint("POST", "/api/numbers", self.stream, response=Events, events={"number": dict})


def numbers(*values, error=None):
    def stream(place, request):
        def events():
            for number in values:
                yield "number", {"number": number, "text": "two\nlines"}
            if error:
                raise error

        return Events(events())

    return Endpoint("POST", "/api/numbers", stream, response=Events)


def test_events_come_in_order():
    response = Client(a_place(), served=[numbers(1, 2)]).post("/api/numbers")
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert events_of(response.text) == [("number", {"number": n, "text": "two\nlines"}) for n in (1, 2)]


def test_an_error_is_the_last_event():
    sent = Client(a_place(), served=[numbers(1, error=IndexBusy("busy", hint="wait"))]).post("/api/numbers")
    assert events_of(sent.text)[1] == ("error", {"code": "index_busy", "message": "busy", "hint": "wait"})
    sent = Client(a_place(), served=[numbers(error=ValueError("my secret question"))]).post("/api/numbers")
    assert "secret" not in sent.text and events_of(sent.text)[0][1]["code"] == "internal"


def test_a_heartbeat_comes_while_nothing_happens():
    place, watched = a_place(limits=QUICK), Watched(1)
    with served(place, served=[watched.endpoint]) as address, signed_in(place, address) as client:
        with client.stream("POST", "/api/numbers", json={}) as response:
            lines = response.iter_lines()
            assert next(line for line in lines if line.startswith(":")) == ": still here"
        assert watched.closed.wait(30)


def test_the_iterator_is_closed_when_the_client_leaves():
    place, watched = a_place(), Watched(1)
    with served(place, served=[watched.endpoint]) as address, signed_in(place, address) as client:
        with client.stream("POST", "/api/numbers", json={}) as response:
            assert next(response.iter_lines()) == "event: number"
        assert watched.stopped.wait(30) and watched.closed.wait(30)


def test_a_client_has_so_many_streams_at_most():
    place, watched = a_place(limits=QUICK), Watched(1)
    with served(place, served=[watched.endpoint]) as address, signed_in(place, address) as client:
        with client.stream("POST", "/api/numbers", json={}), client.stream("POST", "/api/numbers", json={}):
            refused = client.post("/api/numbers", json={})
            assert refused.status_code == 429 and refused.json()["error"]["code"] == "busy"
        assert watched.closed.wait(30)
