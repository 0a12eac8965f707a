"""Connect to an Ollama server in one way only: on this machine, without proxy and redirects, and without silent cuts.

OLLAMA_HOST, proxy variables and redirects can send a prompt to another machine through every layer of the client
libraries (ollama-python honours all three), so the guard sits below them, where bytes leave.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import httpx
from pydantic import BaseModel, ValidationError

from local_rag.core.address import LOOPBACK, OLLAMA_HOSTS, Address, check_local
from local_rag.core.cancel import Connection
from local_rag.core.errors import EngineError, LocalRagError, NotLocal, ServerDown, mistake_of
from local_rag.text.display import printable, shorten

CONNECT = 3.0
"""Seconds to wait for a connection; a server on this machine takes milliseconds."""

CUT = (httpx.RemoteProtocolError, httpx.ReadError)
"""The errors of a connection that ends in the middle of a reply."""

UNCUT = {"truncate": False, "shift": False}
"""Fields of every chat: reject a prompt that does not fit, and stop at the end of the window.

Neither client library can send them. `shift` must be the same in every call: a changed one loads the model again.
"""


LONGEST_MESSAGE = 300
"""The most characters of a server's message that are shown."""

LONGEST_LINE = 32_000_000
"""The most bytes of a line of a reply, or of a reply without lines; the longest real ones describe a model, in under 2
MB.
"""


_current: ContextVar[Connection | None] = ContextVar("local_rag_current", default=None)


@contextmanager
def over(connection: Connection) -> Iterator[None]:
    """Send the requests made inside over this connection."""
    token = _current.set(connection)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def within(seconds: float) -> Iterator[Connection]:
    """Abort the requests made inside after so many seconds.

    The client's own limits hold between two parts of a reply, and a reply may have any number of parts.
    """
    connection = _current.get() or Connection()
    timer = threading.Timer(seconds, connection.abort)
    timer.daemon = True
    timer.start()
    try:
        with over(connection):
            yield connection
    finally:
        timer.cancel()


class GuardedTransport(httpx.HTTPTransport):
    """Send requests to one address only, each over a connection of its own, so that each can be aborted."""

    def __init__(self, where: Address, allowed: Collection[str] = (), variable: str = OLLAMA_HOSTS) -> None:
        check_local(where, allowed, variable)
        super().__init__(
            verify=where.scheme == "https", trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
        )
        self._where = where

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request completely and only to the address. Raises NotLocal for another address and for a redirect."""
        url = request.url
        port = url.port or {"http": 80, "https": 443}.get(url.scheme)
        if Address(url.scheme, url.host, port or 0) != self._where:
            raise NotLocal(
                f"a request to {url.scheme}://{url.netloc.decode()} was refused: only {self._where} is asked"
            )
        response = self._send(request)
        if response.is_redirect:
            target = response.headers.get("location", "elsewhere")
            response.close()
            raise NotLocal(
                f"{self._where} redirects to {target}, which is not followed",
                hint="a server of models does not redirect: check which program uses that port",
            )
        if "content-encoding" in response.headers:
            response.close()
            raise EngineError(
                f"the program at {self._where} compresses what it sends, which was not asked for",
                hint="a server of models does not: check which program uses that port",
            )
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_Lines(cast("httpx.SyncByteStream", response.stream), self._where),
            extensions=response.extensions,
        )

    def _send(self, request: httpx.Request) -> httpx.Response:
        hosts = LOOPBACK if self._where.host == "localhost" else (self._where.host,)
        for host in hosts[:-1]:
            with suppress(httpx.ConnectError):
                return super().handle_request(_to(request, host))
        return super().handle_request(_to(request, hosts[-1]))


T = TypeVar("T", bound=BaseModel)


class Refused(Exception):
    """Report a server's error: its `status` and its words."""

    def __init__(self, status: int, text: str) -> None:
        self.status, self.said = status, _said_in(text) or "without a word"
        super().__init__(status, self.said)


def _said_in(text: str) -> str:
    """Return the message of a server's error; it stands in JSON, and may be JSON in a text again."""
    try:
        known = json.loads(text)
        error = known.get("error", known)
        said = error.get("message", error) if isinstance(error, dict) else error
        return _said_in(said) if isinstance(said, str) else one_line(json.dumps(said))
    except (ValueError, AttributeError, RecursionError):
        return one_line(text)


