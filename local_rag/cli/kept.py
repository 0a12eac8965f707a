"""`local-rag kept`: what quotes a person's files besides their indexes; lists it, and deletes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from local_rag.cli.options import IndexOption, JsonOption, delete_old, settings_of
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    pass


def kept(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH|URL|NAME", help="Only what quotes these files, folders or pages, or is one of them."
        ),
    ] = None,
    index: IndexOption = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete what is listed; asks first in a terminal.")] = False,
    json: JsonOption = False,
) -> int:
    """List the chats, runs, exports and cases that quote your files; with --delete, delete them.

    The index that --web-from makes of a folder is listed, too. With --index only what was asked of that index.
    """
    from local_rag.diagnostics import kept as keeping
    from local_rag.terminal.console import confirm, stderr, write, write_result
    from local_rag.terminal.kept import counted, kept_table, locations

    settings = settings_of(index)
    delete_old(settings)
    if delete and not paths and index is None:
        hint = "local-rag kept PATH --delete   or   local-rag kept --index NAME --delete"
        raise UsageError("name what to delete", hint=hint)
    everything = keeping.kept(settings)
    if paths:
        everything = keeping.about(everything, named := locations(paths), named)
    if index is not None:
        everything = keeping.about(everything, index=settings.index_path)
    if not everything or not delete:
        nothing = "Nothing quotes it." if paths or index is not None else "Nothing is kept besides the indexes."
        shown = [kept_table(everything) if everything else nothing]
        write_result(everything, shown, as_json=json)
        return 0
    stderr().print(kept_table(everything))
    if not confirm(f"Delete {counted(everything)}?"):
        return 1
    left = keeping.delete(settings, everything)
    gone = [item for item in everything if item not in left]
    parts = [f"deleted {counted(gone)}"] if gone else []
    parts += map(keeping.why_left, left)
    if json:
        write_result({"deleted": gone, "left": left}, [], as_json=True)
    else:
        write(*parts)
    return 1 if any(item.kind not in keeping.LEFT for item in left) else 0
