"""The first phase of a sync: the text of an index is brought up to date with the files it was made from."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, Skipped, SyncReport
from local_rag.core.protocols import Embedder
from local_rag.index.parse.loaders import Loader, names_of, parser_version
from local_rag.index.parse.parser import Parser
from local_rag.index.store import reads, writes
from local_rag.index.store.schema import OF_OTHER_KINDS, TEXT_PACE, Failure, FileRow, IndexSettings, Root
from local_rag.index.store.store import Store
from local_rag.index.sync.read import (
    Read,
    Reader,
    ReadPart,
    UnreadFile,
    chunks_of,
    looks_unchanged,
)
from local_rag.index.sync.report import GrowingReport, Pace, Progress
from local_rag.index.sync.roots import is_below
from local_rag.index.sync.walk import LEADS_OUT, Walk, walk
from local_rag.text.chunking import Chunk
from local_rag.text.display import by_count, kinds_in_words, plural

_BATCH = 256
"""Chunks after which a transaction ends; a file with more has one of its own."""

_IDLE = 0.2
"""Seconds without another file after which it ends as well."""

_AHEAD = 12
"""Parts of files that are read while one is stored: now this takes longer, now that."""

_LARGE = 4_000_000
"""Bytes of a file that waits until all smaller ones are searchable, and is read alone: 50 MB of text take a minute."""


CutFiles = Sequence[tuple[FileRow, Sequence[tuple[LoadedDocument, Sequence[Chunk]]]]]
"""A file and what lies inside of it, each with its documents and their chunks."""


class TextSync:
    """One run over some roots. The caller holds the writer's lock."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        settings: IndexSettings,
        progress: Callable[[Progress], None] | None,
        *,
        retry: bool = False,
        loaders: Mapping[str, Loader] | None = None,
    ) -> None:
        """`retry`: what could not be read gets another attempt, even if neither its content nor the parser changed.

        `loaders` of somebody's own are stronger than ours. Raises UsageError for one that cannot be imported.
        """
        self._loaders = names_of(loaders or {})
        self._store, self._embedder, self._settings, self._progress = store, embedder, settings, progress
        self._report = GrowingReport()
        self._known = {file.path: file for file in store.read(reads.files)}
        self._failures = store.read(reads.failures)
        self._unreadable = {
            path: failure
            for path, failure in self._failures.items()
            if failure.parser == parser_version() and not retry
        }
        self._sizes: dict[str, int] = {}
        self._pace = Pace(0)
        self._done = self._bytes = 0
        self._waiting: list[Callable[[Connection], None]] = []
        self._chunks = 0

    def run(self, roots: Sequence[Root], *, prune: bool) -> SyncReport:
        """Take in the text of what is new or changed, file by file, then take out what is gone.

        What could not be seen stays, unless `prune`. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        all_roots = {root.path: root for root in self._store.read(reads.roots)}
        synced = {root.path: root for root in roots}
        walked = walk(roots, list(all_roots.values()), self._known, self._loaders)
        self._report.skipped += [Skipped(path, reason) for path, reason in walked.skipped.items()]
        self._take_in(walked, prune)
        self._take_out(walked, synced, all_roots.keys() - synced, prune)
        self._conclude(walked, synced, all_roots.keys() - synced)
        return self._report.finished(
            empty=tuple(sorted(walked.empty)),
            excludes={root.path: root.excludes for root in roots if root.excludes},
            ignored=by_count(sum(walked.ignored.values(), Counter())),
        )

    # --- what is there

    def _take_in(self, walked: Walk, prune: bool) -> None:
        changed: dict[str, tuple[str, str]] = {}
        for path, root in walked.files.items():
            old, stamp = self._known.get(path), walked.stamp(path)
            if old is None or not (looks_unchanged(old) and old.sha256.endswith(stamp)):
                changed[path] = root, stamp
                continue
            self._same(replace(old, root=root), touched=old.root != root)
        self._sizes = {path: _size(path) for path in changed}
        self._pace = Pace(sum(self._sizes.values()))
        small = [path for path in changed if self._sizes[path] <= _LARGE]
        for paths, ahead in ((small, _AHEAD), (sorted(changed.keys() - small), 1)):
            if paths:
                self._tell(paths[0])
                self._read_and_store({path: changed[path] for path in paths}, ahead, walked, prune)
                self._tell(paths[-1])

    def _read_and_store(self, changed: Mapping[str, tuple[str, str]], ahead: int, walked: Walk, prune: bool) -> None:
        """Read on another thread, which waits for the parser's process, while this one cuts and writes."""
        context = copy_context()
        with Parser(loaders=self._loaders) as parser, ThreadPoolExecutor(1, "local-rag-reader") as thread:
            files = Reader(parser, self._known, self._unreadable, walked.leave_out_inside).read(changed)

            def read() -> Future[Read | None]:
                return thread.submit(lambda: context.run(lambda: next(files, None)))

            waiting = deque(read() for _ in range(ahead))
            try:
                while (file := self._awaited(waiting.popleft())) is not None:
                    waiting.append(read())
                    self._tell(file.path)
                    self._take(file, prune)
                self._write()
            finally:
                parser.stop()
                thread.shutdown(cancel_futures=True)

    def _awaited(self, file: Future[Read | None]) -> Read | None:
        """What becomes of a file; what is read already is stored meanwhile, if that takes long."""
        while not wait([file], _IDLE).done:
            cancel.check()
            self._write()
        cancel.check()
        return file.result()

    def _take(self, file: Read, prune: bool) -> None:
        if isinstance(file, FileRow):
            self._same(file, touched=True)
            self._finish(file.path)
        elif isinstance(file, UnreadFile):
            self._leave(file, prune)
        else:
            self._cut(file, prune)

    def _cut(self, part: ReadPart, prune: bool) -> None:
        """Cut a part into chunks, and store it with others once they are many or have waited."""
        files: CutFiles = [
            (row, [(each, chunks_of(each, self._embedder, self._settings)) for each in documents])
            for row, documents in part.files
        ]
        count = sum(len(chunks) for _, documents in files for _, chunks in documents)
        if part.first and part.last and not count:
            reason = "; ".join(part.row.warnings) or "has no text in it"
            self._leave(UnreadFile(part.path, reason, sha256=part.row.sha256), prune)
            return
        told = [part.row] * part.last + [row for row, _ in files if row.container]
        self._report.skipped += [Skipped(row.path, warning) for row in told for warning in row.warnings]
        self._waiting.append(partial(self._store_part, part, files, count))
        self._chunks += count
        if self._chunks >= _BATCH:
            self._write()

    def _write(self) -> None:
        """Do what waits in one transaction: one for each small file would take longer."""
        waiting, self._waiting, self._chunks = self._waiting, [], 0
        if waiting:
            with self._store.writing() as db:
                for work in waiting:
                    work(db)

    def _store_part(self, part: ReadPart, files: CutFiles, count: int, db: Connection) -> None:
        for row, documents in files:
            more = not (part.first or row.container)
            self._report.reused += writes.write(db, replace(row, sha256=""), documents, more=more)
        self._report.chunks += count
        if part.last:
            writes.finish(db, part.row)
            (self._report.updated if part.path in self._known else self._report.new).append(part.path)
            self._finish(part.path)

    def _leave(self, file: UnreadFile, prune: bool) -> None:
        """What cannot be read must not answer with what it said before, unless its content is not the cause."""
        if file.passing and file.path in self._known and not prune:
            self._report.kept.append(Skipped(file.path, f"{file.reason}; its indexed text is kept"))
        else:
            self._report.skipped.append(Skipped(file.path, file.reason))
            self._forget([file.path] * (file.path in self._known))
        if file.sha256:
            failure = Failure(file.path, file.sha256, parser_version(), file.reason)
            self._waiting.append(lambda db: writes.set_failures(db, [failure]))
        self._finish(file.path)

    def _forget(self, paths: Sequence[str]) -> None:
        if paths:
            self._waiting.append(lambda db: writes.remove(db, paths))
            self._report.removed += paths

    def _same(self, file: FileRow, *, touched: bool) -> None:
        self._report.unchanged += 1
        self._report.skipped += [Skipped(file.path, warning) for warning in file.warnings]
        if touched:
            self._waiting.append(lambda db: writes.touch(db, [file]))

    def _finish(self, path: str) -> None:
        self._done += 1
        self._bytes += self._sizes[path]

    def _tell(self, path: str) -> None:
        if self._progress is not None:
            total = len(self._sizes)
            self._progress(self._pace.progress(self._bytes, self._done, total, self._report.chunks, path))

    # --- what is gone

    def _take_out(self, walked: Walk, synced: Mapping[str, Root], others: Collection[str], prune: bool) -> None:
        """Forget files that their root no longer has, unless another root, not looked at now, may have them."""
        gone, kept = list[str](), Counter[tuple[str, str]]()
        for path, file in self._known.items():
            if path in walked.files or file.root not in synced:
                continue
            unseen = walked.why_unseen(file)
            if unseen and not prune:
                kept[unseen] += 1
            elif not is_below(path, others):
                gone.append(path)
                led_out = not (synced[file.root].follow_links or Path(path).is_relative_to(file.root))
                if reason := walked.why_left_out(file) or (LEADS_OUT if led_out else unseen and unseen[1]):
                    self._report.forgotten.append(Skipped(path, reason))
        self._forget(gone)
        self._write()
        self._report.kept += [
            Skipped(path, f"{reason}; {plural(count, 'indexed file')} of it kept")
            for (path, reason), count in kept.items()
        ]
        kept_paths = {path for path, _ in kept}
        self._report.skipped += [Skipped(path, why) for path, why in walked.unseen.items() if path not in kept_paths]

    def _conclude(self, walked: Walk, synced: Collection[str], others: Collection[str]) -> None:
        """Remember when this was, and what was said of which files, so that the next report begins with what is new."""
        report = self._report
        before = self._store.read(reads.reported)
        reported = {(file.path, file.reason) for file in (*report.skipped, *report.kept)}
        for files in (report.skipped, report.kept):
            files[:] = [replace(file, new=(file.path, file.reason) not in before) for file in files]
        reported |= {each for each in before if is_below(each[0], others) and not is_below(each[0], synced)}
        reported |= {
            (path, OF_OTHER_KINDS + kinds_in_words(by_count(counts)))
            for path, counts in walked.ignored.items()
            if counts
        }
        unread = [path for path in self._failures if path not in walked.files and is_below(path, synced)]
        with self._store.writing() as db:
            writes.forget_unread(db, unread)
            writes.set_meta(db, {"last_sync": str(time.time())})
            if report.chunks:
                writes.set_meta(db, {TEXT_PACE: f"{report.chunks / (time.monotonic() - report.started):.3g}"})
            writes.set_reported(db, reported)


def _size(path: str) -> int:
    """Bytes, 0 for a file that cannot be looked at."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
