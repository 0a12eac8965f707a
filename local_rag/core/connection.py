"""The connection of one request: whoever waits for the request can end it, from any thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any


class Connection:
    """Takes the socket of a request of httpx, whose extension `trace` is `trace`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.aborted = False

    def abort(self) -> None:
        """End the request, also one whose connection is only being made, and wake whoever is reading."""
        with self._lock:
            self.aborted = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Take the socket as soon as it is connected (the `trace` extension of httpcore)."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self.aborted:
                    self._shut()
