"""Decide who may ask, in one layer that every request passes first.

A request needs either the key, which only its owner can read in `DATA/server/key`, or the session of a page. A browser
gets a session for a code that is made with the key and works once; the session ends with the process. A session is
a cookie and a secret: browsers send the cookie to every server of this machine, whatever its port, but only pages of
this port can read the secret.
Behind `TrustedHostMiddleware`, which refuses every `Host` but loopback, this layer refuses:

- a request of another origin, by `Origin` or `Sec-Fetch-Site`: 403; only the page itself can be navigated to;
- all but the files of the page without the key, or below /api the cookie and either the secret in a header or an
  address signed with it: 401;
- a POST that is not JSON: 415; a body of more than 1 MiB: 413; a body that does not arrive in time: 408;
- a request while a hundred others are under way: 429.

The connection of a client that reads nothing of its response for half a minute is closed.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import anyio
from fastapi import Depends, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local_rag.core.private_files import make_folder, replace_file
from local_rag.server.errors import ApiError, error_response

FOLDER = "server"
KEY_BYTES = 32
HOSTS = ("localhost", "127.0.0.1", "[::1]")
SECRET = "x-local-rag-page"
"""The header in which the page sends its secret."""
FILES = re.compile(r"/|/favicon\.ico|/page/.*")
"""The paths of the page, which need no key; the session of a page is valid only below /api."""
KEY = "local-rag serve --print-key"
AGAIN = "local-rag serve --print-url   prints the address of the running server"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""The headers of every response, unless it sets its own."""

Caller = Literal["cookie", "key"]
"""The kinds of callers: a page with the cookie of its browser, or a program with the key."""


@dataclass(frozen=True)
class Limits:
    """Set the limits of a server, in seconds, bytes, and numbers of simultaneous requests.

    At most `waiting` questions wait behind the one that runs; `heavy` searches and page drawings run at a time, and
    `heavy_waiting` more may wait.
    """

    requests: int = 100
    waiting: int = 8
    heavy: int = 4
    heavy_waiting: int = 16
    body: int = 1 << 20
    request: float = 20.0
    slow_reader: float = 30.0
    heartbeat: float = 10.0


class Access:
    """Hold the key of the data folder, and the session of this server that all signed-in pages share."""

    def __init__(self, data_folder: Path, port: int) -> None:
        self.key, self.session = read_key(data_folder), secrets.token_urlsafe(KEY_BYTES)
        self.secret = secrets.token_urlsafe(KEY_BYTES)
        self.cookie = f"local-rag-{port}"  # browsers do not tell the ports of a host apart
        self._began, self._spent, self._lock = time.time_ns(), set[str](), threading.Lock()

    def spends(self, code: str) -> bool:
        """Use up a code; return whether it was made with the key since this server began and was still unused."""
        moment, _, signature = code.rpartition("-")
        made = re.match(r"[0-9a-f]{1,20}(?=-)", moment)
        if not (made and int(made[0], 16) >= self._began and is_same(signature, _signature(self.key, moment))):
            return False
        with self._lock:
            fresh = code not in self._spent
            self._spent.add(code)
        return fresh

    def has_signed(self, address: str) -> bool:
        """Return whether the page has signed an address (path and query), as it does where it can send no header.

        The page signs the addresses of pictures, for instance: the value of `pass=` at the end is the HMAC of all text
        before the value, by the secret.
        """
        signed, _, given = address.rpartition("pass=")
        expected = hmac.new(self.secret.encode(), signed.encode(), "sha256").hexdigest()
        return is_same(given, expected)

    def caller(self, headers: Headers, address: str) -> Caller:
        """Return who asks for an address; raise ApiError for anyone who may not.

        An Authorization header alone decides, whatever the cookie says.
        """
        if (given := headers.get("authorization")) is not None:
            scheme, _, key = given.partition(" ")
            if scheme.lower() == "bearer" and is_same(key.strip(), self.key):
                return "key"
            raise ApiError(401, "unauthorized", "this is not the key of this server", KEY)
        session = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        from_page = is_same(headers.get(SECRET, ""), self.secret) or self.has_signed(address)
        if is_same(session, self.session) and from_page:
            return "cookie"
        raise ApiError(401, "unauthorized", "this page is not signed in to the running server", AGAIN)


def new_code(key: str) -> str:
    """Return a code that signs a browser in once, at the server that runs now."""
    moment = f"{time.time_ns():x}-{secrets.token_hex(8)}"
    return f"{moment}-{_signature(key, moment)}"


