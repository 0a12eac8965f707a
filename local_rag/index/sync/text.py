"""The first phase of a sync: the texts of an index are brought up to date with their files."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from itertools import starmap
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.documents import Skipped, SyncReport
from local_rag.index.parse.loaders import Loader, names_of, parser_version
from local_rag.index.parse.parser import Parser
from local_rag.index.prepare import Chunker, NewDocument
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import OF_OTHER_KINDS, TEXT_PACE, Failure, FileRow, Root, of_scans
from local_rag.index.sync.read import Read, Reader, ReadPart, UnreadFile, looks_unchanged
from local_rag.index.sync.report import GrowingReport, Pace, Tell
from local_rag.index.sync.roots import is_below
from local_rag.index.sync.walk import Found, Walk, walk
from local_rag.text.display import by_count, kinds_in_words

Cut = tuple[Read, list[list[NewDocument]]]
"""A file as it was read, and for a part of one the documents of each of its files with their chunks."""

BATCH = 256
"""Chunks after which a transaction ends; a file with more has one of its own."""

_IDLE = 0.2
"""Seconds without another file after which a transaction ends as well."""

_AHEAD = 24
"""Parts and rows of files that are read while one is stored: at times reading takes longer, at times storing."""

LARGE = 4_000_000
"""Bytes of a file that waits until all smaller ones are searchable, and is read alone: 50 MB of text take a minute."""


class TextSync:
    """One run over some roots. The caller holds the writer's lock."""

    def __init__(
        self,
        store: Store,
        chunks_of: Chunker,
        tell: Tell,
        *,
        retry: bool = False,
        loaders: Mapping[str, Loader] | None = None,
    ) -> None:
        """Prepare a run. With `retry` what could not be read gets another attempt, even if neither its content nor the
        parser changed.

        `loaders` of somebody's own are stronger than ours. Raises UsageError for one that cannot be imported.
        """
        self._loaders = names_of(loaders or {})
        self._store, self._chunks_of, self._tell = store, chunks_of, tell
        self._report = GrowingReport()
        self._known = {file.path: file for file in store.files()}
        self._failures = store.failures()
        counts = store.counts()
        self._was_stopped = counts.embedded < counts.chunks
        """Whether the sync before was stopped, so that nobody may have seen its report."""
        self._unreadable = {} if retry else self._failures
        self._stored = 0
        """Chunks that are stored of the file in hand."""

    def run(self, roots: Sequence[Root], *, prune: bool) -> SyncReport:
        """Store the text of what is new or changed, file by file, then remove what is gone.

        What could not be seen stays, unless `prune`. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        self._prune, self._synced = prune, {root.path for root in roots}
        walked = walk(roots, self._store.roots(), self._known, self._loaders)
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
        """Read what may have changed, cut it into chunks and store it, some files in one transaction."""
        changed: dict[str, Found] = {}
        moved: list[FileRow] = []
        for path, found in files.items():
            old = self._known.get(path)
            if old is None or not (looks_unchanged(old) and old.sha256.endswith(found.stamp)):
                changed[path] = found
                continue
            self._report.unchanged += 1
            self._warn(old)
            if found.root != old.root:
                moved.append(replace(old, root=found.root))
        if moved:
            with self._store.writing():
                for each in moved:
                    self._store.touch(each)
        self._sizes = dict.fromkeys(changed, 0)
        for path in changed:
            with suppress(OSError):
                self._sizes[path] = Path(path).stat().st_size
        self._pace, self._done, self._bytes = Pace(sum(self._sizes.values())), 0, 0
        large = {path for path in changed if self._sizes[path] > LARGE}
        for paths, ahead in ((changed.keys() - large, _AHEAD), (large, 1)):
            for batch in self._batches({path: changed[path] for path in sorted(paths)}, ahead):
                with self._store.writing():
                    for file, cut in batch:
                        self._put(file, cut)

    def _batches(self, changed: Mapping[str, Found], ahead: int) -> Iterator[list[Cut]]:
        """Yield what was read of files, in their order: BATCH chunks, or fewer when no other file came for a moment.

        Another thread reads, and waits for the parser's process, while this one cuts and writes.
        """
        context, path, batch, chunks = copy_context(), "", list[Cut](), 0
        with Parser(loaders=self._loaders) as parser, ThreadPoolExecutor(1, "local-rag-reader") as thread:
            files = Reader(parser, self._known, self._unreadable).read(changed)

            def read() -> Future[Read | None]:
                return thread.submit(lambda: context.run(lambda: next(files, None)))

            waiting = deque(read() for _ in range(ahead))
            try:
                while True:
                    first = waiting.popleft()
                    while batch and not wait([first], _IDLE).done:
                        yield batch
                        batch, chunks = [], 0
                    while not wait([first], _IDLE).done:
                        cancel.check()
                    cancel.check()
                    if (file := first.result()) is None:
                        break
                    waiting.append(read())
                    path = file.path
                    self._tell_of(path)
                    if chunks >= BATCH and isinstance(file, ReadPart):  # with a file's parts comes what became of it
                        yield batch
                        batch, chunks = [], 0
                    cut = self._cut(file) if isinstance(file, ReadPart) else []
                    batch.append((file, cut))
                    chunks += sum(len(spans) for documents in cut for _, spans in documents)
                    if not isinstance(file, ReadPart):
                        self._done, self._bytes = self._done + 1, self._bytes + self._sizes[path]
                if batch:
                    yield batch
            finally:
                parser.stop()
                thread.shutdown(cancel_futures=True)
        if path:
            self._tell_of(path)

    def _cut(self, part: ReadPart) -> list[list[NewDocument]]:
        """Return the documents of each file of a part with their chunks."""
        return [[(document, self._chunks_of(document)) for document in documents] for _, documents in part.files]

    def _put(self, file: Read, cut: list[list[NewDocument]]) -> None:
        """Store a part of a file; or after all parts, or none, the result of the file."""
        if isinstance(file, ReadPart):
            self._put_part(file, cut)
            return
        old = self._known.get(file.path)
        if isinstance(file, UnreadFile):
            self._leave(file)
        elif old is not None and old.complete and old.sha256 == file.sha256:
            self._report.unchanged += 1
            self._warn(file)
            if file != old:
                self._store.touch(file)
        elif self._stored or file.scans:
            self._warn(file)
            if not self._stored:
                self._store.replace(file, [])
            self._store.finish(file)
            if self._stored or old:
                (self._report.updated if old else self._report.new).append(file.path)
        else:
            self._leave(UnreadFile(file.path, "; ".join(file.warnings) or "has no text in it", sha256=file.sha256))
        self._stored = 0

    def _put_part(self, part: ReadPart, cut: list[list[NewDocument]]) -> None:
        count = sum(len(chunks) for documents in cut for _, chunks in documents)
        if not count:
            return
        for (row, _), documents in zip(part.files, cut, strict=True):
            row = row if row.container else replace(row, complete=False)
            more = self._stored > 0 and not row.container
            self._report.reused += self._store.replace(row, documents, more=more)
        self._warn(*(row for row, _ in part.files[1:]))
        self._report.chunks += count
        self._stored += count

    def _leave(self, file: UnreadFile) -> None:
        """Report a file that cannot be read, and remove what it said before, unless its content is not the cause."""
        kept = file.passing and file.path in self._known and not self._prune
        (self._report.kept if kept else self._report.skipped).append(Skipped(file.path, file.reason))
        if not kept and file.path in self._known:
            self._store.remove([file.path])
            self._report.removed.append(file.path)
        if file.sha256:
            self._store.set_failure(Failure(file.path, file.sha256, parser_version(), file.reason))

    def _warn(self, *files: FileRow) -> None:
        warned = ((file.path, (*file.warnings, *of_scans(file.scans))) for file in files)
        self._report.skipped += [Skipped(path, warning) for path, warnings in warned for warning in warnings]

    def _tell_of(self, path: str) -> None:
        self._tell(self._pace.progress(self._bytes, self._done, len(self._sizes), self._report.chunks, path))

    # --- what is gone

    def _take_out(self, walked: Walk) -> None:
        """Forget files that their root no longer has."""
        kept, gone = dict[Skipped, None](), list[str]()
        for path, file in self._known.items():
            if path in walked.files or file.root not in self._synced:
                continue
            where, missing = walked.why_missing(file)
            if missing.unseen and not self._prune:
                kept[Skipped(where, missing.reason)] = None
                continue
            gone.append(path)
            if missing.reason:
                self._report.forgotten.append(Skipped(path, missing.reason))
        if gone:
            with self._store.writing():
                self._store.remove(gone)
        self._report.removed += gone
        self._report.kept += kept
        unseen = (Skipped(path, missing.reason) for path, missing in walked.missing.items() if missing.unseen)
        self._report.skipped += [file for file in unseen if file not in kept]

    def _conclude(self, walked: Walk) -> None:
        """Remember when this was, and what was reported of which files, so that the next report begins with what is
        new.
        """
        report, before = self._report, self._store.reported()
        others = {root.path for root in self._store.roots()} - self._synced
        reported = {(path, reason) for path, reason in before if is_below(path, others)}
        for files in (report.skipped, report.kept):
            reported |= {(file.path, file.reason) for file in files}
            files[:] = [
                replace(file, new=self._was_stopped or (file.path, file.reason) not in before) for file in files
            ]
        for path, counts in walked.ignored.items():
            reported.add((path, OF_OTHER_KINDS + kinds_in_words(by_count(counts))))
        unread = [path for path in self._failures if path not in walked.files and is_below(path, self._synced)]
        meta = {"last_sync": str(time.time())}
        if report.chunks:
            meta[TEXT_PACE] = f"{report.chunks / (time.monotonic() - report.started):.3g}"
        with self._store.writing():
            self._store.forget_unread(unread)
            self._store.set_meta(meta)
            self._store.set_reported(reported)
