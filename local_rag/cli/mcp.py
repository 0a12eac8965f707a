"""`local-rag mcp`: the tools by which another program's model searches, asks and reads your files."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Annotated, Any, Literal

import typer

from local_rag.cli.options import IndexesOption, settings_of
from local_rag.core.errors import LocalRagError

PLACES = {
    "claude": "claude_desktop_config.json (Claude: Settings, Developer, Edit Config), or .mcp.json (Claude Code)",
    "vscode": ".vscode/mcp.json in a workspace, or the command MCP: Open User Configuration",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json in a project",
}
"""Where each client reads its servers, as their documentation says in November 2026."""


def mcp(
    index: IndexesOption = None,
    config: Annotated[
        Literal["claude", "vscode", "cursor"] | None,
        typer.Option("--config", metavar="claude|vscode|cursor", help="Print what to paste into this client instead."),
    ] = None,
) -> int:
    """Serve tools of the Model Context Protocol over stdin and stdout, for a client that starts this command.

    Its model can search, ask, read and list your files, and change nothing. What it reads goes wherever it runs.
    """
    from local_rag.terminal.console import stderr, write_json

    settings = settings_of(index, several=True)
    if config:
        write_json(_block(config, index or ()))
        stderr().print(f"Put this into {PLACES[config]}.", soft_wrap=True)
        return 0
    if find_spec("mcp") is None:
        raise LocalRagError("MCP is not installed", hint="pip install 'local-rag[mcp]'")
    from local_rag.server.mcp_server import serve_stdio

    serve_stdio(settings)
    return 0


def _block(client: str, index: Any) -> dict[str, Any]:
    """The entry of a client's file, with the Python that this program runs under."""
    options = [word for name in index for word in ("--index", name)]
    server: dict[str, Any] = {"command": sys.executable, "args": ["-m", "local_rag", "mcp", *options]}
    if kept := {name: value for name, value in os.environ.items() if name.startswith("LOCAL_RAG_")}:
        server["env"] = kept
    if client == "vscode":
        return {"servers": {"local-rag": {"type": "stdio", **server}}}
    return {"mcpServers": {"local-rag": server}}