def _signature(key: str, moment: str) -> str:
    return hmac.new(key.encode(), f"code {moment}".encode(), "sha256").hexdigest()


def is_same(given: str, expected: str) -> bool:
    """Return whether two texts are equal, compared in constant time."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def read_key(data_folder: Path) -> str:
    """Return the key, after making one if its file is missing or damaged; raise OSError."""
    path = data_folder / FOLDER / "key"
    key = path.read_text(encoding="ascii", errors="replace").strip() if path.exists() else ""
    if len(key) < KEY_BYTES:
        key = secrets.token_urlsafe(KEY_BYTES)
        make_folder(path.parent)
        replace_file(path, f"{key}\n".encode())
    return key


def caller_of(request: Request) -> Caller:
    caller: Caller = request.scope["local_rag.caller"]
    return caller


def person_only(request: Request) -> None:
    """Raise ApiError for a program, as the endpoint is only for a person at the page."""
    if caller_of(request) != "cookie":
        raise ApiError(403, "forbidden", "this is for a person at the page; the key cannot do it")


Asking = Annotated[Caller, Depends(caller_of)]


class Guard:
    """Check every request before the application; pages of the other `origins` may use the key."""

    def __init__(self, app: ASGIApp, access: Access, limits: Limits, origins: Collection[str] = ()) -> None:
        self.app, self.access, self.limits, self.origins = app, access, limits, frozenset(origins) - {"*"}
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        response = _Response(send, self.limits.slow_reader)
        self._under_way += 1
        try:
            scope["local_rag.caller"] = self._admitted(scope, Headers(scope=scope))
            come = [{"type": "http.request", "body": await self._body(receive), "more_body": False}]

            async def received() -> Message:
                """Return the body that was read, and afterwards the next messages of the client."""
                return come.pop() if come else await receive()

            await self.app(scope, received, response)
        except Exception as error:
            if response.started and isinstance(error, TimeoutError):
                return  # the client takes nothing: the connection is closed
            answer = error_response(error, "a request", scope["path"])
            if not response.started:
                await answer(scope, receive, response)
        finally:
            self._under_way -= 1

    def _admitted(self, scope: Scope, headers: Headers) -> Caller | None:
        """Return who asks, or None for the files of the page, which need no key; raise ApiError to refuse a request."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        listed = origin in self.origins
        foreign = origin not in (None, f"http://{headers.get('host')}") or site not in ("same-origin", "none")
        navigates = scope["path"] == "/" and origin is None and headers.get("sec-fetch-mode") == "navigate"
        if foreign and not (listed or navigates):
            raise ApiError(403, "forbidden", "a page of another site asked for this, and none may")
        if self._under_way > self.limits.requests:
            raise ApiError(429, "busy", f"{self.limits.requests} requests are under way", "close a page, or try again")
        if FILES.fullmatch(scope["path"]):
            return None
        if (listed or not scope["path"].startswith("/api/")) and "authorization" not in headers:
            raise ApiError(401, "unauthorized", "this needs the key: Authorization: Bearer KEY", KEY)
        address = f"{scope['raw_path'].decode('latin-1')}?{scope['query_string'].decode('latin-1')}"
        caller = self.access.caller(headers, address if scope["method"] == "GET" else "")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and kind != "application/json":
            raise ApiError(415, "media_type", "a POST is JSON here: Content-Type: application/json")
        return caller

    async def _body(self, receive: Receive) -> bytes:
        """Read the body of a request; raise ApiError if it is too large or too late, whatever length it declares."""
        body, limits = bytearray(), self.limits
        try:
            with anyio.fail_after(limits.request):
                while (message := await receive())["type"] == "http.request":
                    body += message.get("body", b"")
                    if len(body) > limits.body:
                        raise ApiError(413, "too_large", f"a request has at most {limits.body:,} bytes")
                    if not message.get("more_body", False):
                        break
        except TimeoutError as error:
            why = f"the body of this request did not come within {limits.request:g} seconds"
            close = {"Connection": "close"}  # what comes later cannot be told from the next request
            raise ApiError(408, "too_late", why, "send the request again, whole", close) from error
        return bytes(body)


class _Response:
    """Send a response with `HEADERS`; raise TimeoutError for a client that does not read it."""

    def __init__(self, send: Send, patience: float) -> None:
        self._send, self._patience, self.started = send, patience, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        with anyio.fail_after(self._patience):
            await self._send(message)
