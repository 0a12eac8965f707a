"""How long a client may take nothing of what it is sent, on a clock of the test's own."""

from __future__ import annotations

from dataclasses import replace

import pytest
import uvicorn
from uvicorn.server import ServerState

from local_rag.server.connection import Connection
from local_rag.server.place import Limits


class Loop:
    """Remembers the one call that is due."""

    def __init__(self):
        self.due = None

    def time(self):
        return 0.0

    def call_later(self, seconds, call):
        self.due = call
        return self

    def cancel(self):
        self.due = None


class Transport:
    def __init__(self):
        self.unread, self.aborted = 0, False

    def get_write_buffer_size(self):
        return self.unread

    def abort(self):
        self.aborted = True

    def close(self):
        pass

    def set_write_buffer_limits(self, high):
        pass

    def get_extra_info(self, name):
        return None


@pytest.fixture
def sent():
    """A connection to which more was written than its client has taken."""
    config = uvicorn.Config("support.serving:a_place", log_config=None, lifespan="off", factory=True)
    config.load()
    loop, transport = Loop(), Transport()
    connection = Connection(config, ServerState(), {}, _loop=loop, limits=replace(Limits(), slow_reader=30.0))
    connection.connection_made(transport)
    loop.cancel()  # the time for the head of a request
    transport.unread = 1000
    connection.pause_writing()
    return connection, loop, transport


def test_a_client_that_takes_a_little_each_time_may_go_on(sent):
    connection, loop, transport = sent
    for transport.unread in (900, 899, 1):
        loop.due()
        assert not transport.aborted and loop.due
    connection.resume_writing()
    assert loop.due is None


def test_a_client_that_takes_nothing_is_left(sent):
    _, loop, transport = sent
    transport.unread = 900
    loop.due()
    loop.due()
    assert transport.aborted


def test_nothing_is_due_for_a_connection_that_is_lost(sent):
    connection, loop, _ = sent
    connection.connection_lost(None)
    assert loop.due is None
