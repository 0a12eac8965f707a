"""Bringing an index up to date with the files it was made from."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from local_rag.core.documents import Skipped, SyncReport
from local_rag.core.protocols import Embedder
from local_rag.index.parse.parser import Parser
from local_rag.index.store import reads, writes
from local_rag.index.store.rows import FileRow, Recipe, Root
from local_rag.index.store.store import Store
from local_rag.index.sync.prefetch import Ahead
from local_rag.index.sync.reader import Outcome, ReadFile, Same, Unread, read
from local_rag.index.sync.store_thread import Writer
from local_rag.index.sync.walk import walk
from local_rag.text.display import plural

_SLICE = 64
"""Passages that are embedded at once, those of small files together; what a kill -9 can lose is four times that."""

_AHEAD = 1024
"""Passages that are read ahead; a file with more waits alone."""

_LEAST = 20
"""What a file counts for there at least: a picture without text holds up its passages in the parser, too."""

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
        self._known: dict[str, FileRow] = {}
        self._gone: list[str] = []

    def run(self, roots: Sequence[Root], *, prune: bool) -> SyncReport:
        """Take in what is new or changed, file by file, then take out what is gone.

        What could not be seen stays, unless `prune`. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        known = self._known = {file.path: file for file in self._store.read(reads.files)}
        seen = look(roots)
        self._skipped += seen.skipped
        try:
            self._take_in(seen, known, prune)
            self._take_out(seen, known, {root.path for root in roots}, prune)
            with self._store.writing() as db:
                writes.set_meta(db, {"last_sync": str(time.time())})
        finally:
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
        todo: dict[str, str] = {}
        for path, root in seen.files.items():
            old = known.get(path)
            if old is not None and _looks_unchanged(old):
                self._same(old)
                if old.root != root:
                    touched.append(replace(old, root=root))
            else:
                todo[path] = root
        self._total = len(todo)
        self._sizes = {path: _size(path) for path in todo}
        if todo:
            self._report(next(iter(todo)))
            touched += self._take(todo, prune)
        if touched:
            with self._store.writing() as db:
                writes.touch(db, touched)
        if todo:
            self._report(next(reversed(todo)))

    def _take(self, todo: dict[str, str], prune: bool) -> list[FileRow]:
        """Read, embed and write, each on a thread, with little between them. Gives back what was only touched."""
        touched: list[FileRow] = []
        try:
            with (
                Parser() as parser,
                Ahead(
                    read(todo, self._known, parser, self._embedder, self._recipe), _weight, _AHEAD, parser.stop
                ) as found,
            ):
                touched = self._store_all(found, prune)
        finally:  # the writer's transaction is over
            self._remove(self._gone)
        return touched

    def _store_all(self, outcomes: Iterable[Outcome], prune: bool) -> list[FileRow]:
        touched: list[FileRow] = []
        waiting: list[ReadFile] = []
        with Writer(self._store) as writer:
            for outcome in outcomes:
                self._report(outcome.path)
                if isinstance(outcome, ReadFile):
                    waiting.append(outcome)
                    self._skipped += [Skipped(outcome.path, warning) for warning in outcome.file.warnings]
                else:
                    touched += self._left_alone(outcome, prune)
                if sum(one.chunks for one in waiting) >= _SLICE:
                    self._embed(writer, waiting)
                    waiting = []
            self._embed(writer, waiting)
        self._note(writer)
        return touched

    def _left_alone(self, outcome: Same | Unread, prune: bool) -> list[FileRow]:
        """Count what is not taken in. Gives the file back if only its time of change is new."""
        if isinstance(outcome, Same):
            self._same(outcome.old)
            self._finish(outcome.path)
            return [outcome.file]
        old = self._known.get(outcome.path)
        if outcome.closed and old is not None and not prune:
            self._kept.append(Skipped(outcome.path, f"{outcome.reason}; its indexed text is kept"))
        else:
            self._skipped.append(Skipped(outcome.path, outcome.reason))
            if old is not None:  # a file that was seen and cannot be read any more must not answer with what it said
                self._gone.append(outcome.path)
        self._finish(outcome.path)
        return []

    def _same(self, old: FileRow) -> None:
        self._unchanged += 1
        self._skipped += [Skipped(old.path, warning) for warning in old.warnings]

    def _embed(self, writer: Writer, waiting: Sequence[ReadFile]) -> None:
        """Embed all passages of these files, slice by slice, and hand them over to be stored."""
        if not waiting:
            return
        for one in waiting:
            writer.file(one)
        texts = [text for one in waiting for text in one.texts()]
        slices = max(1, len(texts) // _SLICE)
        for number in range(slices):
            part = texts[number * len(texts) // slices : (number + 1) * len(texts) // slices]
            writer.rows(self._embedder.embed_documents(part))
            self._chunks += len(part)
            self._note(writer)
            self._report(waiting[-1].path)

    def _note(self, writer: Writer) -> None:
        for path in writer.stored():
            (self._updated if path in self._known else self._new).append(path)
            self._finish(path)

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
        others = [Path(root.path) for root in self._store.read(reads.roots) if root.path not in synced]
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
                writes.remove(db, paths)
            self._removed += paths


def _looks_unchanged(old: FileRow) -> bool:
    """Same size, same time of change, and that time is not so close to the indexing that it proves nothing.

    The same rule as git's for its index: https://git-scm.com/docs/racy-git
    """
    try:
        found = os.stat(old.path)  # noqa: PTH116 - a Path for each of ten thousand files takes longer than the rest
    except OSError:
        return False
    racy = old.mtime_ns / 1e9 > old.indexed_at - _RACY
    return (found.st_size, found.st_mtime_ns) == (old.size, old.mtime_ns) and not racy


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _weight(outcome: Outcome) -> int:
    return max(_LEAST, outcome.chunks if isinstance(outcome, ReadFile) else 0)
