"""`local-rag kept`: what quotes a person's files besides their indexes; lists it, and deletes it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from local_rag.cli.options import IndexOption, JsonOption, delete_old, settings_of
from local_rag.core.errors import LocalRagError, UsageError

if TYPE_CHECKING:
    from local_rag.config.settings import Settings

FEW = 5
"""Files that a command names; of more, all that is kept is listed."""


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
    """List the chats, traces, evaluation runs, exports and cases that quote your files; with --delete, delete them.

    With --index only what was asked of that index.
    """
    from local_rag.diagnostics import kept as keeping
    from local_rag.terminal.console import confirm, stderr, write, write_result
    from local_rag.terminal.kept import counted, kept_table

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
        write_result(everything, [kept_table(everything) if everything else nothing], as_json=json)
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


def locations(paths: Sequence[str]) -> list[str]:
    """Files and folders as an index names them, and URLs and names as they are."""
    from local_rag.text.urls import is_url, normal

    named: list[str] = []
    for path in paths:
        if is_url(path):
            named.append(normal(path))
        else:
            given = Path(path).expanduser()
            named += dict.fromkeys([path, str(given.absolute()), str(given.resolve())])
    return named


def what_quotes(settings: Settings, gone: Sequence[str] = (), typed: Sequence[str] = ()) -> list[str]:
    """What still quotes files that have left an index, in a line, and the command that deletes it.

    `gone` are the files, `typed` what a person wrote for them; neither where the whole index is gone. A bundle has a
    copy of the whole index.
    """
    from local_rag.diagnostics import kept as keeping
    from local_rag.terminal.kept import counted

    try:
        everything = keeping.kept(settings)
    except LocalRagError as error:
        return [f"Chats may quote it, and cannot be read: {error}"]
    named = locations(typed)
    whole = keeping.about(everything, index=settings.index_path)
    quoting = keeping.about(everything, [*named, *gone], named) if gone or typed else whole
    quoting = [item for item in quoting if item.kind != "bundle"]
    bundles = [keeping.why_left(item) for item in whole if item.kind == "bundle"] if gone or not typed else []
    if not quoting:
        return bundles
    what = f"--index {shlex.quote(settings.values.index)} --delete"
    if gone or typed:
        quoted = typed or [file for file in gone if keeping.about(quoting, [file])]
        what = f"{shlex.join(quoted)} --delete" if len(quoted) <= FEW else "  lists all"
    it = "them" if len(gone) > 1 else "it"
    return [f"{counted(quoting)} still quote{'s' if len(quoting) == 1 else ''} {it}: local-rag kept {what}", *bundles]
