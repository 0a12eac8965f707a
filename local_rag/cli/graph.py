"""`local-rag graph`: a drawing of a graph."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from local_rag.cli.options import settings_of, stderr_display

SEARCHING = {"crag": "web_search_node", "adaptive": "web_search"}
"""The nodes that search the web, or the fallback corpus of the settings."""


def graph(
    name: Annotated[str, typer.Argument(metavar="GRAPH", help="plain, self-rag, crag or adaptive.")],
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print Mermaid text, also in a terminal.")] = False,
    ascii_: Annotated[bool, typer.Option("--ascii", help="Print an ASCII drawing, also in a pipe.")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="Draw it as it is wired in a chat.")] = False,
) -> int:
    """Draw a graph as the settings wire it: ASCII in a terminal, Mermaid in a pipe."""
    from local_rag.graphs.deps import Options
    from local_rag.graphs.drawing import ascii_drawing, mermaid_drawing
    from local_rag.terminal.console import stdout

    settings = settings_of(None)
    options = Options.of(settings.values, memory=memory)
    as_ascii = ascii_ or (sys.stdout.isatty() and not mermaid)
    drawing = ascii_drawing(name, options) if as_ascii else mermaid_drawing(name, options)
    stdout().print(drawing, soft_wrap=True)
    if settings.values.web.source and name in SEARCHING:
        stderr_display().say(f"{SEARCHING[name]} searches {settings.values.web.source} in place of the web")
    return 0
