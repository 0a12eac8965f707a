"""Run work for asyncio on a thread, so that no event loop waits for it and cancelling the task stops it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, suppress
from contextvars import copy_context
from typing import TypeVar

from local_rag.core import cancel

T = TypeVar("T")

_CLOSING = 1.0
"""Seconds to wait for stopped work to clean up; the event loop goes on meanwhile."""


async def on_a_thread(work: Callable[[], T]) -> T:
    """Return the result of `work()`; cancelling the awaiting task stops the work at its next `cancel.check()`."""
    async with aclosing(items_on_a_thread(lambda: [work()])) as results:
        return await anext(results)


async def items_on_a_thread(begin: Callable[[], Iterable[T]]) -> AsyncGenerator[T]:
    """Yield the items of `begin()` as they come; closing the generator, as a cancelled task does, stops the work."""
    loop, stop, told = asyncio.get_running_loop(), cancel.Cancel(outer=cancel.current()), asyncio.Queue[_Told[T]]()

    def tell(what: _Told[T]) -> None:
        with suppress(RuntimeError):  # the loop has ended, so nobody waits
            loop.call_soon_threadsafe(told.put_nowait, what)

    def work() -> None:
        ended: BaseException | None = None
        try:
            with cancel.scope(stop):
                for item in begin():
                    tell([item])
        except BaseException as error:
            ended = error
        tell(ended)

    last: _Told[T] = []
    threading.Thread(target=copy_context().run, args=(work,), name="local-rag-async", daemon=True).start()
    try:
        while isinstance(last := await told.get(), list):
            yield last[0]
        if last is not None:
            raise last
    finally:
        stop.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING):
                while isinstance(last, list):
                    last = await told.get()


_Told = list[T] | BaseException | None
"""A list of one item, or the error that ended the work, or None at its normal end."""
