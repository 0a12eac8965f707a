"""Serve the tools of `mcp_server` over HTTP at /mcp, behind the guard; the first request imports the SDK."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from local_rag.server.errors import ApiError, error_response
from local_rag.server.workspace import Workspace

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class McpEndpoint:
    """Serve MCP over HTTP with sessions.

    Clients of the protocol of 2025 need a session to cancel a call; later ones close the connection.
    """

    def __init__(self) -> None:
        self._starting = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if find_spec("mcp") is None:
            error = ApiError(501, "not_installed", "MCP is not installed", "pip install 'local-rag[mcp]'")
            await error_response(error, "mcp", scope["path"])(scope, receive, send)
            return
        async with self._starting:
            manager = self._manager = self._manager or await self._started(scope["app"].state.workspace)
        await manager.handle_request(scope, receive, send)

    async def _started(self, workspace: Workspace) -> StreamableHTTPSessionManager:
        from local_rag.server.mcp_server import server_of

        server = await asyncio.to_thread(server_of, workspace.using, workspace.settings)
        server.streamable_http_app()
        began = asyncio.Event()
        self._running = asyncio.create_task(self._run(server.session_manager, began))
        await began.wait()
        return server.session_manager

    async def _run(self, manager: StreamableHTTPSessionManager, began: asyncio.Event) -> None:
        """Run the manager until the loop ends, in one task, as a task group of anyio must end where it began."""
        async with manager.run():
            began.set()
            await asyncio.Event().wait()
