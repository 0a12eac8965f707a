"""The first phase of a sync: the text of an index is brought up to date with the files it was made from."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from itertools import starmap
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.documents import Skipped, SyncReport
from local_rag.core.protocols import Embedder
from local_rag.index.parse.loaders import Loader, names_of, parser_version
from local_rag.index.parse.parser import Parser
from local_rag.index.store import reads, writes
from local_rag.index.store.database import Database
from local_rag.index.store.schema import OF_OTHER_KINDS, TEXT_PACE, Failure, FileRow, IndexSettings, Root, of_scans
from local_rag.index.store.store import Store
from local_rag.index.sync.read import Read, Reader, ReadPart, UnreadFile, chunks_of, looks_unchanged
from local_rag.index.sync.report import GrowingReport, Pace, Progress
from local_rag.index.sync.roots import is_below
from local_rag.index.sync.walk import Found, Walk, walk
from local_rag.text.display import by_count, kinds_in_words

BATCH = 256
"""Chunks after which a transaction ends; a file with more has one of its own."""

_IDLE = 0.2
"""Seconds without another file after which it ends as well."""

_AHEAD = 24
"""Parts and rows of files that are read while one is stored: now this takes longer, now that."""

LARGE = 4_000_000
"""Bytes of a file that waits until all smaller ones are searchable, and is read alone: 50 MB of text take a minute."""


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
        self._store, self._embedder, self._settings = store, embedder, settings
        self._progress = progress or (lambda told: None)
        self._report = GrowingReport()
        self._known = {file.path: file for file in store.read(reads.files)}
        self._failures = store.read(reads.failures)
        self._unreadable = {} if retry else self._failures
        self._waiting: list[Callable[[Database], object]] = []
        self._chunks = self._stored = 0
        """Chunks that wait, and those of the file in hand."""

    def run(self, roots: Sequence[Root], *, prune: bool) -> SyncReport:
        """Take in the text of what is new or changed, file by file, then take out what is gone.

        What could not be seen stays, unless `prune`. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        self._prune, self._synced = prune, {root.path for root in roots}
        walked = walk(roots, self._store.read(reads.roots), self._known, self._loaders)
        self._report.skipped += starmap(Skipped, walked.skipped.items())
        self._take_in(walked.files)
        self._take_out(walked)
        self._conclude(walked)
        return self._report.finished(
            empty=tuple(walked.empty),
            excludes={root.path: root.excludes for root in roots if root.excludes},
            ignored=by_count(sum(walked.ignored.values(), Counter())),
            images=tuple(walked.images),
        )

    # --- what is there

    def _take_in(self, files: Mapping[str, Found]) -> None:
        changed: dict[str, Found] = {}
        for path, found in files.items():
            old = self._known.get(path)
            if old is None or not (looks_unchanged(old) and old.sha256.endswith(found.stamp)):
                changed[path] = found
            else:
                self._finish(replace(old, root=found.root))
        self._sizes = dict.fromkeys(changed, 0)
        for path in changed:
            with suppress(OSError):
                self._sizes[path] = Path(path).stat().st_size
        self._pace, self._done, self._bytes = Pace(sum(self._sizes.values())), 0, 0
        large = {path for path in changed if self._sizes[path] > LARGE}
        for paths, ahead in ((changed.keys() - large, _AHEAD), (large, 1)):
            self._read_and_store({path: changed[path] for path in sorted(paths)}, ahead)

    def _read_and_store(self, changed: Mapping[str, Found], ahead: int) -> None:
        """Read on another thread, which waits for the parser's process, while this one cuts and writes."""
        context, path = copy_context(), ""
        with Parser(loaders=self._loaders) as parser, ThreadPoolExecutor(1, "local-rag-reader") as thread:
            files = Reader(parser, self._known, self._unreadable).read(changed)

            def read() -> Future[Read | None]:
                return thread.submit(lambda: context.run(lambda: next(files, None)))

            waiting = deque(read() for _ in range(ahead))
            try:
                while (file := self._awaited(waiting.popleft())) is not None:
                    waiting.append(read())
                    path = file.path
                    self._tell(path)
                    if isinstance(file, ReadPart):
                        self._cut(file)
                        continue
                    if isinstance(file, UnreadFile):
                        self._leave(file)
                    else:
                        self._finish(file)
                    self._stored, self._done = 0, self._done + 1
                    self._bytes += self._sizes[path]
                self._write()
            finally:
                parser.stop()
                thread.shutdown(cancel_futures=True)
        if path:
            self._tell(path)

    def _awaited(self, file: Future[Read | None]) -> Read | None:
        """What becomes of a file; what is read already is stored meanwhile, if that takes long."""
        while not wait([file], _IDLE).done:
            self._write()
        cancel.check()
        return file.result()

    def _cut(self, part: ReadPart) -> None:
        """Cut a part into chunks, and store it with others once they are many or have waited."""
        if self._chunks >= BATCH:
            self._write()
        files = [
            (row, [(each, chunks_of(each, self._embedder, self._settings)) for each in documents])
            for row, documents in part.files
        ]
        count, more = sum(len(chunks) for _, documents in files for _, chunks in documents), self._stored > 0

        def store(db: Database) -> None:
            for row, documents in files:
                unfinished = replace(row, sha256="")
                self._report.reused += writes.write(db, unfinished, documents, more=more and not row.container)
            self._report.chunks += count

        if count:
            self._waiting.append(store)
            self._warn(*(row for row, _ in files[1:]))
            self._stored += count
            self._chunks += count

    def _finish(self, file: FileRow) -> None:
        """All parts of a file were cut, or its content is the same: from now on it has this row."""
        old = self._known.get(file.path)
        if old is not None and old.sha256 == file.sha256:
            self._report.unchanged += 1
            self._warn(file)
            if file != old:
                self._waiting.append(lambda db: writes.touch(db, [file]))
        elif self._stored or file.scans:
            self._warn(file)
            put: Callable[..., object] = writes.finish if self._stored else partial(writes.write, documents=())
            self._waiting.append(lambda db: put(db, file))
            if self._stored or old:
                (self._report.updated if old else self._report.new).append(file.path)
        else:
            self._leave(UnreadFile(file.path, "; ".join(file.warnings) or "has no text in it", sha256=file.sha256))

    def _write(self) -> None:
        """Do what waits in one transaction: one for each small file would take longer."""
        waiting, self._waiting, self._chunks = self._waiting, [], 0
        if waiting:
            with self._store.writing() as db:
                for work in waiting:
                    work(db)

    def _leave(self, file: UnreadFile) -> None:
        """What cannot be read must not answer with what it said before, unless its content is not the cause."""
        kept = file.passing and file.path in self._known and not self._prune
        (self._report.kept if kept else self._report.skipped).append(Skipped(file.path, file.reason))
        if not kept and file.path in self._known:
            self._forget(file.path)
        if file.sha256:
            failure = Failure(file.path, file.sha256, parser_version(), file.reason)
            self._waiting.append(lambda db: writes.set_failures(db, [failure]))

    def _forget(self, path: str) -> None:
        self._waiting.append(lambda db: writes.remove(db, [path]))
        self._report.removed.append(path)

    def _warn(self, *files: FileRow) -> None:
        warned = ((file.path, (*file.warnings, *of_scans(file.scans))) for file in files)
        self._report.skipped += [Skipped(path, warning) for path, warnings in warned for warning in warnings]

    def _tell(self, path: str) -> None:
        told = self._pace.progress(self._bytes, self._done, len(self._sizes), self._report.chunks, path)
        self._progress(told)

    # --- what is gone

    def _take_out(self, walked: Walk) -> None:
        """Forget files that their root no longer has."""
        kept: dict[Skipped, None] = {}
        for path, file in self._known.items():
            if path in walked.files or file.root not in self._synced:
                continue
            where, missing = walked.why_missing(file)
            if missing.unseen and not self._prune:
                kept[Skipped(where, missing.reason)] = None
                continue
            self._forget(path)
            if missing.reason:
                self._report.forgotten.append(Skipped(path, missing.reason))
        self._write()
        self._report.kept += kept
        unseen = (Skipped(path, missing.reason) for path, missing in walked.missing.items() if missing.unseen)
        self._report.skipped += [file for file in unseen if file not in kept]

    def _conclude(self, walked: Walk) -> None:
        """Remember when this was, and what was said of which files, so that the next report begins with what is new."""
        report, before = self._report, self._store.read(reads.reported)
        others = {root.path for root in self._store.read(reads.roots)} - self._synced
        reported = {(path, reason) for path, reason in before if is_below(path, others)}
        for files in (report.skipped, report.kept):
            reported |= {(file.path, file.reason) for file in files}
            files[:] = [replace(file, new=(file.path, file.reason) not in before) for file in files]
        for path, counts in walked.ignored.items():
            reported.add((path, OF_OTHER_KINDS + kinds_in_words(by_count(counts))))
        unread = [path for path in self._failures if path not in walked.files and is_below(path, self._synced)]
        meta = {"last_sync": str(time.time())}
        if report.chunks:
            meta[TEXT_PACE] = f"{report.chunks / (time.monotonic() - report.started):.3g}"
        with self._store.writing() as db:
            writes.forget_unread(db, unread)
            writes.set_meta(db, meta)
            writes.set_reported(db, reported)
