"""Bringing an index up to date with the files it was made from."""

from __future__ import annotations

import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag import cancel
from local_rag.chunking import Chunk, chunk
from local_rag.errors import FileSkipped
from local_rag.index import lookups, tables
from local_rag.index.parser import Parser
from local_rag.index.rows import FileRow, NewDocument, Recipe, Root
from local_rag.index.store import Store
from local_rag.index.walk import walk
from local_rag.index.weights import sha256
from local_rag.protocols import Embedder
from local_rag.text import plural
from local_rag.types import LoadedDocument, Skipped, SyncReport

if TYPE_CHECKING:
    from local_rag.protocols import Vectors

_BATCH = 64
"""Small files are embedded together until they have this many passages: the most that a kill -9 can lose."""

_SLICE = 256
"""Passages of a large file that are embedded between two reports of progress."""

_RACY = 2.0
"""Seconds: a file changed that shortly before it was indexed may change again with the same time (FAT: 2 s)."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sync is: `done` of `total` files stored or skipped, `chunks` embedded, the file in hand, seconds.

    `share` in [0, 1] is that of the bytes of these files: a better measure of the time left than their number.
    """

    done: int
    total: int
    chunks: int
    path: str
    seconds: float
    share: float = 0.0


@dataclass
class _Pending:
    """A file that was read and waits to be embedded with others."""

    file: FileRow
    documents: list[tuple[LoadedDocument, list[Chunk]]]

    @property
    def chunks(self) -> int:
        return sum(len(pieces) for _, pieces in self.documents)

    def texts(self) -> list[str]:
        return [found.text[piece.start : piece.end] for found, pieces in self.documents for piece in pieces]


