"""`local-rag remove`: files, pages or a whole index are forgotten."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from local_rag.cli.options import IndexOption, history_of, settings_of
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from local_rag.config.settings import Settings


def remove(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH|URL", help="Files, folders and pages to remove.")
    ] = None,
    index: IndexOption = None,
    keep_out: Annotated[
        bool | None,
        typer.Option(
            "--keep-out/--no-keep-out",
            help="Leave them out of an indexed folder from now on.  [default: asks in a terminal]",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Remove files, folders or pages from the index; with --index and no PATH, delete it. Your files are untouched."""
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
    from local_rag.index.index import Index
    from local_rag.terminal.console import confirm, write
    from local_rag.terminal.kept import what_quotes
    from local_rag.text.display import plural, short_path

    folder = settings.index_path
    if not confirm(f"Delete the index {short_path(folder)}?"):
        return 1
    Index.destroy(folder)
    with history_of(settings) as history:
        count = history.delete_of_index(folder)
    with_runs = f" and the {plural(count, 'run')} of questions about it" if count else ""
    write(f"deleted the index {short_path(folder)}{with_runs}", *what_quotes(settings))
    return 0


def _remove_from(settings: Settings, index: list[str] | None, words: list[str], keep_out: bool | None) -> list[str]:
    """What was done, line by line. With --keep-out a file may be gone from the index already."""
    from local_rag.index.sync.roots import real_path
    from local_rag.runtime.indexing import named
    from local_rag.runtime.opening import open_index
    from local_rag.terminal.console import confirm
    from local_rag.terminal.kept import what_quotes
    from local_rag.text.display import is_page, plural

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
        linked = [file for file in removed if not is_page(file) and file not in roots and not _is_below(file, roots)]
    sync = f"local-rag index --index {shlex.quote(index[0])}" if index else "local-rag index"
    lines = [f"{plural(len(removed), 'file' if files else 'page')} removed"]
    if patterns:
        again = " ".join(f"--no-exclude {shlex.quote(pattern)}" for pattern in patterns)
        lines.append(f"Kept out from now on. To take that back: {sync} {again}")
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
    """Whether it lies in an indexed folder."""
    return not {str(above) for above in Path(path).resolve().parents}.isdisjoint(roots)
