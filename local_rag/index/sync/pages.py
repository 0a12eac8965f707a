"""Texts in an index that are no files: pages of the web, each under its URL, and documents of a test collection.

Pages are fetched by whoever asks for them. A text is the row of `files` whose path is its name; that of a page has the
URL that was asked for as its root.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, Skipped, SyncReport
from local_rag.core.errors import FileSkipped, IndexBusy
from local_rag.core.protocols import Embedder
from local_rag.index.store import reads, writes
from local_rag.index.store.schema import FileRow, IndexSettings
from local_rag.index.store.store import Store
from local_rag.index.sync.read import chunks_of
from local_rag.index.sync.report import GrowingReport, Pace, Progress
from local_rag.text.chunking import Chunk
from local_rag.text.urls import normal

ReadPage = Callable[[str], LoadedDocument]
"""A URL -> its page, whose `url` is the last one, redirects followed.

Raises FileSkipped with the reason why there is none, or Stopped.
"""

_BATCH = 100
"""Texts of a transaction."""


class PageSync:
    """One run over some URLs.

    `locked` makes this process the one that writes, and checks that the index is still the one that was opened. Pages
    are read outside of it: a slow server keeps no other process waiting.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        settings: IndexSettings,
        locked: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._store, self._embedder, self._settings, self._locked = store, embedder, settings, locked
        self._report = GrowingReport()

    def run(self, urls: Iterable[str], read: ReadPage, *, prune: bool) -> SyncReport:
        """Take in the text of page by page, each in one step. A page that is not had stays as it was, unless `prune`.

        Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        for root, url in {normal(url): url for url in urls}.items():
            cancel.check()
            try:
                self._take_in(root, read(url))
            except FileSkipped as error:
                self._leave(root, str(error), prune)
        with suppress(IndexBusy), self._locked(), self._store.writing() as db:  # the pages are stored anyway
            writes.set_meta(db, {"last_sync": str(time.time())})
        return self._report.finished()

    def _take_in(self, root: str, page: LoadedDocument) -> None:
        """Store a page in the place of what its URL, and the URL asked for, led to before."""
        url = normal(page.url)
        text = replace(page, title=page.title or url)
        with self._locked():
            known = {row.path: row for row in self._store.read(reads.pages, (root, url))}
            old = known.pop(url, None)
            left = [path for path, row in known.items() if row.root == root]
            row = replace(_row(url, text), root=url if old is not None and old.root == url else root)
            same = old is not None and old.sha256 == row.sha256
            chunks = [] if same else chunks_of(text, self._embedder, self._settings)
            if not (same or chunks):
                raise FileSkipped("has no text in it")
            with self._store.writing() as db:
                writes.remove(db, left)
                if same:
                    writes.touch(db, [row])
                    self._report.unchanged += 1
                else:
                    self._report.reused += writes.write(db, row, [(text, chunks)])
                    self._report.chunks += len(chunks)
                    (self._report.new if old is None else self._report.updated).append(url)
        self._report.removed += left

    def _leave(self, root: str, reason: str, prune: bool) -> None:
        """Nothing can be concluded from a server that does not answer, or answers something else."""
        with self._locked():
            known = [row.path for row in self._store.read(reads.pages, (root,))]
            if known and not prune:
                self._report.kept += [Skipped(path, f"{reason}; its indexed text is kept") for path in known]
                return
            self._report.skipped.append(Skipped(root, reason))
            with self._store.writing() as db:
                writes.remove(db, known)
            self._report.removed += known


def sync_texts(
    store: Store,
    embedder: Embedder,
    settings: IndexSettings,
    texts: Sequence[tuple[str, LoadedDocument]],
    whole: bool,
    progress: Callable[[Progress], None] | None,
) -> SyncReport:
    """Store the texts that are new or have changed, each under a name; one without words is left out.

    `whole`: each text is one chunk, and its vector is that of its beginning, as far as the embedder reads. The caller
    holds the writer's lock. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
    """
    report = GrowingReport()
    known = {row.path: row.sha256 for row in store.read(reads.files)}
    rows = [(_row(name, text), text) for name, text in texts]
    changed = [(row, text) for row, text in rows if known.get(row.path) != row.sha256]
    report.unchanged = len(texts) - len(changed)
    pace = Pace(len(changed))
    for first in range(0, len(changed), _BATCH):
        cancel.check()
        group = changed[first : first + _BATCH]
        cut = [[Chunk(0, len(text.text), "")] if whole else chunks_of(text, embedder, settings) for _, text in group]
        with store.writing() as db:
            for (row, text), chunks in zip(group, cut, strict=True):
                if text.text.strip() and chunks:
                    report.reused += writes.write(db, row, [(text, chunks)])
                    report.chunks += len(chunks)
                    (report.updated if row.path in known else report.new).append(row.path)
        if progress is not None:
            done = first + len(group)
            progress(pace.progress(done, done, len(changed), report.chunks, group[-1][0].path))
    return report.finished()


def _row(name: str, text: LoadedDocument) -> FileRow:
    """A text as a file; its SHA-256 is of what is stored: the bytes that a server sends differ with every request."""
    parts = [text.title, text.text, text.author, text.date, text.subject]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return FileRow(name, name, digest, len(text.text.encode()), mtime_ns=0, indexed_at=time.time())
