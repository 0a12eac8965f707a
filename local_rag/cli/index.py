"""`local-rag index`: files, folders and web pages are read, and can be searched from then on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from local_rag.cli.options import IndexOptions, JsonOption, delete_old, stderr_display, with_options
from local_rag.core.serialization import to_plain

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.runtime.indexing import Request


@dataclass(frozen=True, kw_only=True)
class SyncOptions(IndexOptions):
    """Which index, and how folders are walked for it."""

    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="PATTERN", help="Leave out what matches, as in .gitignore, from now on."),
    ] = None
    no_exclude: Annotated[
        list[str] | None, typer.Option("--no-exclude", metavar="PATTERN", help="Take an --exclude back.")
    ] = None
    include_secrets: Annotated[
        bool, typer.Option("--include-secrets", help="Also index private keys and .env files.")
    ] = False
    follow_links: Annotated[
        bool | None,
        typer.Option(
            "--follow-links/--no-follow-links",
            help="Also index what links out of a folder lead to, from now on.",
            show_default=False,
        ),
    ] = None
    prune: Annotated[bool, typer.Option("--prune", help="Also remove files that cannot be seen.")] = False
    retry: Annotated[
        bool, typer.Option("--retry", help="Also read again what could not be read, though it has not changed.")
    ] = False
    reembed: Annotated[bool, typer.Option("--reembed", help="Make vectors and words anew from the stored text.")] = (
        False
    )
    no_embed: Annotated[
        bool, typer.Option("--no-embed", help="Bring the text up to date and make no vectors: search by words.")
    ] = False
    embed_only: Annotated[
        bool, typer.Option("--embed-only", help="Only make the vectors that are missing; no file is read.")
    ] = False
    about: Annotated[
        str | None,
        typer.Option(
            "--about",
            metavar="TEXT",
            help='What the files are about, for the router of adaptive; "" goes back to a summary.',
            show_default=False,
        ),
    ] = None

    def settings(self, **flags: Any) -> Settings:
        return IndexOptions(index=self.index, embedder=self.embedder).settings(**flags)

    def request(self, files: list[Path], pages: list[str]) -> Request:
        from local_rag.runtime.indexing import Request

        return Request(
            files,
            pages,
            excludes=self.exclude or (),
            no_excludes=self.no_exclude or (),
            secrets=self.include_secrets,
            follow_links=self.follow_links,
            prune=self.prune,
            retry=self.retry,
            reembed=self.reembed,
            no_embed=self.no_embed,
            embed_only=self.embed_only,
            about=self.about,
        )


@with_options
def index(
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH|URL", help="Files, folders and web pages.")] = None,
    urls: Annotated[Path | None, typer.Option("--urls", metavar="FILE", help="A list of URLs, one per line.")] = None,
    *,
    options: SyncOptions,
    chunk_size: Annotated[
        int | None, typer.Option("--chunk-size", metavar="TOKENS", help="Tokens of a passage.")
    ] = None,
    chunk_overlap: Annotated[
        int | None, typer.Option("--chunk-overlap", metavar="TOKENS", help="Tokens that neighbouring passages share.")
    ] = None,
    all_warnings: Annotated[
        bool, typer.Option("--all-warnings", help="Also name what was skipped before for the same reason.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Index files, folders and web pages; without any, update all files that were indexed before.

    Texts come first and are searched by their words at once, then their vectors are made; Ctrl-C loses nothing. A web
    page is fetched only when you name it.
    """
    from local_rag.index.index import Index
    from local_rag.runtime.indexing import command_of, index_files, named
    from local_rag.terminal.console import stderr, write_result
    from local_rag.terminal.index_report import report_parts
    from local_rag.terminal.kept import what_quotes

    files, pages = named(paths or [], urls)
    settings = options.settings(chunks__size=chunk_size, chunks__overlap=chunk_overlap)
    delete_old(settings)
    report, pages_left = index_files(settings, options.request(files, pages), stderr_display())
    with Index.open(settings.index_path) as opened:
        labels = opened.path_labels()
    plain = to_plain(report) | {"pages_left": pages_left}
    parts = report_parts(report, pages_left, labels, all_warnings=all_warnings, command=command_of(settings))
    write_result(plain, parts, as_json=json)
    for line in what_quotes(settings, report.removed) if report.removed else ():
        stderr().print(line, soft_wrap=True, highlight=False, markup=False)
    return 0
