"""Implement `local-rag index`, `copy`, `status`, `files` and `remove`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from local_rag.cli.options import (
    EmbedderOption,
    IndexOption,
    JsonOption,
    argument,
    delete_old,
    history_of,
    option,
    settings_of,
    stderr_display,
    with_options,
    write_notes,
    write_result,
)
from local_rag.core.documents import EVERYTHING, Narrowing
from local_rag.core.errors import UsageError
from local_rag.core.serialization import to_plain

if TYPE_CHECKING:
    from local_rag.config.settings import Settings


def index(
    paths: Annotated[list[str] | None, argument("PATH|URL", "Files, folders and web pages.")] = None,
    index: IndexOption = None,
    embedder: EmbedderOption = None,
    exclude: Annotated[
        list[str] | None,
        option("--exclude", "From now on, leave out what matches, as in .gitignore.", "PATTERN"),
    ] = None,
    no_exclude: Annotated[list[str] | None, option("--no-exclude", "Undo an earlier --exclude.", "PATTERN")] = None,
    include_secrets: Annotated[bool, option("--include-secrets", "Also index private keys and .env files.")] = False,
    follow_links: Annotated[
        bool | None,
        option(
            "--follow-links/--no-follow-links",
            "From now on, also index targets of links that leave a folder.",
            show_default=False,
        ),
    ] = None,
    prune: Annotated[bool, option("--prune", "Also remove files that cannot be reached now.")] = False,
    retry: Annotated[bool, option("--retry", "Read unreadable files again, though they are unchanged.")] = False,
    ocr: Annotated[
        bool | None,
        option("--ocr/--no-ocr", "Also read images, and pages without a text layer.", show_default=False),
    ] = None,
    reembed: Annotated[bool, option("--reembed", "Make vectors and word index anew from stored text.")] = False,
    no_embed: Annotated[bool, option("--no-embed", "Update the text without vectors: search by words.")] = False,
    embed_only: Annotated[
        bool, option("--embed-only", "Only make the vectors that are missing; no file is read.")
    ] = False,
    about: Annotated[
        str | None,
        option(
            "--about",
            'What the files are about, for the router of adaptive; "" restores a summary.',
            "TEXT",
            show_default=False,
        ),
    ] = None,
    chunk_size: Annotated[int | None, option("--chunk-size", "Tokens of a passage.", "TOKENS")] = None,
    chunk_overlap: Annotated[
        int | None, option("--chunk-overlap", "Tokens that neighbouring passages share.", "TOKENS")
    ] = None,
    all_warnings: Annotated[
        bool, option("--all-warnings", "Also list files that an earlier run skipped alike.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Index files, folders and web pages.

    Without any, all files that were indexed before are updated. Texts come first, and their words can be searched at
    once; then the vectors are made. Ctrl-C loses nothing. A web page is fetched only if you name it.
    """
    from local_rag.diagnostics.kept import what_quotes
    from local_rag.index.index import Index
    from local_rag.runtime.indexing import Request, command_of, index_files, named
    from local_rag.terminal.index import report_parts

    files, pages = named(paths or [])
    request = Request(
        files,
        pages,
        excludes=exclude or (),
        no_excludes=no_exclude or (),
        secrets=include_secrets,
        follow_links=follow_links,
        prune=prune,
        retry=retry,
        reembed=reembed,
        no_embed=no_embed,
        embed_only=embed_only,
        about=about,
    )
    settings = settings_of(
        index, embedder=embedder, chunks__size=chunk_size, chunks__overlap=chunk_overlap, ocr__enabled=ocr
    )
    delete_old(settings)
    report, pages_left = index_files(settings, request, stderr_display())
    with Index.open(settings.index_path) as opened:
        labels = opened.path_labels(Path.cwd())
    plain = to_plain(report) | {"pages_left": pages_left}
    parts = report_parts(report, pages_left, labels, all_warnings=all_warnings, command=command_of(settings))
    write_result(plain, parts, as_json=json)
    if report.removed:
        write_notes(what_quotes(settings, report.removed))
    return 0


def copy(
    source: Annotated[str, argument("FROM", "The index to copy: a name, a folder or a URL.")],
    target: Annotated[str, argument("TO", "Where to: a name, a folder or a URL.")],
) -> int:
    """Copy an index to or from PostgreSQL.

    Vectors are copied too. After a stop, the same command continues. Both indexes then have the same `status --digest`.
    """
    from local_rag.index.copying import copy as copied
    from local_rag.runtime.indexing import stoppable, sync_progress
    from local_rag.runtime.opening import existing_index
    from local_rag.terminal.console import write
    from local_rag.text.display import plural

    folder, target_folder = existing_index(settings_of(source)), settings_of(target).index_path
    display = stderr_display()
    with sync_progress(display) as progress:
        new, there = stoppable(lambda: copied(folder, target_folder, progress), display)
    write(f"{plural(new, 'file')} copied, {there:,} there already: local-rag status --index {shlex.quote(target)}")
    return 0


