"""`local-rag search`: the passages that fit a query."""

from __future__ import annotations

from typing import Annotated

import typer

from local_rag.cli.options import IndexOptions, InOption, JsonOption, KOption, stderr_display, with_options
from local_rag.core.errors import UsageError


@with_options
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a question.")],
    k: KOption = None,
    within: InOption = None,
    *,
    options: IndexOptions,
    json: JsonOption = False,
) -> int:
    """Show the passages that fit best; no answer is written."""
    from local_rag.runtime.opening import open_embedder, open_index
    from local_rag.runtime.rag import check_question
    from local_rag.terminal.answers import passages_table
    from local_rag.terminal.console import write_result

    if not query.strip():
        raise UsageError("the query is empty", hint='local-rag search "notice period"')
    check_question(query)
    settings = options.settings(k=k)
    with open_index(settings, open_embedder(settings, stderr_display())) as opened:
        passages = opened.search(query, settings.values.k, within=within or ())
        label = opened.path_labels()
    plain = [{"text": passage.page_content, **passage.metadata} for passage in passages]
    write_result(plain, [passages_table(passages, label) if passages else "nothing found"], as_json=json)
    return 0
