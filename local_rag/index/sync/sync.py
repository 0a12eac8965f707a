"""The first phase of a sync: the text of an index is brought up to date with the files it was made from."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.documents import Skipped, SyncReport
from local_rag.core.protocols import Embedder
from local_rag.index.parse.loaders import Loader, names_of
from local_rag.index.parse.parser import Parser
from local_rag.index.parse.passwords import Passwords
from local_rag.index.store import reads, upgrade, writes
from local_rag.index.store.schema import OF_OTHER_KINDS, TEXT_PACE, FileRow, Recipe, Root
from local_rag.index.store.store import Store
from local_rag.index.sync.failures import Failures
from local_rag.index.sync.file_state import looks_unchanged, size_of
from local_rag.index.sync.moves import moves
from local_rag.index.sync.prefetch import Ahead
from local_rag.index.sync.read_files import (
    LoadedFile,
    Reader,
    ReadFile,
    SameFile,
    UnreadFile,
    cut_files,
    load_files,
)
from local_rag.index.sync.relocating import as_remembered, take_over
from local_rag.index.sync.report import GrowingReport, Pace, Progress
from local_rag.index.sync.upgrade import head_unread
from local_rag.index.sync.walk import LEADS_OUT, walk
from local_rag.index.sync.walked import Walk
from local_rag.text.description import by_count, kinds_in_words
from local_rag.text.display import plural

_BATCH = 256
"""Chunks after which a transaction ends; a file with more has one of its own."""

_SECONDS = 1.0
"""Age of the oldest file of a transaction after which it ends."""

_IDLE = 0.2
"""Seconds without another file after which it ends."""

_UNWRITTEN = 2
"""Transactions that may wait for the disk."""

_AHEAD = 1024
"""Chunks that are read ahead; a file with more waits alone."""

_LEAST = 20
"""What a file counts for there at least: a picture without text keeps the parser busy, too."""

_LOADED = 4_000_000
"""Code points that wait to be cut into chunks; a file with more waits alone."""

_FEWEST = 50_000
"""What a file counts for there at least."""

_LARGE = 4_000_000
"""Bytes of a file that waits until all smaller ones are searchable: 50 MB of text take most of a minute."""

NOT_FOLLOWED = (
    "holds links out of it, which are not followed any more: index it with --follow-links,"
    " or the next index forgets what they lead to"
)


class Sync:
    """One run over some roots. The caller holds the writer's lock."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        recipe: Recipe,
        progress: Callable[[Progress], None] | None,
        *,
        retry: bool = False,
        passwords: Passwords | None = None,
        loaders: Mapping[str, Loader] | None = None,
    ) -> None:
        """`retry`: what could not be read gets another attempt, even if neither its content nor the parser changed.

        `loaders` of somebody's own are stronger than ours. Raises UsageError for one that cannot be imported.
        """
        self._loaders = names_of(loaders or {})
        self._passwords = passwords or Passwords()
        self._store, self._embedder, self._recipe, self._progress = store, embedder, recipe, progress
        self._failures = Failures(store, retry)
        self._report = GrowingReport()
        self._known = {file.path: file for file in store.read(reads.files)}
        self._again = store.read(upgrade.files_behind)
        self._in_vain: list[str] = []
        self._sizes: dict[str, int] = {}
        self._pace = Pace(0)
        self._done = self._bytes = 0
        self._touched: list[FileRow] = []
        self._unreadable: list[str] = []
        self._unwritten: deque[tuple[Sequence[ReadFile], Future[int]]] = deque()

    def run(self, roots: Sequence[Root], *, prune: bool) -> SyncReport:
        """Take in the text of what is new or changed, file by file, then take out what is gone.

        What could not be seen stays, unless `prune`. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        roots, walked = self._walked(roots)
        self._report.skipped += walked.skipped
        self._report.ignored = by_count(walked.ignored)
        self._report.empty += sorted(walked.empty)
        self._take_in(walked, prune)
        self._take_out(walked, roots, prune)
        self._report.upgraded += head_unread(self._store, self._in_vain)
        self._conclude(walked, roots)
        return self._report.finished()

    # --- what is there

    def _walked(self, roots: Sequence[Root]) -> tuple[Sequence[Root], Walk]:
        """What the roots hold, once the index has followed what has moved, and the roots after that."""
        walked = walk(roots, self._store.read(reads.roots), self._known, self._loaders)
        if (observed := moves(walked, self._known)).files:
            self._report.moved += take_over(self._store, observed)
            self._known = {file.path: file for file in self._store.read(reads.files)}
            self._again = self._store.read(upgrade.files_behind)
            roots = as_remembered(roots, self._store)
            walked = walk(roots, self._store.read(reads.roots), self._known, self._loaders)
        return roots, walked

    def _take_in(self, walked: Walk, prune: bool) -> None:
        changed: dict[str, str] = {}
        for path, root in walked.files.items():
            old = self._known.get(path)
            if old is not None and path not in self._again and looks_unchanged(old):
                self._same(old)
                if old.root != root:
                    self._touched.append(replace(old, root=root))
            else:
                changed[path] = root
        self._sizes = {path: size_of(path) for path in changed}
        self._pace = Pace(sum(self._sizes.values()))
        changed = self._small_first(changed)
        if changed:
            self._tell(next(iter(changed)))
            try:
                self._read_and_store(changed, prune)
            finally:
                self._remove(self._unreadable)
                self._failures.remember()
        if self._touched:
            with self._store.writing() as db:
                writes.touch(db, self._touched)
        if changed:
            self._tell(next(reversed(changed)))

    def _small_first(self, changed: Mapping[str, str]) -> dict[str, str]:
        large = {path: size for path, size in self._sizes.items() if size > _LARGE}
        return {path: changed[path] for path in sorted(changed, key=lambda path: large.get(path, 0))}

    def _read_and_store(self, changed: Mapping[str, str], prune: bool) -> None:
        """Load, cut and write, each on a thread of its own; loading waits for the parser's process."""
        with (
            Parser(loaders=self._loaders) as parser,
            ThreadPoolExecutor(1, "local-rag-writer") as writer,
        ):
            known, again = self._known, self._again
            reader = Reader(parser, self._embedder, self._recipe, known, self._failures, self._passwords, again)
            with (
                Ahead(load_files(changed, reader), _characters, _LOADED, parser.stop) as loaded,
                Ahead(cut_files(loaded, reader), _weight, _AHEAD) as files,
            ):
                self._store_all(files, writer, prune)
            self._note_written(0)

    def _store_all(
        self, files: Ahead[ReadFile | SameFile | UnreadFile], writer: ThreadPoolExecutor, prune: bool
    ) -> None:
        """Hand the files over to the writer, small ones together: a transaction for each would take longer."""
        batch: list[ReadFile] = []
        began = 0.0
        for file in files:
            cancel.check()
            self._tell(file.path)
            if isinstance(file, ReadFile):
                began = began if batch else time.monotonic()
                batch.append(file)
                self._report.skipped += [Skipped(file.path, warning) for warning in file.row.warnings]
            else:
                self._leave(file, prune)
            full = sum(file.chunk_count for file in batch) >= _BATCH or time.monotonic() - began > _SECONDS
            if batch and (full or not files.ready(_IDLE)):
                self._unwritten.append((batch, writer.submit(self._write, batch)))
                self._note_written(_UNWRITTEN)
                batch = []
        if batch:
            self._unwritten.append((batch, writer.submit(self._write, batch)))

    def _leave(self, file: SameFile | UnreadFile, prune: bool) -> None:
        """Count a file that is not taken in."""
        old = self._known.get(file.path)
        if isinstance(file, SameFile):
            self._same(file.old)
            self._touched.append(file.row)
            self._in_vain += [file.path] * file.in_vain
        elif file.closed and old is not None and not prune:
            self._report.kept.append(Skipped(file.path, f"{file.reason}; its indexed text is kept"))
        else:
            self._report.skipped.append(Skipped(file.path, file.reason))
            if file.sha256:
                self._failures.note(file.path, file.sha256, file.reason)
            if old is not None:  # a file that was seen and cannot be read any more must not answer with what it said
                self._unreadable.append(file.path)
        self._finish(file.path)

    def _same(self, old: FileRow) -> None:
        self._report.unchanged += 1
        self._report.skipped += [Skipped(old.path, warning) for warning in old.warnings]

    def _write(self, files: Sequence[ReadFile]) -> int:
        """Store these files in one transaction; how many of their passages have their vector already."""
        with self._store.writing() as db:
            return sum(writes.write(db, file.row, file.documents) for file in files)

    def _note_written(self, left: int) -> None:
        """Wait until no more than so many transactions are unwritten. Raises DiskFull and IndexBusy."""
        while len(self._unwritten) > left or (self._unwritten and self._unwritten[0][1].done()):
            files, written = self._unwritten.popleft()
            self._report.reused += written.result()
            for file in files:
                self._count(file)
                self._report.chunks += file.chunk_count
                self._finish(file.path)

    def _count(self, file: ReadFile) -> None:
        """Count a file that is stored: one of the same content was only read again for what it says of itself."""
        old = self._known.get(file.path)
        if old is not None and old.sha256 == file.row.sha256:
            self._report.unchanged += 1
            self._report.upgraded += 1
        else:
            (self._report.new if old is None else self._report.updated).append(file.path)

    def _finish(self, path: str) -> None:
        self._done += 1
        self._bytes += self._sizes[path]

    def _tell(self, path: str) -> None:
        if self._progress is not None:
            total = len(self._sizes)
            self._progress(self._pace.progress(self._bytes, self._done, total, self._report.chunks, path))

    # --- what is gone

    def _take_out(self, walked: Walk, roots: Sequence[Root], prune: bool) -> None:
        """Forget files that their root no longer has, unless another root, not looked at now, may have them."""
        synced = {root.path: root for root in roots}
        others = {root.path for root in self._store.read(reads.roots)} - synced.keys()
        gone: list[FileRow] = []
        kept: Counter[tuple[str, str]] = Counter()
        for path, file in self._known.items():
            if path in walked.files or file.root not in synced:
                continue
            why = None if prune else walked.why_unseen(file) or _why_kept_once(walked, file, synced[file.root])
            if why is not None:
                kept[why] += 1
            elif not _is_below(path, others):
                gone.append(file)
        self._remove([file.path for file in gone])
        self._failures.forget([p for p in self._failures.paths if p not in walked.files and _is_below(p, synced)])
        for file in gone:
            _, unseen = walked.why_unseen(file) or ("", "")  # with --prune that is no reason to keep it
            if reason := walked.why_left_out(file) or (LEADS_OUT if walked.is_behind_a_link(file) else unseen):
                self._report.forgotten.append(Skipped(file.path, reason))
        self._report.kept += [
            Skipped(path, f"{reason}; {plural(count, 'indexed file')} of it kept")
            for (path, reason), count in kept.items()
        ]
        kept_paths = {path for path, _ in kept}
        self._report.skipped += [Skipped(path, why) for path, why in walked.unseen.items() if path not in kept_paths]
        with self._store.writing() as db:
            writes.set_roots(
                db, [replace(synced[path], links_reported=True) for path, why in kept if why == NOT_FOLLOWED]
            )

    def _conclude(self, walked: Walk, roots: Sequence[Root]) -> None:
        """Remember when this was, and what was said of which files, so that the next report begins with what is new."""
        report = self._report
        synced = {root.path for root in roots}
        around = {str(above) for path in synced for above in (path, *Path(path).parents)}
        known = self._store.read(reads.roots)
        report.excludes = {root.path: root.excludes for root in known if root.excludes and root.path in around}
        before = self._store.read(reads.reported)
        reported = {(file.path, file.reason) for file in (*report.skipped, *report.kept)}
        for files in (report.skipped, report.kept):
            files[:] = [replace(file, new=(file.path, file.reason) not in before) for file in files]
        others = {root.path for root in known} - synced
        reported |= {each for each in before if _is_below(each[0], others) and not _is_below(each[0], synced)}
        reported |= {
            (path, OF_OTHER_KINDS + kinds_in_words(by_count(counts)))
            for path, counts in walked.ignored_below.items()
            if counts
        }
        with self._store.writing() as db:
            writes.set_meta(db, {"last_sync": str(time.time())})
            if report.chunks:
                writes.set_meta(db, {TEXT_PACE: f"{report.chunks / max(report.seconds, 1e-3):.3g}"})
            writes.set_reported(db, reported)

    def _remove(self, paths: Sequence[str]) -> None:
        if paths:
            self._report.formerly += self._store.read(reads.former_paths, paths)
            with self._store.writing() as db:
                writes.remove(db, paths)
            self._report.removed += paths


def _why_kept_once(walked: Walk, file: FileRow, root: Root) -> tuple[str, str] | None:
    """(path, reason) for what an earlier version found through a link out of its root: it goes with the next sync."""
    return (root.path, NOT_FOLLOWED) if walked.is_behind_a_link(file) and not root.links_reported else None


def _is_below(path: str, roots: Collection[str]) -> bool:
    """Whether one of the roots is a path or a folder above it."""
    return any(above in roots for above in (path, *map(str, Path(path).parents)))


def _characters(file: LoadedFile | SameFile | UnreadFile) -> int:
    return max(_FEWEST, file.characters if isinstance(file, LoadedFile) else 0)


def _weight(file: ReadFile | SameFile | UnreadFile) -> int:
    return max(_LEAST, file.chunk_count if isinstance(file, ReadFile) else 0)
