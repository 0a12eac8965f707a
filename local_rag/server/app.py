"""The application: every endpoint as a route behind the guard."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, get_origin

import anyio.to_thread
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest

from local_rag.core.cancel import Cancel, scope
from local_rag.core.errors import Stopped
from local_rag.server import api, shell
from local_rag.server.api import health
from local_rag.server.endpoints import FROM_GUARD, Endpoint, Request
from local_rag.server.errors import ApiError, invalid
from local_rag.server.guard import Allowed, Guard, GuardedRoute
from local_rag.server.messages import error_response
from local_rag.server.responses import response_of
from local_rag.server.sse import Events, send_events, while_connected

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from local_rag.server.place import Place


def endpoints() -> list[Endpoint]:
    """All endpoints: those of each module of `api`, and the files of the page."""
    modules = [import_module(f"{api.__name__}.{module.name}") for module in iter_modules(api.__path__)]
    return [*(endpoint for module in modules for endpoint in module.ENDPOINTS), *shell.ENDPOINTS]


def application(place: Place, *, hosts: Collection[str] = (), served: Sequence[Endpoint] | None = None) -> Guard:
    """What a server runs: an ASGI application, its outermost layer the guard.

    `hosts` are the names besides loopback that it answers under; `served` are by default all endpoints.
    """
    streams = _Streams(place.limits.streams)
    routes = [_route(endpoint, place, streams) for endpoint in (endpoints() if served is None else served)]
    return Guard(
        Starlette(routes=routes),
        routes,
        place.sessions,
        place.limits,
        hosts=hosts,
        origins=place.settings.values.api.allow_origins,
    )


class PageFirst:
    """A server's application that serves the page and signs in at once; a request to the rest of the API waits for it.

    What the rest imports takes half a second of a processor, and a page is seen without.
    """

    def __init__(self, place: Place, hosts: Collection[str] = ()) -> None:
        self._make = partial(application, place, hosts=hosts)
        self._page = self._make(served=[*health.ENDPOINTS, *shell.ENDPOINTS])
        self._whole: Guard | None = None
        self._loading = threading.Lock()

    def load(self) -> Guard:
        """The application with every endpoint."""
        with self._loading:
            if self._whole is None:
                self._whole = self._make()
            return self._whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_of_page = scope["type"] != "http" or any(self._page.at(scope))
        whole = self._whole or (None if is_of_page else await anyio.to_thread.run_sync(self.load))
        await (whole or self._page)(scope, receive, send)


def _route(endpoint: Endpoint, place: Place, streams: _Streams) -> GuardedRoute:
    route = GuardedRoute(endpoint.path, _Served(endpoint, place, streams), methods=[endpoint.method])
    route.about = endpoint
    return route


class _Streams:
    """Counts the streams that are open, by who asked for them."""

    def __init__(self, limit: int) -> None:
        self._limit, self._open = limit, Counter[str]()

    @contextmanager
    def counted(self, client: str) -> Iterator[None]:
        """A block in which a client has another stream open. Raises ApiError where it has as many as it may."""
        if self._open[client] >= self._limit:
            raise ApiError(429, "busy", f"{self._limit} streams are open, and no client may have more", "close a page")
        self._open[client] += 1
        try:
            yield
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]


class _Served:
    """An endpoint as an ASGI application. It answers nothing that the guard has not let through for it."""

    def __init__(self, endpoint: Endpoint, place: Place, streams: _Streams) -> None:
        self.endpoint, self.place, self.streams = endpoint, place, streams
        self._heavy, self._heavy_requests = anyio.CapacityLimiter(place.limits.heavy), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        allowed: Allowed | None = scope.get("local_rag.allowed")
        if allowed is None or allowed.endpoint is not self.endpoint:
            raise ApiError(403, "forbidden", "the guard has not seen this request")
        try:
            request = await self._request(HttpRequest(scope, receive), allowed)
            if self.endpoint.response is Events:
                with self.streams.counted(allowed.session or str(allowed.caller)):
                    events = await anyio.to_thread.run_sync(self.endpoint.handler, self.place, request)
                    await send_events(events, self.place.limits, receive, send)
                return
            if self.endpoint.heavy:
                response = await self._answered_if_wanted(request, receive)
            else:
                response = await anyio.to_thread.run_sync(self._answered, request)
        except Exception as error:
            response = error_response(error, f"{self.endpoint.method} {self.endpoint.path}")
        await response(scope, receive, send)

    def _answered(self, request: Request, cancel: Cancel | None = None) -> Response:
        """The response. It is written on a thread, too: a long list takes a while."""
        with scope(cancel or Cancel()):
            return response_of(self.endpoint.handler(self.place, request), self.place.sessions)

    async def _answered_if_wanted(self, request: Request, receive: Receive) -> Response:
        """As `_answered`, on one of the few threads of a heavy endpoint, while the client waits for it.

        Raises ApiError where too many wait already, Stopped where the client has left.
        """
        limits, cancel = self.place.limits, Cancel()
        if self._heavy_requests >= limits.heavy + limits.heavy_waiting:
            raise ApiError(429, "busy", f"{limits.heavy_waiting} requests like this are waiting already", "try again")
        self._heavy_requests += 1
        try:
            async with while_connected(receive, cancel.stop):
                return await anyio.to_thread.run_sync(self._answered, request, cancel, limiter=self._heavy)
        finally:
            self._heavy_requests -= 1
        raise Stopped("the client has left")

    async def _request(self, http: HttpRequest, allowed: Allowed) -> Request:
        """What the handler is asked. Raises ApiError for what does not fit its model."""
        model = self.endpoint.request
        given = await self._given(http)
        own = {name: getattr(allowed, name) for name in FROM_GUARD if name in model.model_fields}
        for name in (*http.path_params, *FROM_GUARD):
            if name in given:
                raise ApiError(400, "usage", f"there is no parameter {name!r} here", "docs/api.md lists them")
        try:
            return model.model_validate({**given, **http.path_params, **own})
        except ValidationError as error:
            raise invalid(error) from error

    async def _given(self, http: HttpRequest) -> dict[str, Any]:
        """The parameters besides those of the path. The files of the page take none, whatever a link adds to them."""
        try:
            await http.body()
        except ClientDisconnect as error:
            raise Stopped("the client has left") from error
        if self.endpoint.access == "shell":
            return {}
        return _query(http, self.endpoint.request) if self.endpoint.method == "GET" else await _body(http)


def _query(http: HttpRequest, model: type[Request]) -> dict[str, Any]:
    """The query string: one value per name, or a list where the model has one."""
    given: dict[str, Any] = {}
    for name in http.query_params:
        values = http.query_params.getlist(name)
        field = model.model_fields.get(name)
        listed = field is not None and get_origin(field.annotation) in (list, tuple, Sequence)
        if len(values) > 1 and not listed:
            raise ApiError(400, "usage", f"{name} is given once, not {len(values)} times")
        given[name] = values if listed else values[0]
    return given


async def _body(http: HttpRequest) -> dict[str, Any]:
    """The JSON object of a POST; nothing stands for an empty one."""
    try:
        value = json.loads(await http.body() or b"{}")
        json.dumps(value, ensure_ascii=False).encode()  # JSON can write half of a character, and text cannot
    except UnicodeError as error:
        raise ApiError(400, "usage", "the body holds text that is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "usage", "the body is not JSON") from error
    if not isinstance(value, dict):
        raise ApiError(400, "usage", f"the body is a JSON object, not {type(value).__name__}")
    return value