@dataclass
class _Seen:
    """What walking the roots showed: path -> root of every file, and the places that could not be looked into."""

    files: dict[str, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    unseen: dict[str, str] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    ignored: Counter[str] = field(default_factory=Counter)

    def why_unseen(self, file: FileRow) -> tuple[str, str] | None:
        """(place, reason) if the file may still be there, unseen."""
        if file.root in self.empty:
            return file.root, "holds no file to index all of a sudden"
        places = [file.path, *map(str, Path(file.path).parents), file.root]
        return next(((place, self.unseen[place]) for place in places if place in self.unseen), None)


def look(roots: Iterable[Root]) -> _Seen:
    """Walk every root as it was asked for."""
    seen = _Seen()
    for root in roots:
        found = walk([Path(root.path)], excludes=root.excludes, secrets=root.secrets)
        for path in map(str, found.files):
            if _shown(path) == path:
                seen.files.setdefault(path, root.path)
            else:
                seen.skipped.append(Skipped(_shown(path), "has a name that is not Unicode: rename it"))
        seen.skipped += [Skipped(_shown(left.path), left.reason) for left in found.skipped]
        seen.ignored.update(found.ignored_suffixes)
        seen.unseen |= {_shown(place.path): place.reason for place in found.unseen}
        if not found.files and Path(root.path).is_dir():
            seen.empty.add(root.path)
    return seen


def cut(document: LoadedDocument, embedder: Embedder, recipe: Recipe) -> list[Chunk]:
    """The passages of a document, as this index makes them."""
    offsets = embedder.token_offsets(document.text)
    return chunk(document, offsets, size=recipe.size, overlap=recipe.overlap, window=embedder.window)


def _shown(path: str) -> str:
    """A path as it can be stored and printed: POSIX file names are bytes, not all of them are text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class Sync:
    """One run over some roots. The caller holds the writer's lock."""

    def __init__(
        self, store: Store, embedder: Embedder, recipe: Recipe, progress: Callable[[Progress], None] | None
    ) -> None:
        self._store, self._embedder, self._recipe, self._progress = store, embedder, recipe, progress
        self._started = time.monotonic()
        self._new: list[str] = []
        self._updated: list[str] = []
        self._removed: list[str] = []
        self._skipped: list[Skipped] = []
        self._kept: list[Skipped] = []
        self._unchanged = self._done = self._total = self._chunks = 0
        self._sizes: dict[str, int] = {}
        self._bytes = 0
        self._pending: list[_Pending] = []

    def run(self, roots: Sequence[Root], *, prune: bool) -> SyncReport:
        """Take in what is new or changed, file by file, then take out what is gone.

        What could not be seen stays, unless `prune`. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        known = {file.path: file for file in self._store.read(lookups.files)}
        seen = look(roots)
        self._skipped += seen.skipped
        self._take_in(seen, known, prune)
        self._take_out(seen, known, {root.path for root in roots}, prune)
        with self._store.writing() as db:
            tables.set_meta(db, {"last_sync": str(time.time())})
        self._store.refresh()
        return SyncReport(
            new=tuple(self._new),
            updated=tuple(self._updated),
            unchanged=self._unchanged,
            removed=tuple(self._removed),
            skipped=tuple(self._skipped),
            kept=tuple(self._kept),
            ignored=dict(seen.ignored.most_common()),
            chunks=self._chunks,
            seconds=time.monotonic() - self._started,
        )

    # --- what is there

    def _take_in(self, seen: _Seen, known: dict[str, FileRow], prune: bool) -> None:
        touched: list[FileRow] = []
        todo: list[str] = []
        for path, root in seen.files.items():
            old = known.get(path)
            if old is not None and _looks_unchanged(old):
                self._same(old)
                if old.root != root:
                    touched.append(replace(old, root=root))
            else:
                todo.append(path)
        self._total = len(todo)
        self._sizes = {path: _size(path) for path in todo}
        with Parser() as parser:
            for path in todo:
                cancel.check()
                self._report(path)
                waiting = len(self._pending)
                touched += self._one(parser, path, seen.files[path], known.get(path), prune)
                if len(self._pending) == waiting:
                    self._finish(path)
                if sum(waiting.chunks for waiting in self._pending) >= _BATCH:
                    self._flush(known)
            self._flush(known)
        if touched:
            with self._store.writing() as db:
                tables.touch(db, touched)
        if todo:
            self._report(todo[-1])

    def _one(self, parser: Parser, path: str, root: str, old: FileRow | None, prune: bool) -> list[FileRow]:
        """Read one file; it then waits to be embedded. Gives it back if only its time of change is new."""
        try:
            file = _fingerprinted(path, root)
        except OSError as error:
            reason = f"cannot be opened ({error.strerror or error})"
            if old is not None and not prune:
                self._kept.append(Skipped(path, f"{reason}; its indexed text is kept"))
            else:
                self._drop(path, reason, old)
            return []
        if old is not None and old.sha256 == file.sha256:
            self._same(old)
            return [replace(file, warnings=old.warnings)]
        try:
            parsed = parser.parse(Path(path))
            titled = [found if found.title else replace(found, title=Path(path).name) for found in parsed.documents]
            documents = [(found, cut(found, self._embedder, self._recipe)) for found in titled]
            if not any(pieces for _, pieces in documents):
                raise FileSkipped("has no text in it")
        except FileSkipped as error:
            self._drop(path, f"{error}: {error.hint}" if error.hint else str(error), old)
            return []
        self._pending.append(_Pending(replace(file, warnings=parsed.warnings), documents))
        self._skipped += [Skipped(path, warning) for warning in parsed.warnings]
        return []

    def _same(self, old: FileRow) -> None:
        self._unchanged += 1
        self._skipped += [Skipped(old.path, warning) for warning in old.warnings]

    def _drop(self, path: str, reason: str, old: FileRow | None) -> None:
        """A file that was seen and cannot be read any more must not answer with what it said before."""
        self._skipped.append(Skipped(path, reason))
        if old is not None:
            self._remove([path])

    def _flush(self, known: dict[str, FileRow]) -> None:
        """Embed all that waits, then write file by file, each in its own transaction."""
        pending, self._pending = self._pending, []
        vectors = self._embedded(pending)
        for waiting in pending:
            documents = []
            for found, pieces in waiting.documents:
                documents.append(NewDocument(found, pieces, [next(vectors) for _ in pieces]))
            with self._store.writing() as db:
                tables.write(db, replace(waiting.file, indexed_at=time.time()), documents)
            (self._updated if waiting.file.path in known else self._new).append(waiting.file.path)
            self._finish(waiting.file.path)

    def _embedded(self, pending: Sequence[_Pending]) -> Iterator[Vectors]:
        """One vector (d,) per passage, in order."""
        texts = [text for waiting in pending for text in waiting.texts()]
        for first in range(0, len(texts), _SLICE):
            part = texts[first : first + _SLICE]
            vectors = self._embedder.embed_documents(part)
            self._chunks += len(part)
            self._report(pending[-1].file.path)
            yield from vectors

    def _finish(self, path: str) -> None:
        self._done += 1
        self._bytes += self._sizes[path]

    def _report(self, path: str) -> None:
        if self._progress is not None:
            seconds = time.monotonic() - self._started
            share = self._bytes / max(1, sum(self._sizes.values()))
            self._progress(Progress(self._done, self._total, self._chunks, path, seconds, share))

    # --- what is gone

    def _take_out(self, seen: _Seen, known: dict[str, FileRow], synced: set[str], prune: bool) -> None:
        """Forget files that their root no longer has, unless another root, not looked at now, may have them."""
        others = [Path(root.path) for root in self._store.read(lookups.roots) if root.path not in synced]
        gone: list[str] = []
        kept: dict[tuple[str, str], int] = {}
        for path, file in known.items():
            if path in seen.files or file.root not in synced:
                continue
            place = None if prune else seen.why_unseen(file)
            if place is not None:
                kept[place] = kept.get(place, 0) + 1
            elif not any(Path(path).is_relative_to(other) for other in others):
                gone.append(path)
        self._remove(gone)
        self._kept += [
            Skipped(place, f"{reason}; {plural(count, 'indexed file')} of it kept")
            for (place, reason), count in kept.items()
        ]
        told = {place for place, _ in kept}
        self._skipped += [Skipped(place, why) for place, why in seen.unseen.items() if place not in told]

    def _remove(self, paths: Sequence[str]) -> None:
        if paths:
            with self._store.writing() as db:
                tables.remove(db, paths)
            self._removed += paths


def _looks_unchanged(old: FileRow) -> bool:
    """Same size, same time of change, and that time is not so close to the indexing that it proves nothing.

    The same rule as git's for its index: https://git-scm.com/docs/racy-git
    """
    try:
        found = Path(old.path).stat()
    except OSError:
        return False
    racy = old.mtime_ns / 1e9 > old.indexed_at - _RACY
    return (found.st_size, found.st_mtime_ns) == (old.size, old.mtime_ns) and not racy


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _fingerprinted(path: str, root: str) -> FileRow:
    """The file with its SHA-256; size and time are read before it, so that a later change shows. Raises OSError."""
    place = Path(path)
    found = place.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError("not a regular file")
    return FileRow(path, root, sha256(place), found.st_size, found.st_mtime_ns, indexed_at=time.time())
