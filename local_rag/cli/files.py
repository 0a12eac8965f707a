"""`local-rag files`: what is indexed, file by file."""

from __future__ import annotations

from typing import Annotated

import typer

from local_rag.cli.options import (
    AfterOption,
    BeforeOption,
    FromOption,
    IndexOption,
    JsonOption,
    TypeOption,
    narrowing_of,
    settings_of,
)
from local_rag.core.serialization import to_plain


def files(
    within: Annotated[
        list[str] | None, typer.Argument(metavar="PATH|URL|GLOB", help="Only these files or pages, as after --in.")
    ] = None,
    after: AfterOption = None,
    before: BeforeOption = None,
    types: TypeOption = None,
    authors: FromOption = None,
    index: IndexOption = None,
    json: JsonOption = False,
) -> int:
    """List the indexed files with size, passages, title, author, date and what could not be read of them."""
    from local_rag.index.index import Index
    from local_rag.runtime.opening import existing_index
    from local_rag.terminal.console import write_result
    from local_rag.terminal.file_list import file_lines

    folder = existing_index(settings_of(index))
    with Index.open(folder) as opened:
        indexed, labels = opened.files(narrowing_of(within, after, before, types, authors)), opened.path_labels()
    write_result(to_plain(indexed), file_lines(indexed, labels), as_json=json)
    return 0
