"""`local-rag remove`: files, pages or a whole index are forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from local_rag.cli.options import IndexOption, settings_of
from local_rag.core.errors import UsageError


def remove(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH|URL", help="Files, folders and pages to remove.")
    ] = None,
    index: IndexOption = None,
) -> int:
    """Remove files, folders or pages from the index; with --index and no PATH, delete it. Your files are untouched."""
    from local_rag.index.index import Index
    from local_rag.runtime.indexing import named
    from local_rag.runtime.opening import open_index
    from local_rag.terminal.console import confirm, write
    from local_rag.text.display import plural, short_path

    settings = settings_of(index)
    if not paths:
        if index is None:
            raise UsageError("name what to remove", hint="local-rag remove PATH…   or   local-rag remove --index NAME")
        folder = settings.index_path
        if not confirm(f"Delete the index {short_path(folder)}?"):
            return 1
        Index.destroy(folder)
        write(f"deleted the index {short_path(folder)}")
        return 0
    files, pages = named(paths)
    with open_index(settings, reembed=True) as opened:
        removed = opened.remove([*(path.absolute() for path in files), *pages])
        roots = [Path(root) for root in opened.status().roots]
    write(f"{plural(len(removed), 'file' if files else 'page')} removed")
    if any(Path(file).is_relative_to(root) for file in removed for root in roots):
        write("Their folder is still indexed, so the next local-rag index brings them back; --exclude leaves them out.")
    return 0
