"""Implement `local-rag mcp`: tools with which another program's model searches, asks and reads your files."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from local_rag.cli.options import IndexesOption, option, settings_of
from local_rag.core.errors import LocalRagError

PLACES = {
    "claude": "claude_desktop_config.json (Claude: Settings, Developer, Edit Config), or .mcp.json (Claude Code)",
    "vscode": ".vscode/mcp.json in a workspace, or the command MCP: Open User Configuration",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json in a project",
}
"""The file from which each client reads its servers, according to its documentation in November 2026."""


def mcp(
    index: IndexesOption = None,
    config: Annotated[
        Literal["claude", "vscode", "cursor"] | None,
        option("--config", "Print the settings to paste into this client.", "claude|vscode|cursor"),
    ] = None,
) -> int:
    """Let other programs' models use your files.

    A client starts this command and speaks the Model Context Protocol over stdin and stdout. Its model can search, ask,
    read and list your files, and change nothing. What it reads goes to wherever that model runs.
    """
    from local_rag.terminal.console import stderr, write_json

    settings = settings_of(index, several=True)
    if config:
        write_json(_block(config, settings.index_paths if index else ()))
        stderr().print(f"Put this into {PLACES[config]}.", soft_wrap=True)
        return 0
    if find_spec("mcp") is None:
        raise LocalRagError("MCP is not installed", hint="pip install 'local-rag[mcp]'")
    if sys.stdin.isatty():
        stderr().print("A client starts this; local-rag mcp --config claude prints what to paste. Ctrl-C ends it.")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a wait for stdin cannot be interrupted by KeyboardInterrupt
    from local_rag.server.mcp_server import serve_stdio

    serve_stdio(settings)
    return 0


def _block(client: str, indexes: Iterable[str]) -> dict[str, Any]:
    """Return the entry for a client's file, with which the client starts this program from any folder.

    The entry keeps the current variables. With -P, Python ignores modules in the folder where the client starts.
    """
    options = [word for name in indexes for word in ("--index", name)]
    server: dict[str, Any] = {"command": sys.executable, "args": ["-P", "-m", "local_rag", "mcp", *options]}
    kept = {name: value for name, value in os.environ.items() if name.startswith(("LOCAL_RAG_", "OLLAMA_HOST"))}
    if kept:
        server["env"] = {name: str(Path(v).absolute()) if name.endswith("_DIR") else v for name, v in kept.items()}
    if client == "vscode":
        return {"servers": {"local-rag": {"type": "stdio", **server}}}
    return {"mcpServers": {"local-rag": server}}
