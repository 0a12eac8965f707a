"""The one way to an Ollama server: this machine only, no proxy, no redirect, nothing cut in silence.

OLLAMA_HOST, proxy variables and redirects can send a prompt elsewhere through every layer of the client libraries
(ollama-python honours all three), so the guard sits below them, where bytes leave.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from local_rag.errors import NotLocal, UsageError

PORT = 11434
LOOPBACK = ("127.0.0.1", "::1")
"""What `localhost` is taken for, in this order, without asking any resolver."""

CONNECT = 3.0
"""Seconds to wait for a connection; a server on this machine takes milliseconds."""

WHOLE = {"truncate": False, "shift": False}
"""Fields of every chat: reject a prompt that does not fit, and stop at the end of the window.

Neither client library can send them. `shift` must be the same in every call: a changed one loads the model again.
"""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __str__(self) -> str:
        return self.url.removeprefix("http://")

    @property
    def is_local(self) -> bool:
        return self.host == "localhost" or _is_loopback(self.host)


def address(text: str) -> Address:
    """Read `host`, `host:port` or a URL, as OLLAMA_HOST is read; 0.0.0.0 and :: are what a server listens on, here.

    Raises UsageError for anything else.
    """
    given = text.strip().strip("\"'")
    wrong = UsageError(
        f"an address of Ollama is host, host:port or a URL, not {text!r}", hint=f"127.0.0.1:{PORT} is the usual one"
    )
    if given.count(":") > 1 and "//" not in given and not given.startswith("["):
        given = f"[{given}]"  # a bare IPv6 address
    has_scheme = "://" in given
    try:
        parts = urlsplit(given if has_scheme else f"http://{given}")
        port = parts.port
    except ValueError as error:
        raise wrong from error
    beside = parts.username is not None or parts.query or parts.fragment or parts.path.strip("/")
    if parts.scheme not in ("http", "https") or beside or any(character.isspace() for character in given):
        raise wrong
    if has_scheme and not parts.hostname:
        raise wrong
    usual = {"http": 80, "https": 443}[parts.scheme] if has_scheme else PORT
    host = (parts.hostname or "localhost").rstrip(".")
    return Address(parts.scheme, {"0.0.0.0": LOOPBACK[0], "::": LOOPBACK[1]}.get(host, host), port or usual)


def check_local(where: Address, allowed: Collection[str]) -> None:
    """Raise NotLocal for another machine, unless its host is allowed by name."""
    if not where.is_local and where.host not in allowed:
        raise NotLocal(
            f"{where} is not this machine, so nothing was sent to it",
            hint=f"if it is yours, allow it by name: LOCAL_RAG_OLLAMA_ALLOW_HOSTS={where.host}",
        )


class Line:
    """The connection of one call. `hang_up` may come from any thread and wakes whoever is reading."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.hung_up = False

    def hang_up(self) -> None:
        with self._lock:
            self.hung_up = True
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
                if self.hung_up:
                    self._shut()


_line: ContextVar[Line | None] = ContextVar("local_rag_line", default=None)


@contextmanager
def on(line: Line) -> Iterator[None]:
    """Requests made inside go over this line."""
    token = _line.set(line)
    try:
        yield
    finally:
        _line.reset(token)


class GuardedTransport(httpx.HTTPTransport):
    """Speaks to one address and to nothing else. A connection per request, so that each can be hung up."""

    def __init__(self, where: Address, allowed: Collection[str] = ()) -> None:
        check_local(where, allowed)
        super().__init__(
            verify=where.scheme == "https", trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
        )
        self._where = where

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send it, whole and only there. Raises NotLocal for another address and for a redirect."""
        url = request.url
        port = url.port or {"http": 80, "https": 443}.get(url.scheme)
        if Address(url.scheme, url.host, port or 0) != self._where:
            raise NotLocal(
                f"a request to {url.scheme}://{url.netloc.decode()} was refused: only {self._where} is asked"
            )
        response = self._send(_whole(request))
        if response.is_redirect:
            target = response.headers.get("location", "elsewhere")
            response.close()
            raise NotLocal(
                f"{self._where} redirects to {target}, which is not followed",
                hint="an Ollama server does not redirect: see what listens on that port",
            )
        return response

    def _send(self, request: httpx.Request) -> httpx.Response:
        hosts = LOOPBACK if self._where.host == "localhost" else (self._where.host,)
        for host in hosts[:-1]:
            with suppress(httpx.ConnectError):
                return super().handle_request(_to(request, host))
        return super().handle_request(_to(request, hosts[-1]))


class NoTransport(httpx.AsyncBaseTransport):
    """For the asynchronous client that langchain-ollama makes as well and nobody uses."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise NotLocal("local-rag has no asynchronous connection to Ollama")


def _to(request: httpx.Request, host: str) -> httpx.Request:
    extensions = dict(request.extensions)
    if (line := _line.get()) is not None:
        extensions["trace"] = line.trace
    headers = request.headers.copy()
    headers.pop("authorization", None)  # OLLAMA_API_KEY is for ollama.com, which is never asked
    return httpx.Request(
        request.method, request.url.copy_with(host=host), headers=headers, stream=request.stream, extensions=extensions
    )


def _whole(request: httpx.Request) -> httpx.Request:
    """The request with `WHOLE` in its body, if it is a chat."""
    if request.method != "POST" or request.url.path != "/api/chat":
        return request
    body = json.dumps(json.loads(request.read()) | WHOLE, ensure_ascii=False).encode()
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
    return httpx.Request(request.method, request.url, headers=headers, content=body, extensions=request.extensions)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
