"""Server-Sent Events from an iterator that works on a thread (WHATWG HTML, section 9.2).

The iterator is read on a thread of its own. Where the client leaves, or reads too slowly, the iterator is told to stop,
and closed once it has: a generator that is at work on a thread cannot be closed from another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread

from local_rag.core.serialization import to_json
from local_rag.server.errors import error_object, log_unknown

if TYPE_CHECKING:
    from anyio.abc import ObjectReceiveStream, ObjectSendStream
    from starlette.types import Message, Receive, Send

    from local_rag.server.place import Limits

WAITING = 64
"""Events that wait for the client; then the iterator waits, too."""

HEARTBEAT = b": still here\n\n"
HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]


@dataclass(frozen=True)
class Events:
    """A stream of (name, value); each value is written as JSON. An exception of the iterator becomes an `error`.

    `stop` makes an iterator end soon that is waiting on its thread. It is called from another thread, however the
    stream ends, and maybe twice.
    """

    events: Iterator[tuple[str, Any]]
    stop: Callable[[], None] | None = None

    def end(self) -> None:
        """Tell the iterator to stop."""
        if self.stop is not None:
            self.stop()


def event_bytes(name: str, value: Any) -> bytes:
    """One event as it is sent; JSON has no line break of its own."""
    return f"event: {name}\ndata: {to_json(value, indent=None)}\n\n".encode("utf-8", "replace")


async def send_events(events: Events, limits: Limits, receive: Receive, send: Send) -> None:
    """Answer a request with the events, and with a comment after each `limits.heartbeat` seconds without one.

    A client that takes nothing for `limits.slow_reader` seconds is left; its connection is then closed.
    """
    sender, receiver = anyio.create_memory_object_stream[bytes](WAITING)
    async with anyio.create_task_group() as reading:
        reading.start_soon(_read, events, sender)
        try:
            async with anyio.create_task_group() as connection:
                connection.start_soon(_until_gone, receive, connection.cancel_scope)
                await _forward(receiver, send, limits)
                connection.cancel_scope.cancel()
        finally:
            receiver.close()
            events.end()


async def _until_gone(receive: Receive, connected: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    connected.cancel()


async def _forward(receiver: ObjectReceiveStream[bytes], send: Send, limits: Limits) -> None:
    """Send what comes until the iterator has ended, or the client reads no more."""

    async def within_time(message: Message) -> None:
        with anyio.fail_after(limits.slow_reader):
            await send(message)

    with suppress(TimeoutError):
        await within_time({"type": "http.response.start", "status": 200, "headers": HEADERS})
        while (chunk := await _next(receiver, limits.heartbeat)) is not None:
            await within_time({"type": "http.response.body", "body": chunk, "more_body": True})
        await within_time({"type": "http.response.body", "body": b"", "more_body": False})


async def _next(receiver: ObjectReceiveStream[bytes], seconds: float) -> bytes | None:
    """The next event, a heartbeat where none comes in time, None after the last."""
    try:
        with anyio.fail_after(seconds):
            return await receiver.receive()
    except TimeoutError:
        return HEARTBEAT
    except anyio.EndOfStream:
        return None


async def _read(events: Events, sender: ObjectSendStream[bytes]) -> None:
    """Read the iterator on a thread of its own, outside of the threads that answer short requests."""
    async with sender:
        await anyio.to_thread.run_sync(_read_here, events, sender, limiter=anyio.CapacityLimiter(1))


def _read_here(events: Events, sender: ObjectSendStream[bytes]) -> None:
    def put(name: str, value: Any) -> None:
        anyio.from_thread.run(sender.send, event_bytes(name, value))

    with suppress(anyio.BrokenResourceError, CancelledError):  # the client has left
        try:
            for name, value in events.events:
                put(name, value)
        except (anyio.BrokenResourceError, CancelledError):
            raise
        except Exception as error:
            log_unknown(error, "a stream")
            put("error", error_object(error))
        finally:
            close = getattr(events.events, "close", None)
            if close is not None:
                close()
