"""`local-rag index`: files, folders and web pages are read, and can be searched from then on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from local_rag.cli.options import IndexOptions, JsonOption, stderr_display, with_options
from local_rag.core.serialization import to_plain


@with_options
def index(
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH|URL", help="Files, folders and web pages.")] = None,
    urls: Annotated[Path | None, typer.Option("--urls", metavar="FILE", help="A list of URLs, one per line.")] = None,
    *,
    options: IndexOptions,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="PATTERN", help="Leave out what matches, as in .gitignore.")
    ] = None,
    include_secrets: Annotated[
        bool, typer.Option("--include-secrets", help="Also index private keys and .env files.")
    ] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Also remove files that cannot be seen.")] = False,
    reembed: Annotated[bool, typer.Option("--reembed", help="Compute new vectors from the stored text.")] = False,
    chunk_size: Annotated[
        int | None, typer.Option("--chunk-size", metavar="TOKENS", help="Tokens of a passage.")
    ] = None,
    chunk_overlap: Annotated[
        int | None, typer.Option("--chunk-overlap", metavar="TOKENS", help="Tokens that neighbouring passages share.")
    ] = None,
    json: JsonOption = False,
) -> int:
    """Index files, folders and web pages; without any, update all files that were indexed before.

    A web page is fetched only when you name it.
    """
    from local_rag.index.index import Index
    from local_rag.index.path_labels import PathLabels
    from local_rag.runtime.indexing import Request, index_files, named
    from local_rag.terminal.console import write_result
    from local_rag.terminal.index_report import report_parts

    files, pages = named(paths or [], urls)
    settings = options.settings(chunks__size=chunk_size, chunks__overlap=chunk_overlap)
    request = Request(files, pages, exclude or (), include_secrets, prune, reembed)
    report, pages_left = index_files(settings, request, stderr_display())
    labels = PathLabels(Index.inspect(settings.index_path).roots)
    plain = to_plain(report) | {"pages_left": pages_left}
    write_result(plain, report_parts(report, pages_left, labels), as_json=json)
    return 0
