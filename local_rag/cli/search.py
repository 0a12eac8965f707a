"""`local-rag search`: the passages that fit a query."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from local_rag.cli.options import (
    EmbedderOption,
    IndexOption,
    InOption,
    JsonOption,
    KOption,
    ModelsOption,
    TrustOption,
    settings_of,
    stderr_console,
)
from local_rag.core.errors import UsageError


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a question.")],
    k: KOption = None,
    within: InOption = None,
    index: IndexOption = None,
    embedder: EmbedderOption = None,
    models: ModelsOption = None,
    trust_models_here: TrustOption = None,
    json: JsonOption = False,
) -> int:
    """Show the passages that fit best; no answer is written."""
    from local_rag.runtime.rag import open_embedder, open_index
    from local_rag.terminal.progress import TerminalDisplay
    from local_rag.terminal.show import document_lines, write, write_json

    if not query.strip():
        raise UsageError("the query is empty", hint='local-rag search "notice period"')
    settings = settings_of(index, models, trust_models_here, k=k, embedder=embedder)
    with open_index(settings, open_embedder(settings, TerminalDisplay(stderr_console()))) as opened:
        found = opened.search(query, settings.values.k, within=within or ())
    if json:
        write_json([{"text": one.page_content, **one.metadata} for one in found])
        return 0
    for rank, one in enumerate(found, start=1):
        for line in document_lines(rank, one, links=sys.stdout.isatty()):
            write(line)
    if not found:
        write("nothing found")
    return 0
