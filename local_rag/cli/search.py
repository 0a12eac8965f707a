"""`local-rag search`: the passages that fit a query."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from local_rag.cli.options import (
    AfterOption,
    BeforeOption,
    FromOption,
    IndexesOptions,
    InOption,
    JsonOption,
    KOption,
    TypeOption,
    narrowing_of,
    stderr_display,
    with_options,
)
from local_rag.core.errors import UsageError

ModeOption = Annotated[
    Literal["hybrid", "dense", "words"],
    typer.Option("--mode", metavar="hybrid|dense|words", help="Rank by meaning and words, by meaning, or by words."),
]


@with_options
def search(
    query: Annotated[
        list[str],
        typer.Argument(metavar="QUERY...", help="""Words or a question; '"exact phrase" -word' in single quotes."""),
    ],
    k: KOption = None,
    mode: ModeOption = "hybrid",
    within: InOption = None,
    after: AfterOption = None,
    before: BeforeOption = None,
    types: TypeOption = None,
    authors: FromOption = None,
    *,
    options: IndexesOptions,
    json: JsonOption = False,
) -> int:
    """Show the passages that fit best; no answer is written.

    A passage must hold each "exact phrase" and no -word; the shell takes double quotes away, so put single ones around.
    """
    from local_rag.index.exact_words import typed_query
    from local_rag.runtime.opening import check_question, open_embedder, open_indexes
    from local_rag.terminal.console import write_result
    from local_rag.terminal.passages import passages_table

    typed = " ".join(query)
    if not typed.strip():
        raise UsageError("the query is empty", hint='local-rag search "notice period"')
    check_question(typed)
    parsed = typed_query(typed)
    narrowing = parsed.narrow(narrowing_of(within, after, before, types, authors))
    settings, display = options.settings(k=k), stderr_display()
    with open_indexes(settings, open_embedder(settings, display)) as opened:
        for line in opened.waiting_notes():
            display.say(line)
        passages = opened.search(parsed.text, settings.values.k, within=narrowing, mode=mode)
        label = opened.path_labels()
    plain = [{"text": passage.page_content, **passage.metadata} for passage in passages]
    write_result(plain, [passages_table(passages, label) if passages else "nothing found"], as_json=json)
    return 0