def status(
    index: IndexOption = None,
    digest: Annotated[bool, option("--digest", "Show only a digest of all passages, to compare two indexes.")] = False,
    json: JsonOption = False,
) -> int:
    """Show an index's contents, size and model.

    The folder or server of the index is shown too.
    """
    from local_rag.index.index import Index
    from local_rag.runtime.indexing import command_of
    from local_rag.runtime.opening import existing_index, served_by
    from local_rag.terminal.index import status_table

    settings = settings_of(index)
    if digest:
        with Index.open(existing_index(settings)) as opened:
            write_result({"digest": opened.content()}, [opened.content()], as_json=json)
        return 0
    with Index.open(existing_index(settings)) as opened:
        index_status, changed = opened.status(outlined=True), opened.changed()
    runtime = served_by(settings, index_status.fingerprint)
    plain = to_plain(index_status) | {"runtime": runtime, "changed": changed}
    write_result(plain, [status_table(index_status, runtime, command_of(settings), len(changed))], as_json=json)
    return 0


@with_options
def files(
    within: Annotated[list[str] | None, argument("PATH|URL|GLOB", "Only these files or pages, as after --in.")] = None,
    narrowing: Narrowing = EVERYTHING,
    index: IndexOption = None,
    json: JsonOption = False,
) -> int:
    """List the indexed files.

    Each file comes with its size, passages, title, author and date, and with the parts that could not be read.
    """
    from local_rag.index.index import Index
    from local_rag.runtime.opening import existing_index
    from local_rag.terminal.index import file_lines

    folder = existing_index(settings_of(index))
    with Index.open(folder) as opened:
        indexed, labels = opened.files(narrowing), opened.path_labels(Path.cwd())
    write_result(to_plain(indexed), file_lines(indexed, labels), as_json=json)
    return 0


def remove(
    paths: Annotated[list[str] | None, argument("PATH|URL", "Files, folders and pages to remove.")] = None,
    index: IndexOption = None,
    keep_out: Annotated[
        bool | None,
        option(
            "--keep-out/--no-keep-out",
            "Leave them out of an indexed folder from now on.  [default: asks in a terminal]",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Remove files or pages from the index.

    With --index and no PATH, the index is deleted. Your files are not changed.
    """
    from local_rag.terminal.console import write

    settings = settings_of(index)
    if not paths:
        if index is None:
            raise UsageError("name what to remove", hint="local-rag remove PATH…   or   local-rag remove --index NAME")
        return _remove_index(settings)
    for line in _remove_from(settings, index, paths, keep_out):
        write(line)
    return 0


def _remove_index(settings: Settings) -> int:
    from local_rag.diagnostics.kept import what_quotes
    from local_rag.index.index import Index
    from local_rag.runtime.dropped import delete_copies
    from local_rag.terminal.console import confirm, write
    from local_rag.text.display import plural, short_path

    folder = settings.index_path
    if not confirm(f"Delete the index {short_path(folder)}?"):
        return 1
    Index.destroy(folder)
    delete_copies(settings)
    with history_of(settings) as history:
        count = history.delete_of_index(folder)
    with_runs = f" and the {plural(count, 'run')} of questions about it" if count else ""
    write(f"deleted the index {short_path(folder)}{with_runs}", *what_quotes(settings))
    return 0


def _remove_from(settings: Settings, index: list[str] | None, words: list[str], keep_out: bool | None) -> list[str]:
    """Remove files and pages, and return lines that tell what was done.

    With --keep-out, a file may be missing from the index already.
    """
    from local_rag.diagnostics.kept import what_quotes
    from local_rag.index.sync.roots import real_path
    from local_rag.runtime.dropped import delete_copies
    from local_rag.runtime.indexing import named
    from local_rag.runtime.opening import open_index
    from local_rag.terminal.console import confirm
    from local_rag.text.display import is_url, plural

    files, pages = named(words)
    paths = [real_path(path) for path in files]
    with open_index(settings, reembed=True) as opened:
        roots = frozenset(opened.status().roots)
        inside = [path for path in paths if _is_below(path, roots)]
        now = [path for path in paths if not (keep_out and path in inside)]
        removed = opened.remove([*now, *pages])
        patterns = opened.keep_out(inside) if keep_out else []
        removed += opened.remove(inside, missing_ok=True) if patterns else ()
        if inside and keep_out is None and sys.stdin.isatty() and confirm(_question(inside)):
            patterns = opened.keep_out(inside)
        delete_copies(settings, removed)
        linked = [file for file in removed if not is_url(file) and file not in roots and not _is_below(file, roots)]
    sync = f"local-rag index --index {shlex.quote(index[0])}" if index else "local-rag index"
    lines = [f"{plural(len(removed), 'file' if files else 'page')} removed"]
    if patterns:
        again = " ".join(f"--no-exclude {shlex.quote(pattern)}" for pattern in patterns)
        lines.append(f"Kept out from now on. To take that back: {sync} {again}")
    elif keep_out and removed:
        lines.append("No folder above is indexed, so it stays out until you name it again.")
    elif inside:
        its, it = ("Its", "it") if len(inside) == 1 else ("Their", "them")
        lines.append(
            f"{its} folder is still indexed, so the next local-rag index brings {it} back;"
            f" the same command with --keep-out leaves {it} out."
        )
    if linked:
        lines.append(
            "Some was found through a link out of an indexed folder, so the next local-rag index brings it back;"
            f" {sync} --no-follow-links leaves out what such links lead to."
        )
    return [*lines, *what_quotes(settings, removed, words)]


def _question(paths: Sequence[Path]) -> str:
    return f"Keep {'it' if len(paths) == 1 else 'them'} out of the index from now on?"


def _is_below(path: Path | str, roots: Set[str]) -> bool:
    """Return whether a path lies in an indexed folder."""
    return not {str(above) for above in Path(path).resolve().parents}.isdisjoint(roots)
