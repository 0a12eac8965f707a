"""A connection of a client, with an end to what uvicorn waits for without one: a request, and a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    from local_rag.server.place import Limits


class Connection(H11Protocol):
    """HTTP/1.1 with three limits more.

    A request head comes whole within `limits.request` seconds of its first byte, and the first one of the connection;
    of what is sent, something is taken in every `limits.slow_reader` seconds. Where `limits.connections` are open, a
    new one takes the place of the one that has waited longest for its client. Such a connection is aborted: closing
    alone would wait until the client has read what was written.
    """

    def __init__(self, *given: Any, limits: Limits, **named: Any) -> None:
        super().__init__(*given, **named)
        self._limits = limits
        self._head: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._idle_since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # `pause_writing` is called as soon as something is not taken
        self._time_head()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._time_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._time_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_timing_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timing()
        self._stop_timing_reader()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()

    @property
    def waits_for_client(self) -> bool:
        """Whether no request is under way: there is none, or it has not come whole."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _make_room(self) -> None:
        """Who opens connections and sends nothing keeps nobody else out."""
        others = [each for each in self.connections - {self} if isinstance(each, Connection) and each.waits_for_client]
        if others and len(self.connections) >= self._limits.connections:
            oldest = min(others, key=lambda each: each._idle_since)
            self.connections.discard(oldest)  # the loop calls its `connection_lost` later
            oldest.transport.abort()

    def _time_reader(self) -> None:
        """Abort where nothing more has been taken when the time is up; nothing is written in between."""
        unread = self.transport.get_write_buffer_size()

        def look_again() -> None:
            if self.transport.get_write_buffer_size() < unread:
                self._time_reader()
            else:
                self.transport.abort()

        self._unread = self.loop.call_later(self._limits.slow_reader, look_again)

    def _stop_timing_reader(self) -> None:
        if self._unread is not None:
            self._unread.cancel()

    def _time_head(self) -> None:
        """Let the clock run while no request is under way; further bytes of a head do not start it anew."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timing()
        elif self._head is None:
            self._head = self.loop.call_later(self._limits.request, self.transport.abort)

    def _stop_timing(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None
