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
from local_rag.core.errors import UsageError
from local_rag.core.protocols import Embedder
from local_rag.index.parse.loaders import Loader, names_of, parser_version
from local_rag.index.parse.parser import Parser
from local_rag.index.store import reads, writes
from local_rag.index.store.schema import OF_OTHER_KINDS, TEXT_PACE, Failure, FileRow, IndexSettings, Root
from local_rag.index.store.store import Store
from local_rag.index.sync.file_state import looks_unchanged, size_of
from local_rag.index.sync.prefetch import Ahead
from local_rag.index.sync.read import CutPart, LoadedPart, Read, Reader, SameFile, UnreadFile, warnings_of
from local_rag.index.sync.report import GrowingReport, Pace, Progress
from local_rag.index.sync.roots import WalkOptions, asked_roots, keeping_out, named_path
from local_rag.index.sync.walk import LEADS_OUT, walk
from local_rag.index.sync.walked import Walk
from local_rag.text.description import by_count, kinds_in_words
from local_rag.text.display import plural
from local_rag.text.urls import is_url, normal

_BATCH = 256
"""Chunks after which a transaction ends; a file with more has one of its own."""

_SECONDS, _IDLE = 1.0, 0.2
"""Age of the oldest file of a transaction after which it ends, and seconds without another file."""

_UNWRITTEN = 2
"""Transactions that may wait for the disk."""

_AHEAD, _LEAST = 1024, 20
"""Chunks that are read ahead, and what a file counts for at least: one without text keeps the parser busy, too."""

_LOADED, _FEWEST = 4_000_000, 50_000
"""The same in code points that wait to be cut into chunks."""

_LARGE = 4_000_000
"""Bytes of a file that waits until all smaller ones are searchable: 50 MB of text take most of a minute."""


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
        same = {path: failure for path, failure in self._failures.items() if failure.parser == parser_version()}
        self._unreadable = {} if retry else same
        self._failed: list[Failure] = []
        self._sizes: dict[str, int] = {}
        self._pace = Pace(0)
        self._done = self._bytes = 0
        self._touched: list[FileRow] = []
        self._gone: list[str] = []
        self._unwritten: deque[tuple[Sequence[CutPart], Future[int]]] = deque()

    def run(self, roots: Sequence[Root], *, prune: bool) -> SyncReport:
        """Take in the text of what is new or changed, file by file, then take out what is gone.

        What could not be seen stays, unless `prune`. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        walked = walk(roots, self._store.read(reads.roots), self._known, self._loaders)
        self._report.skipped += walked.skipped
        self._report.ignored = by_count(walked.ignored)
        self._report.empty += sorted(walked.empty)
        self._take_in(walked, prune)
        self._take_out(walked, roots, prune)
        self._conclude(walked, roots)
        return self._report.finished()

    # --- what is there

    def _take_in(self, walked: Walk, prune: bool) -> None:
        changed: dict[str, str] = {}
        for path, root in walked.files.items():
            old = self._known.get(path)
            if old is not None and looks_unchanged(old):
                self._same(old)
                if old.root != root:
                    self._touched.append(replace(old, root=root))
            else:
                changed[path] = root
        self._sizes = {path: size_of(path) for path in changed}
        self._pace = Pace(sum(self._sizes.values()))
        large = {path: size for path, size in self._sizes.items() if size > _LARGE}
        changed = {path: changed[path] for path in sorted(changed, key=lambda path: large.get(path, 0))}
        if changed:
            self._tell(next(iter(changed)))
            try:
                self._read_and_store(changed, walked, prune)
            finally:
                self._remove(self._gone)
                with self._store.writing() as db:
                    writes.set_failures(db, self._failed)
            self._tell(next(reversed(changed)))
        if self._touched:
            with self._store.writing() as db:
                writes.touch(db, self._touched)

    def _read_and_store(self, changed: Mapping[str, str], walked: Walk, prune: bool) -> None:
        """Load, cut and write, each on a thread of its own; loading waits for the parser's process."""
        with (
            Parser(loaders=self._loaders) as parser,
            ThreadPoolExecutor(1, "local-rag-writer") as writer,
        ):
            known = (self._known, self._unreadable, walked.why_member_left_out)
            reader = Reader(parser, self._embedder, self._settings, *known)
            with (
                Ahead(reader.load(changed), _characters, _LOADED, parser.stop) as loaded,
                Ahead(reader.cut(loaded), _weight, _AHEAD) as files,
            ):
                self._store_all(files, writer, prune)
            self._note_written(0)

    def _store_all(self, files: Ahead[Read], writer: ThreadPoolExecutor, prune: bool) -> None:
        """Hand the files over to the writer, small ones together: a transaction for each would take longer."""
        batch: list[CutPart] = []
        began = 0.0
        for file in files:
            cancel.check()
            self._tell(file.path)
            if isinstance(file, CutPart):
                began = began if batch else time.monotonic()
                batch.append(file)
                self._report.skipped += warnings_of(file)
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
        if isinstance(file, SameFile):
            self._same(file.old)
            self._touched.append(file.row)
        else:
            if file.sha256:
                self._failed.append(Failure(file.path, file.sha256, parser_version(), file.reason))
            if file.passing and file.path in self._known and not prune:
                self._report.kept.append(Skipped(file.path, f"{file.reason}; its indexed text is kept"))
            else:
                self._report.skipped.append(Skipped(file.path, file.reason))
                self._gone += [file.path] * (file.path in self._known)  # it must not answer with what it said before
        self._finish(file.path)

    def _same(self, old: FileRow) -> None:
        self._report.unchanged += 1
        self._report.skipped += [Skipped(old.path, warning) for warning in old.warnings]

    def _write(self, parts: Sequence[CutPart]) -> int:
        """Store these parts in one transaction; how many of their passages have their vector already."""
        with self._store.writing() as db:
            reused = 0
            for part in parts:
                for row, documents in part.files:
                    more = not (part.first or row.container)
                    reused += writes.write(db, replace(row, sha256=""), documents, more=more)
                if part.last:
                    writes.finish(db, part.row)
            return reused

    def _note_written(self, left: int) -> None:
        """Wait until no more than so many transactions are unwritten. Raises DiskFull and IndexBusy."""
        while len(self._unwritten) > left or (self._unwritten and self._unwritten[0][1].done()):
            parts, written = self._unwritten.popleft()
            self._report.reused += written.result()
            for part in parts:
                self._report.chunks += part.chunk_count
                if part.last:
                    (self._report.updated if part.path in self._known else self._report.new).append(part.path)
                    self._finish(part.path)

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
        synced = {root.path for root in roots}
        others = {root.path for root in self._store.read(reads.roots)} - synced
        gone: list[FileRow] = []
        kept: Counter[tuple[str, str]] = Counter()
        for path, file in self._known.items():
            if path in walked.files or file.root not in synced:
                continue
            why = None if prune else walked.why_unseen(file)
            if why is not None:
                kept[why] += 1
            elif not _is_below(path, others):
                gone.append(file)
        self._remove([file.path for file in gone])
        unread = [path for path in self._failures if path not in walked.files and _is_below(path, synced)]
        with self._store.writing() as db:
            writes.forget_unread(db, unread)
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
            with self._store.writing() as db:
                writes.remove(db, paths)
            self._report.removed += paths


