"""HTTP for the loopback Ollama: a server that can see a client hang up, and that closes in the middle of anything."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

JSON = "application/json; charset=utf-8"
NDJSON = "application/x-ndjson"


class Gone(Exception):
    """The client hung up."""


class Closed(Exception):
    """The server is closing."""


class Wire:
    """One connection while a request is answered on it."""

    def __init__(self, handler: Any, bell: socket.socket) -> None:
        """`bell` becomes readable, and stays so, when the server closes."""
        self._handler, self._bell = handler, bell
        self.started = self._chunked = False

    def check(self, seconds: float = 0) -> None:
        """Wait; raises Gone or Closed as soon as that has happened."""
        until, watched = time.monotonic() + seconds, [self._bell, self._handler.connection]
        while True:
            ready, _, _ = select.select(watched, [], [], max(0.0, until - time.monotonic()))
            if self._bell in ready:
                raise Closed
            if not ready:
                return
            if self._aborted():
                raise Gone
            watched = [self._bell]

    def _aborted(self) -> bool:
        try:
            return self._handler.connection.recv(1, socket.MSG_PEEK) == b""
        except ConnectionError:
            return True

    def start(self, status: int, kind: str, length: int | None = None, **headers: str) -> None:
        """Status and headers; without a length the body is sent in chunks."""
        self.started, self._chunked = True, length is None
        self._handler.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self._handler.send_header(name, value)
        framing = ("Transfer-Encoding", "chunked") if length is None else ("Content-Length", str(length))
        self._handler.send_header(*framing)
        self._write(self._handler.end_headers)

    def write(self, data: bytes) -> None:
        """A part of the body, at once."""
        if data and self._handler.command != "HEAD":
            whole = b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data
            self._write(self._handler.wfile.write, whole)

    def end(self) -> None:
        """The body is complete."""
        if self._chunked:
            self._write(self._handler.wfile.write, b"0\r\n\r\n")

    def drop(self) -> None:
        """The connection ends here, complete or not."""
        self._handler.close_connection = True

    def whole(self, status: int, kind: str, data: bytes, **headers: str) -> None:
        """A body that is there at once: Go announces its length up to 2,048 bytes, and sends chunks above."""
        self.start(status, kind, len(data) if len(data) <= 2048 else None, **headers)
        self.write(data)
        self.end()

    def json(self, status: int, value: Any) -> None:
        """A JSON body."""
        self.whole(status, JSON, encode(value))

    def _write(self, write: Callable[..., Any], *data: bytes) -> None:
        try:
            write(*data)
        except (ConnectionError, TimeoutError) as error:
            raise Gone from error


def encode(value: Any) -> bytes:
    """JSON as Go writes it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").encode()


def now(seconds: float = 0) -> str:
    """The time as Go writes it, `seconds` from now."""
    at = datetime.fromtimestamp(time.time() + seconds, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}789Z"


@dataclass
class Request:
    """What came in."""

    method: str
    path: str
    body: Any
    """The JSON value; None without a body, or with one that is not JSON."""
    headers: dict[str, str]
    """Names in small letters."""
    at: float
    """time.monotonic()"""
    aborted: bool = False
    """The client closed the connection before the reply had ended."""
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when the server is through with it."""


class Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        answer: Callable[[Wire, Request, bool], None],
        fail: Callable[[BaseException], None],
        bell: socket.socket,
    ) -> None:
        """`answer` gets every request, with True where its body is not JSON; `fail` what nobody caught."""
        self.answer, self.fail, self.bell = answer, fail, bell
        self.open: dict[socket.socket, threading.Event] = {}
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        """Without the name lookup of HTTPServer."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open[request] = threading.Event()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        ended = self.open[request]
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.open.pop(request)
            ended.set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is none."""
        failure = sys.exc_info()[1]
        if failure and not isinstance(failure, (ConnectionError, TimeoutError)):
            self.fail(failure)

    def abort(self) -> None:
        """Wakes every thread that reads from a client, and waits until it has ended."""
        for connection, ended in list(self.open.items()):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            if not ended.wait(5):
                self.fail(AssertionError("a connection did not end"))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Http

    def _handle(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        bad, body = False, None
        if data:
            try:
                body = json.loads(data)
            except ValueError:
                bad = True
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path.partition("?")[0], body, headers, time.monotonic())
        self.server.answer(Wire(self, self.server.bell), request, bad)

    do_GET = do_HEAD = do_POST = do_DELETE = _handle

    def log_message(self, format: str, *arguments: Any) -> None:
        pass
