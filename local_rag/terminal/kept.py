"""What is kept about a person's files, as a terminal shows it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.errors import LocalRagError
from local_rag.diagnostics import kept as keeping
from local_rag.diagnostics.kept import Kept
from local_rag.terminal.console import PlainTable
from local_rag.text.display import is_url, joined, normal, plural, short_path

if TYPE_CHECKING:
    from local_rag.config.settings import Settings

NOUNS = {
    "chat": "chat",
    "question": "recorded question",
    "feedback": "answer with feedback",
    "run": "evaluation run",
    "export": "exported chat",
    "cases": "file of cases",
    "bundle": "bundle",
    "fallback corpus": "index of a fallback corpus",
}
MANY = {
    "feedback": "answers with feedback",
    "cases": "files of cases",
    "fallback corpus": "indexes of fallback corpora",
}

FEW = 5
"""Files that a command names; of more, all that is kept is listed."""


def kept_table(everything: Iterable[Kept]) -> PlainTable:
    """A row for each, the oldest first."""
    table = PlainTable("kind", "last (UTC)", "quotes", "name")
    for item in everything:
        name = item.name if item.kind in ("chat", "question", "feedback") else short_path(item.folder or item.name)
        table.add_row(item.kind, item.at[:16].replace("T", " "), plural(len(item.sources), "file"), name)
    return table


def counted(everything: Sequence[Kept]) -> str:
    """2 chats and 3 evaluation runs."""
    counts = Counter[str](item.kind for item in everything)
    return joined(plural(counts[kind], noun, MANY.get(kind, "")) for kind, noun in NOUNS.items() if counts[kind])


def locations(paths: Sequence[str]) -> list[str]:
    """Files and folders as an index names them, and URLs and names as they are."""
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