def remember_roots(store: Store, paths: Sequence[Path], options: WalkOptions) -> list[Root]:
    """The roots that a person names with these options, or all that are known; what is new of them is stored.

    The caller holds the writer's lock. Raises UsageError for a path or a pattern that says nothing.
    """
    known = store.read(reads.roots)
    roots = asked_roots([named_path(path, known) for path in paths], known, store.read(reads.excluded), options)
    if not roots and not store.read(reads.named):
        raise UsageError("nothing has been indexed yet: name files or folders", hint="local-rag index PATH…")
    if roots != known:
        with store.writing() as db:
            writes.set_roots(db, roots)
    return roots


def remove(store: Store, names: Sequence[Path | str], *, missing_ok: bool) -> tuple[str, ...]:
    """Forget files, whole folders with their roots, and pages by their URLs; gives what of it was in the index.

    The caller holds the writer's lock. Raises UsageError for what is not indexed, unless `missing_ok`.
    """
    files = [file.path for file in store.read(reads.files)]
    known = {*files, *(root.path for root in store.read(reads.roots))}
    reported = {path for path, _ in store.read(reads.reported)} | set(store.read(reads.failures))
    gone, unread = set[str](), set[str]()
    for name in names:
        if isinstance(name, str) and is_url(name):
            below = {page.path for page in store.read(reads.pages, (normal(name),))}
        else:
            folder = {str(Path(name).expanduser().resolve())}
            below = {path for path in known if _is_below(path, folder)}
            unread |= {path for path in reported if _is_below(path, folder)}
        if not (below or missing_ok):
            raise UsageError(f"{name} is not in the index", hint="local-rag files")
        gone |= below
    if gone or unread:
        with store.writing() as db:
            writes.remove(db, gone)
            writes.forget_roots(db, gone)
            writes.forget_unread(db, unread, reported=True)
        store.refresh()
    return tuple(path for path in files if path in gone)


def keep_out(store: Store, paths: Sequence[Path]) -> list[str]:
    """Exclude files and folders from the indexed folders above them; the new patterns. The caller holds the lock."""
    changed, patterns = keeping_out([path.expanduser().resolve() for path in paths], store.read(reads.roots))
    with store.writing() as db:
        writes.set_roots(db, changed)
    return patterns


def _is_below(path: str, roots: Collection[str]) -> bool:
    """Whether one of the roots is a path or a folder above it."""
    return any(above in roots for above in (path, *map(str, Path(path).parents)))


def _characters(file: LoadedPart | SameFile | UnreadFile) -> int:
    return max(_FEWEST, file.characters if isinstance(file, LoadedPart) else 0)


def _weight(file: Read) -> int:
    return max(_LEAST, file.chunk_count if isinstance(file, CutPart) else 0)
