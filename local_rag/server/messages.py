"""What passes between a client and the application: a request within limits, a response with the headers of each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import anyio
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse

from local_rag.server.errors import ApiError, error_body, log_unknown, status_of

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Send

    from local_rag.server.place import Limits

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


class GuardedResponse:
    """Sends a response with the headers of each, and knows whether it has begun."""

    def __init__(self, send: Send, cors: dict[str, str]) -> None:
        self._send, self._cors, self.started = send, cors, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.update(self._cors)
            if self._cors and message["status"] == 204:
                headers["Access-Control-Allow-Methods"] = "GET, POST"
                headers["Access-Control-Allow-Headers"] = "authorization, content-type"
        await self._send(message)


class LimitedRequest:
    """Receives a request whose body is small and comes in time, whatever it says of its length. Raises ApiError."""

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self._receive, self._limits, self._bytes = receive, limits, 0
        self._deadline = anyio.current_time() + limits.request

    async def __call__(self) -> Message:
        try:
            with anyio.fail_after(self._deadline - anyio.current_time()):
                message = await self._receive()
        except TimeoutError as error:
            raise too_late(self._limits.request) from error
        if not message.get("more_body", False):
            self._deadline = math.inf
        self._bytes += len(message.get("body", b""))
        if self._bytes > self._limits.body:
            raise too_large(self._limits.body)
        return message


def error_response(error: Exception, what: str) -> JSONResponse:
    """The response that says what went wrong; an error that is none of ours is logged as one of `what`."""
    log_unknown(error, what)
    return JSONResponse(error_body(error), status_of(error), getattr(error, "headers", None))


def too_large(limit: int) -> ApiError:
    return ApiError(413, "too_large", f"a request has at most {limit:,} bytes")


def too_late(seconds: float) -> ApiError:
    """The rest of the body may come later; the connection is closed, for it cannot be told from the next request."""
    message = f"the body of this request did not come within {seconds:g} seconds"
    return ApiError(408, "too_late", message, "send the request again, whole", {"Connection": "close"})
