"""Server-Sent Events from an iterator that works on a thread (WHATWG HTML, section 9.2).

The iterator is read on a thread of its own. Where the client leaves, or is left because it reads too slowly
(`connection`), the iterator is told to stop, and closed once it has: a generator that is at work on a thread cannot be
closed from another.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread

from local_rag.core.serialization import to_json
from local_rag.server.errors import error_object, log_unknown

if TYPE_CHECKING:
    from anyio.abc import ObjectReceiveStream, ObjectSendStream
    from starlette.types import Receive, Send

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
    """Answer a request with the events, and with a comment after each `limits.heartbeat` seconds without one."""
    sender, receiver = anyio.create_memory_object_stream[bytes](WAITING)
    async with anyio.create_task_group() as reading:
        reading.start_soon(_read, events, sender)
        try:
            async with while_connected(receive):
                await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
                while (chunk := await _next(receiver, limits.heartbeat)) is not None:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            receiver.close()
            events.end()


@asynccontextmanager
async def while_connected(receive: Receive, left: Callable[[], None] = lambda: None) -> AsyncIterator[None]:
    """Cancel the block when the client leaves, and call `left` then. The body of the request was received before."""

    async def until_gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        left()
        connection.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as connection:
            connection.start_soon(until_gone)
            yield
            connection.cancel_scope.cancel()
    except ExceptionGroup as errors:  # the group's way to say what the block raised
        raise errors.exceptions[0] from None


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
