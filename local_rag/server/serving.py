"""Running the server: uvicorn until Ctrl-C, the browser at its beginning, every question stopped at its end."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread
import uvicorn

from local_rag.server.app import PageFirst
from local_rag.server.connection import Connection

if TYPE_CHECKING:
    from socket import socket

    from local_rag.server.listening import Listening
    from local_rag.server.place import Limits, Place

CLOSING = 2
"""Seconds that open responses are waited for at the end; questions are stopped before."""


def serve(place: Place, listening: Listening, started: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `started` is called once the server answers. The place is closed at the end."""
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # its lines quote requests
    served = PageFirst(place, listening.names)
    config = configured(served, place.limits)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # what uvicorn raises again after its end
    try:
        with suppress(KeyboardInterrupt):
            _Server(config, place, started, served.load).run(list(listening.sockets))
    finally:
        place.close()


def configured(app: Callable[..., Any], limits: Limits) -> uvicorn.Config:
    """How uvicorn serves an application."""
    return uvicorn.Config(
        app,
        http=cast("Any", partial(Connection, limits=limits)),  # uvicorn calls it as it does a class
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=CLOSING,
        limit_concurrency=limits.connections,
    )


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, place: Place, started: Callable[[], None], load: Callable[[], object]
    ) -> None:
        super().__init__(config)
        self._place, self._on_start, self._load = place, started, load

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        await anyio.to_thread.run_sync(self._on_start)
        threading.Thread(target=self._load, name="local-rag-api", daemon=True).start()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Stop the questions first: a stream ends by itself then, and nobody is waited for."""
        await anyio.to_thread.run_sync(self._place.stop)
        await super().shutdown(sockets)


def open_browser(address: str) -> bool:
    """Open an address in the person's browser; False where there is none to be seen."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False  # a browser of the terminal would take it away from the server
    with suppress(webbrowser.Error, OSError):
        return webbrowser.open(address)
    return False
