"""Find and delete what quotes a person's files outside their indexes: chats, recorded questions, evaluation runs, …

The indexes of folders that were a fallback corpus belong to it too, because nobody made them by hand. All of these
quote files, and none of them is deleted when a file leaves the index. Paths in them tell which files they quote, and
names of indexes which index was asked.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from local_rag.config.server_index import IndexAddress
from local_rag.config.settings import Settings, full_name
from local_rag.core.errors import LocalRagError
from local_rag.evaluation import folder as run_folder
from local_rag.index.index import Index
from local_rag.index.store.sqlite.folder import DATABASE
from local_rag.runtime import fallback_corpus
from local_rag.runtime.history import History
from local_rag.runtime.history_file import FILE
from local_rag.runtime.kept import Kept
from local_rag.runtime.written import forget_deleted, written
from local_rag.text.display import is_url, joined, normal, plural

_QUOTED = re.compile(rb'"(?:source|file|url)": ?("(?:[^"\\]|\\.)*")')
"""The places in records and cases that name a file."""

LEFT = ("cases", "bundle")
"""The kinds that are listed but never deleted, because they contain more than quotes from files."""

NOUNS = {
    "chat": "chat",
    "question": "recorded question",
    "feedback": "answer with feedback",
    "file answer": "answer of a file",
    "run": "evaluation run",
    "export": "exported chat",
    "cases": "file of cases",
    "bundle": "bundle",
    "fallback corpus": "index of a fallback corpus",
}
PLURALS = {
    "feedback": "answers with feedback",
    "file answer": "answers of files",
    "cases": "files of cases",
    "fallback corpus": "indexes of fallback corpora",
}
MAX_NAMED = 5
"""The maximum number of files to name in a command; for more files, it lists everything."""

_OF_A_RUN = (run_folder.CASES, run_folder.RECORDS, run_folder.FIGURES, run_folder.REPORT)
"""The files of a run besides its lock and its manifest."""


def kept(settings: Settings) -> list[Kept]:
    """Return everything that quotes files, the oldest first."""
    kinds = (_history, _files, _fallback_corpora)
    return sorted((item for kind in kinds for item in kind(settings)), key=lambda item: item.at)


def about(
    everything: Iterable[Kept],
    files: Iterable[str] = (),
    folders: Sequence[str] = (),
    index: IndexAddress | None = None,
) -> list[Kept]:
    """Return what quotes one of the files (or URLs) or a file below a folder, is one of them, or asked the index."""
    names, asked = set(files), full_name(index) if index else ""
    below = tuple(folder.rstrip("/\\") + os.sep for folder in folders)
    return [item for item in everything if asked in item.indexes or item.name in names or _quotes(item, names, below)]


def _quotes(item: Kept, names: set[str], below: tuple[str, ...]) -> bool:
    """Return whether an item quotes one of the files; cases may name a file by the end of its path."""
    if not names.isdisjoint(item.sources) or any(source.startswith(below) for source in item.sources):
        return True
    ends = tuple(f"/{source}" for source in item.sources if not is_url(source) and not Path(source).is_absolute())
    return any(name.replace("\\", "/").endswith(ends) for name in names)


def delete(settings: Settings, chosen: Sequence[Kept]) -> list[Kept]:
    """Delete items permanently, and return those that are left for the reason of `why_left`; raise OSError."""
    left = [item for item in chosen if item.kind in LEFT]
    kinds = {"threads": "chat", "runs": "question", "judgements": "feedback", "of_files": "file answer"}
    names = {option: [item.name for item in chosen if item.kind == kind] for option, kind in kinds.items()}
    if any(names.values()):
        with History.open(settings.data_folder) as history:
            history.delete(**names)
    for item in chosen:
        if item.kind == "run":
            _delete_run(Path(item.name))
        elif item.kind == "export":
            Path(item.name).unlink(missing_ok=True)
        elif item.kind == "fallback corpus":
            Index.destroy(Path(item.name))
    forget_deleted(settings.data_folder)
    return left


def why_left(item: Kept) -> str:
    """Return why an item was not deleted."""
    if item.kind == "bundle":
        return f"a bundle with a copy of the index is left for you: rm -r {shlex.quote(item.name)}"
    return f"left for you, because it may hold questions of your own: rm {shlex.quote(item.name)}"


def counted(everything: Sequence[Kept]) -> str:
    """Return counts in words: 2 chats and 3 evaluation runs."""
    counts = Counter[str](item.kind for item in everything)
    return joined(plural(counts[kind], noun, PLURALS.get(kind, "")) for kind, noun in NOUNS.items() if counts[kind])


def locations(paths: Sequence[str]) -> list[str]:
    """Return files and folders in the form in which an index names them, and URLs and names unchanged."""
    named: list[str] = []
    for path in paths:
        if is_url(path):
            named.append(normal(path))
        else:
            given = Path(path).expanduser()
            named += dict.fromkeys([path, str(given.absolute()), str(given.resolve())])
    return named


def what_quotes(settings: Settings, gone: Sequence[str] = (), typed: Sequence[str] = ()) -> list[str]:
    """Return a line on what still quotes files that have left an index, with the command that deletes it.

    `gone` are the files, and `typed` is what a person typed for them; both are empty if the whole index is gone. A
    bundle has a copy of the whole index.
    """
    try:
        everything = kept(settings)
    except LocalRagError as error:
        return [f"Chats may quote it, and cannot be read: {error}"]
    named = locations(typed)
    whole = about(everything, index=settings.index_path)
    quoting = about(everything, [*named, *gone], named) if gone or typed else whole
    quoting = [item for item in quoting if item.kind != "bundle"]
    bundles = [why_left(item) for item in whole if item.kind == "bundle"] if gone or not typed else []
    if not quoting:
        return bundles
    what = f"--index {shlex.quote(settings.values.index)} --delete"
    if gone or typed:
        quoted = typed or [file for file in gone if about(quoting, [file])]
        what = f"{shlex.join(quoted)} --delete" if len(quoted) <= MAX_NAMED else "  lists all"
    it = "them" if len(gone) > 1 else "it"
    return [f"{counted(quoting)} still quote{'s' if len(quoting) == 1 else ''} {it}: local-rag kept {what}", *bundles]


def _history(settings: Settings) -> Iterator[Kept]:
    """Yield chats, recorded questions and feedback."""
    if (settings.data_folder / FILE).exists():
        with History.open(settings.data_folder) as history:
            yield from history.quoting()


def _fallback_corpora(settings: Settings) -> Iterator[Kept]:
    """Yield the indexes of folders that were searched in place of the web."""
    for database in (settings.data_folder / fallback_corpus.FOLDER).glob(f"*/{DATABASE}"):
        item = Kept("fallback corpus", str(database.parent), "")
        with suppress(LocalRagError):  # a damaged index is listed too
            with Index.open(database.parent) as index:
                status, sources = index.status(), tuple(index.store.paths())
            item = replace(item, at=status.last_sync, sources=sources, folder=next(iter(status.roots), ""))
        yield item


def _files(settings: Settings) -> Iterator[Kept]:
    """Yield evaluation runs, exports, cases and bundles from the list of written files."""
    for entry in written(settings.data_folder):
        path = Path(entry.path)
        files = {"run": (path / run_folder.RECORDS, path / run_folder.CASES), "cases": (path,)}.get(entry.kind, ())
        sources = set(entry.sources).union(*map(_quoted, files))
        indexes = tuple(sorted({entry.index, *entry.others} - {""}))
        yield Kept(entry.kind, entry.path, entry.at, indexes, tuple(sorted(sources)))


def _quoted(path: Path) -> set[str]:
    """Return the files that a file of JSON lines names; none if it no longer exists."""
    sources: set[str] = set()
    with suppress(OSError), path.open("rb") as lines:
        for match in {match for line in lines for match in _QUOTED.findall(line)}:
            with suppress(ValueError):
                sources.add(str(json.loads(match)))
    return sources - {""}


def _delete_run(path: Path) -> None:
    """Delete a run's own files, and its folder if it is then empty; raise UsageError if another process writes to it.

    The manifest is deleted last, so that a run that was only partly deleted is found again.
    """
    if not (path / run_folder.MANIFEST).is_file():
        raise LocalRagError(f"{path} holds no run of local-rag eval any more", hint="local-rag kept")
    with run_folder.held(path):
        for name in _OF_A_RUN:
            (path / name).unlink(missing_ok=True)
    for name in (run_folder.LOCK, run_folder.MANIFEST):
        (path / name).unlink(missing_ok=True)
    with suppress(OSError):
        path.rmdir()
