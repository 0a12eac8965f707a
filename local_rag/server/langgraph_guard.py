"""Guard LangGraph's server against pages of other sites, as the `http.app` of langgraph.json.

When the application ends, it closes the indexes and models that the graphs opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from local_rag.runtime import langgraph_server
from local_rag.server.auth import HOSTS


class Origins:
    """Refuse requests from pages of other origins, except those of `cors.allow_origins`."""

    def __init__(self, app: ASGIApp) -> None:
        http = json.loads(os.environ["LANGGRAPH_HTTP"])  # `http` of langgraph.json
        self.app, self.allowed = app, {*http["cors"]["allow_origins"]} - {"*"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(raw=scope.get("headers", []))
        origin = headers.get("origin")
        if origin is None or origin in {*self.allowed, f"http://{headers.get('host')}"}:
            await self.app(scope, receive, send)
        else:
            refused = PlainTextResponse("a page of another site asked for this, and none may\n", 403)
            await refused(scope, receive, send)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    yield
    langgraph_server.RAGS.close()


app = Starlette(
    middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False), Middleware(Origins)],
    lifespan=lifespan,
)
