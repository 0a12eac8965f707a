"""Build the FastAPI application with every endpoint behind the guard; its models define the document of the API."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware import Middleware
from fastapi.middleware.cors import CORSMiddleware
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.routing import Route

from local_rag import __version__
from local_rag.core.errors import LocalRagError
from local_rag.server import (
    ask,
    documents,
    dropped,
    evaluation,
    folders,
    index,
    openai,
    runs,
    search,
    suggestions,
    threads,
)
from local_rag.server.auth import HOSTS, Guard
from local_rag.server.errors import answer_error
from local_rag.server.mcp_endpoint import McpEndpoint
from local_rag.server.responses import Json
from local_rag.server.workspace import Here, Workspace

PAGE = Path(__file__).parent / "page"
LONG = 365 * 24 * 3600
"""Seconds that a browser keeps the cookie of a session; the session ends sooner, with the server."""
_MODULES = (ask, search, documents, index, suggestions, folders, dropped, threads, runs, evaluation, openai)
NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""FastAPI reports requests to whatever OpenTelemetry is set up to send; nothing is sent from here."""

mimetypes.add_type("text/javascript", ".js")  # some systems say otherwise, and a browser runs nothing else

router = APIRouter()
pages = APIRouter(include_in_schema=False, default_response_class=FileResponse)


def application(workspace: Workspace | None = None) -> FastAPI:
    """Return the application that a server runs; without a workspace it only describes the API (`openapi`)."""
    app = FastAPI(
        title="local-rag",
        version="1",
        description="The API of `local-rag serve`.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=Json,
        middleware=_layers(workspace) if workspace else [],
        exception_handlers=dict.fromkeys((LocalRagError, HTTPException, RequestValidationError), answer_error),
        telemetry=NO_TELEMETRY,
    )
    app.state.workspace = workspace
    for each in (router, *(module.router for module in _MODULES), pages):
        app.include_router(each)
    app.router.routes.append(Route("/mcp", McpEndpoint(), include_in_schema=False))
    app.mount("/page", StaticFiles(directory=PAGE))
    return app


def _layers(workspace: Workspace) -> list[Middleware]:
    """Return the middleware, from the outermost to the innermost."""
    origins = workspace.settings.values.api.allow_origins
    cors = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=("GET", "POST"),
        allow_headers=("Authorization", "Content-Type"),
    )
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False)
    guard = Middleware(Guard, access=workspace.access, limits=workspace.limits, origins=origins)
    return [hosts, cors, guard] if origins else [hosts, guard]


@router.get("/api/health")
def health() -> dict[str, str]:
    """Report that the server answers, and its version."""
    return {"status": "ok", "version": __version__}


@pages.get("/")
def page(request: Request, workspace: Here) -> Response:
    """Send the page; an unused code in its address signs it in, and then it holds the secret for its scripts."""
    access = workspace.access
    if not access.spends(request.query_params.get("code", "")):
        return FileResponse(PAGE / "index.html")
    settings = workspace.settings
    workspace.rags.warm(settings, lambda rag: rag.graph(settings.values.graph))
    unsigned = (PAGE / "index.html").read_text(encoding="utf-8")
    response = HTMLResponse(unsigned.replace('name="secret" content=""', f'name="secret" content="{access.secret}"'))
    response.set_cookie(access.cookie, access.session, max_age=LONG, httponly=True, samesite="strict")
    return response


@pages.get("/favicon.ico")
def icon() -> Response:
    """Send the icon that browsers request on their own."""
    return FileResponse(PAGE / "icon.svg")
