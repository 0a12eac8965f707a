"""The guard: the one place that decides which requests are answered. It is the outermost layer of the application.

It looks up the endpoint of a request and calls nothing without one. What it refuses, and with which status:

- a `Host` that is neither loopback nor listed: 421, on every path (DNS rebinding);
- a method other than GET and POST, an unknown path: 405, 404;
- a request from another origin, by `Origin` or `Sec-Fetch-Site`: 403; only the page itself can be navigated to;
- data without a session or the key: 401; what only a page may do, with the key: 403;
- a POST that is not JSON: 415; a request with more than 1 MiB: 413; one whose body does not come in time: 408.

Each response gets the headers of `messages.HEADERS`. No response has CORS headers, but those to an origin of
`api.allow_origins`, whose pages need the key.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.routing import Match, Route

from local_rag.server.endpoints import Caller, Endpoint
from local_rag.server.errors import ApiError
from local_rag.server.host_names import host_name, is_loopback
from local_rag.server.messages import GuardedResponse, LimitedRequest, error_response, too_large

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from local_rag.server.place import Limits
    from local_rag.server.sessions import Sessions

AGAIN = "local-rag serve --print-url   prints a new address for the running server"


class GuardedRoute(Route):
    """A route that the guard lets through: one with an endpoint.

    It is matched with the path as it was sent, whose parameters are decoded afterwards: a `/` in a name is sent as %2F.
    """

    about: Endpoint

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        sent = scope.get("raw_path") or quote(scope["path"]).encode()
        match, about = super().matches({**scope, "path": sent.decode("latin-1")})
        if match != Match.NONE:
            about["path_params"] = {name: unquote(value) for name, value in about["path_params"].items()}
        return match, about


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the guard has found about a request. `session` is empty where there is none.

    `client` is the address that a request without a session comes from.
    """

    endpoint: Endpoint
    caller: Caller | None
    session: str = ""
    client: str = ""


class Guard:
    """Wraps an application. `hosts` are names besides loopback; `origins` those of pages that may use the key."""

    def __init__(
        self,
        app: ASGIApp,
        routes: Sequence[GuardedRoute],
        sessions: Sessions,
        limits: Limits,
        *,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
    ) -> None:
        self.app, self.routes, self.sessions, self.limits = app, routes, sessions, limits
        self.hosts = {name.casefold() for name in hosts}
        self.origins = frozenset(origins) - {"*"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        response = GuardedResponse(send, self._cors(headers))
        try:
            if self._is_preflight(scope, headers):
                await Response(status_code=204)(scope, receive, response)
                return
            scope["local_rag.allowed"] = self.check(scope, headers)
            await self.app(scope, LimitedRequest(receive, self.limits), response)
        except Exception as error:
            answer = error_response(error, "a request")
            if not response.started:
                await answer(scope, receive, response)

    def check(self, scope: Scope, headers: Headers) -> Allowed:
        """What is to be answered, and to whom. Raises ApiError for what is not."""
        host = self._host(headers)
        endpoint = self._endpoint(scope)
        allowed_origin = self._same_origin(scope, headers, host, endpoint)
        if scope["method"] == "POST":
            self._json(headers)
        if endpoint.access == "open" and allowed_origin:
            raise ApiError(403, "forbidden", "a page of another origin does not sign in, it needs the key")
        if endpoint.access in ("shell", "open"):
            return Allowed(endpoint, None, client=(scope.get("client") or ("",))[0])
        caller, session = self._caller(headers)
        if endpoint.access == "session" and caller == "key":
            raise ApiError(403, "forbidden", "this is for a person at the page; the key cannot do it")
        if allowed_origin and caller != "key":
            raise ApiError(403, "forbidden", "a page of another origin needs the key: Authorization: Bearer KEY")
        return Allowed(endpoint, caller, session)

    def _host(self, headers: Headers) -> str:
        hosts = headers.getlist("host")
        name = host_name(hosts[0]) if len(hosts) == 1 else ""
        if not (is_loopback(name) or name in self.hosts):
            raise ApiError(
                421, "misdirected", "this server does not answer under that name", "local-rag serve --allow-host NAME"
            )
        return hosts[0].casefold()

    def _endpoint(self, scope: Scope) -> Endpoint:
        matching = self.at(scope)
        for endpoint in matching:
            if endpoint.method == scope["method"]:
                return endpoint
        if methods := sorted({endpoint.method for endpoint in matching}):
            allow = {"Allow": ", ".join(methods)}
            raise ApiError(405, "method", f"this path takes {' and '.join(methods)}", headers=allow)
        raise ApiError(404, "not_found", "there is nothing at this address", "docs/api.md lists what there is")

    def at(self, scope: Scope) -> Sequence[Endpoint]:
        """The endpoints with the path of a request, whatever its method."""
        return [route.about for route in self.routes if _is_for(route, scope)]

    def _same_origin(self, scope: Scope, headers: Headers, host: str, endpoint: Endpoint) -> bool:
        """Whether the origin is one of `api.allow_origins`. Raises ApiError for any other foreign one."""
        origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
        if len(origins) == 1 and origins[0] in self.origins:
            return True
        navigated = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"
        if endpoint.access == "shell" and scope["method"] == "GET" and navigated and not origins:
            return False
        foreign = [origin for origin in origins if origin.casefold() not in (f"http://{host}", f"https://{host}")]
        if foreign or any(site not in ("same-origin", "none") for site in sites):
            raise ApiError(403, "forbidden", "a page of another site asked for this, and none may")
        return False

    def _json(self, headers: Headers) -> None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ApiError(415, "media_type", "a POST is JSON here: Content-Type: application/json")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.limits.body:
            raise too_large(self.limits.body)

    def _caller(self, headers: Headers) -> tuple[Caller, str]:
        """How the request shows that it may, and its session. A header that names a key is conclusive."""
        if given := headers.getlist("authorization"):
            scheme, _, key = given[0].partition(" ")
            if len(given) == 1 and scheme.lower() == "bearer" and self.sessions.is_key(key.strip()):
                return "key", ""
            raise ApiError(401, "unauthorized", "this is not the key of this server", "local-rag serve --print-key")
        session = cookie_parser(headers.get("cookie", "")).get(self.sessions.cookie, "")
        if session and self.sessions.holds(session):
            return "cookie", session
        raise ApiError(401, "unauthorized", "this page is not signed in to the running server", AGAIN)

    def _cors(self, headers: Headers) -> dict[str, str]:
        origin = headers.get("origin", "")
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"} if origin in self.origins else {}

    def _is_preflight(self, scope: Scope, headers: Headers) -> bool:
        """Whether a browser asks if a page of an allowed origin may send the key."""
        if scope["method"] != "OPTIONS" or headers.get("origin", "") not in self.origins:
            return False
        self._host(headers)
        return True


def _is_for(route: Route, scope: Scope) -> bool:
    """Whether a route with an endpoint has this path, with any method."""
    return isinstance(route, GuardedRoute) and route.matches(scope)[0] != Match.NONE
