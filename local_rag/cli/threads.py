"""Implement `local-rag threads`, the stored chats, and `local-rag kept`, all that quotes files outside the indexes."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from local_rag.cli.options import (
    IndexOption,
    JsonOption,
    Listing,
    argument,
    delete_old,
    history_of,
    option,
    settings_of,
    write_result,
)
from local_rag.core.errors import IndexMissing, UsageError, reason_of

if TYPE_CHECKING:
    from local_rag.index.path_labels import PathLabels

threads_app = typer.Typer(cls=Listing, rich_markup_mode=None, help="List, show, export or delete stored chats.")

VerdictsOption = Annotated[bool, option("--verdicts", "Show every verdict of each question.")]
TurnOption = Annotated[int | None, option("--turn", "Show the chat as it stood after its N-th question.", "N")]
NameArgument = Annotated[str, argument("NAME", "The name of a chat, as local-rag threads lists it.")]


@threads_app.command("list")
def list_(json: JsonOption = False) -> int:
    """List every chat with its first question.

    The list also shows when each chat was last used.
    """
    from local_rag.terminal.answers import threads_table

    with history_of() as history:
        kept = history.threads()
    listing = threads_table(kept) if kept else "There are no threads yet: local-rag chat begins one."
    write_result(kept, [listing], as_json=json)
    return 0


@threads_app.command()
def show(
    name: NameArgument, turn: TurnOption = None, verdicts: VerdictsOption = False, json: JsonOption = False
) -> int:
    """Show the questions and answers of a chat.

    Each answer comes with its path through the graph.
    """
    from local_rag.terminal.answers import turns_table

    with history_of() as history:
        turns = history.turns(name, turn)
    write_result({"thread": name, "turns": turns}, [turns_table(turns, _labels(), verdicts=verdicts)], as_json=json)
    return 0


@threads_app.command()
def export(
    name: NameArgument,
    out: Annotated[Path | None, option("--out", "A new file; stdout if left out.", "FILE.md")] = None,
    verdicts: VerdictsOption = False,
) -> int:
    """Write a chat as Markdown.

    The file contains the questions and answers, and their sources with file, page and quote.
    """
    from local_rag.runtime.export import chat_markdown
    from local_rag.runtime.written import enter
    from local_rag.terminal.console import write
    from local_rag.text.display import short_path

    with history_of() as history:
        turns = history.turns(name)
        sources = next((kept.sources for kept in history.quoting() if (kept.kind, kept.name) == ("chat", name)), ())
    page = chat_markdown(name, turns, verdicts=verdicts)
    if out is None:
        write(page.rstrip("\n"))
        return 0
    try:
        with os.fdopen(os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(page)
    except FileExistsError as error:
        raise UsageError(
            f"{out} exists already and is not overwritten", hint=f"name another, or: rm {shlex.quote(str(out))}"
        ) from error
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {reason_of(error)}", hint="--out chat.md") from error
    enter(settings_of().data_folder, "export", out, sources=sources)
    write(f"written: {short_path(out)}")
    return 0


@threads_app.command()
def rename(
    name: NameArgument,
    new: Annotated[str, argument("NEW", "The new name, one line.")],
) -> int:
    """Give a chat another name.

    The runs of its questions go with it.
    """
    from local_rag.terminal.console import write

    with history_of() as history:
        write(f"renamed the thread {name} to {history.rename(name, new)}")
    return 0


@threads_app.command()
def delete(name: NameArgument) -> int:
    """Delete a chat permanently.

    The runs of its questions are deleted too. In a terminal, you are asked first.
    """
    from local_rag.terminal.console import confirm, write
    from local_rag.text.display import plural

    with history_of() as history:
        count = plural(history.thread(name).turns, "question")
        if not confirm(f"Delete the thread {name} ({count})?"):
            return 1
        runs = len(history.delete(threads=[name]))
    with_runs = f" and the {plural(runs, 'run')} of it" if runs else ""
    write(f"deleted the thread {name} ({count}){with_runs}")
    return 0


def _labels() -> PathLabels:
    """Return short names for files of the index in force, which most chats are about."""
    from local_rag.index.index import Index
    from local_rag.index.path_labels import PathLabels

    try:
        return PathLabels(Index.inspect(settings_of().index_path).roots, Path.cwd())
    except IndexMissing:
        return PathLabels((), Path.cwd())


def kept(
    paths: Annotated[
        list[str] | None,
        argument("PATH|URL|NAME", "Only what quotes these files, folders or pages, or is one of them."),
    ] = None,
    index: IndexOption = None,
    delete: Annotated[bool, option("--delete", "Delete what is listed; asks first in a terminal.")] = False,
    json: JsonOption = False,
) -> int:
    """List or delete what quotes your files.

    These are chats, runs, exports, cases, and the index that --web-from makes of a folder. --delete deletes what is
    listed. With --index, only what was asked of that index is listed.
    """
    from local_rag.diagnostics import kept as keeping
    from local_rag.diagnostics.kept import counted, locations
    from local_rag.terminal.console import confirm, stderr, write
    from local_rag.terminal.history import kept_table

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