def one_line(message: str) -> str:
    """Shorten a server's error message to a part of a line."""
    return shorten(printable(message), LONGEST_MESSAGE)


class GuardedServer(ABC):
    """Ask one server over the guarded connection; `patience` is in seconds."""

    called: str
    """What the server is called in messages."""
    is_not: str
    """What a program is told to lack that does not answer as this kind of server does."""
    at_silence: str
    """The hint for a reply that does not come."""

    def __init__(self, where: Address, allowed: Collection[str], patience: float, variable: str = OLLAMA_HOSTS) -> None:
        self.address, self._patience = where, patience
        self.transport = GuardedTransport(where, allowed, variable)
        self._client = httpx.Client(
            transport=self.transport, base_url=where.url, trust_env=False, follow_redirects=False
        )

    def close(self) -> None:
        self._client.close()

    def __str__(self) -> str:
        return str(self.address)

    @abstractmethod
    def down(self) -> ServerDown:
        """Return the error that no server is there, with a hint how to get one."""

    @abstractmethod
    def refusal(self, refused: Refused, model: str) -> LocalRagError:
        """Convert the server's own error, with what to type."""

    def error_of(self, error: Exception, model: str = "", doing: str = "") -> LocalRagError:
        """Convert an error of the client to an error of this project, with what to type."""
        if isinstance(error, LocalRagError):
            return error
        if isinstance(error, httpx.HTTPStatusError):
            error = Refused(error.response.status_code, error.response.text or error.response.reason_phrase)
        if isinstance(error, Refused):
            return self.refusal(error, model)
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
            return self.down()
        if isinstance(error, httpx.TimeoutException):
            return EngineError(f"{self.called} at {self} did not answer in time ({doing})", hint=self.at_silence)
        if isinstance(error, httpx.HTTPError):
            return EngineError(f"the connection to {self.called} at {self} was cut: {error}", hint=self.down().hint)
        why = mistake_of(error.errors()[0]) if isinstance(error, ValidationError) else str(error)
        return EngineError(f"the program at {self} {self.is_not}: {why}"[:300], hint="local-rag doctor")

    def _asked(
        self, method: str, path: str, kind: type[T], model: str = "", body: Any = None, patience: float | None = None
    ) -> T:
        """Send a request and return the reply parsed as the given kind."""
        patience = patience or self._patience
        timeout = httpx.Timeout(patience, connect=min(patience, CONNECT))
        with within(patience) as connection:
            try:
                response = self._client.request(method, path, json=body, timeout=timeout)
                response.raise_for_status()
                return kind.model_validate_json(response.content)
            except (httpx.HTTPError, ValueError) as error:
                late = httpx.ReadTimeout("") if connection.aborted else error
                raise self.error_of(late, model, path) from error


class _Lines(httpx.SyncByteStream):
    """Limit the length of the lines of a body, because its reader keeps a line in memory until it is complete."""

    def __init__(self, body: httpx.SyncByteStream, where: Address) -> None:
        self._body, self._where = body, where

    def __iter__(self) -> Iterator[bytes]:
        length = 0
        for part in self._body:
            length = len(part) - part.rfind(b"\n") - 1 if b"\n" in part else length + len(part)
            if length > LONGEST_LINE:
                raise EngineError(
                    f"the program at {self._where} sends a line without end", hint="check which program uses that port"
                )
            yield part

    def close(self) -> None:
        self._body.close()


class NoTransport(httpx.AsyncBaseTransport):
    """Refuse the requests of the asynchronous client, which langchain-ollama also creates and nothing uses."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise NotLocal("local-rag has no asynchronous connection to Ollama")


def _to(request: httpx.Request, host: str) -> httpx.Request:
    """Return the request for this host, with `UNCUT` in its body if it is a chat."""
    extensions = dict(request.extensions)
    if (connection := _current.get()) is not None:
        extensions["trace"] = connection.trace
    headers = request.headers.copy()
    headers.pop("authorization", None)  # OLLAMA_API_KEY is for ollama.com, which is never asked
    headers["accept-encoding"] = "identity"
    body: dict[str, Any] = {"stream": request.stream}
    if request.method == "POST" and request.url.path == "/api/chat":
        headers.pop("content-length", None)
        body = {"content": json.dumps(json.loads(request.read()) | UNCUT, ensure_ascii=False).encode()}
    url = request.url.copy_with(host=host)
    return httpx.Request(request.method, url, headers=headers, extensions=extensions, **body)
