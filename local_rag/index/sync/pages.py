"""Texts in an index that are no files: pages of the web, each under its URL, and documents of a test collection.

The caller fetches pages. A text is the row of `files` whose path is its name; the row of a page has the URL that was
asked for as its root.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, Skipped, SyncReport
from local_rag.core.errors import FileSkipped
from local_rag.index.prepare import Chunker
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import FileRow
from local_rag.index.sync.report import GrowingReport, Pace, Tell
from local_rag.text.chunking import Chunk
from local_rag.text.display import normal

ReadPage = Callable[[str], LoadedDocument]
"""A function from a URL to its page, whose `url` is the last one, redirects followed.

Raises FileSkipped with the reason why there is none, or Stopped.
"""

TEXTS_AT_ONCE = 100
"""Texts of a transaction."""


@dataclass(frozen=True)
class PageSync:
    """One run over some URLs.

    `locked` makes this process the writer, and checks that the index is still the one that was opened. Pages are read
    outside of it: a slow server keeps no other process waiting.
    """

    store: Store
    chunks_of: Chunker
    locked: Callable[[], AbstractContextManager[None]]
    report: GrowingReport = field(default_factory=GrowingReport)

    def run(self, urls: Iterable[str], read: ReadPage, *, prune: bool) -> SyncReport:
        """Store the text of page by page, each in one step. A page that cannot be read stays as it was, unless `prune`.

        Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        for root, url in {normal(url): url for url in urls}.items():
            cancel.check()
            try:
                self._take_in(root, read(url))
            except FileSkipped as error:
                self._leave(root, str(error), prune)
        return self.report.finished()

    def _take_in(self, root: str, page: LoadedDocument) -> None:
        """Store a page in place of what its URL, and the URL asked for, led to before."""
        url = normal(page.url)
        text = replace(page, title=page.title or url)
        with self.locked(), self.store.writing():
            known = {row.path: row for row in self.store.pages((root, url))}
            left = [path for path, row in known.items() if row.root == root and path != url]
            self.store.remove(left)
            self.store.set_meta({"last_sync": str(time.time())})
            if not _put(self.store, self.chunks_of, self.report, known.get(url), url, root, text):
                raise FileSkipped("has no text in it")
        self.report.removed += left

    def _leave(self, root: str, reason: str, prune: bool) -> None:
        """Report a page that cannot be read, and remove what is indexed of it only with `prune`: nothing can be
        concluded from a server that does not answer, or answers something else.
        """
        with self.locked():
            known = [row.path for row in self.store.pages([root])]
            if known and not prune:
                self.report.kept += [Skipped(path, reason) for path in known]
                return
            self.report.skipped.append(Skipped(root, reason))
            with self.store.writing():
                self.store.remove(known)
            self.report.removed += known


def sync_texts(store: Store, chunks_of: Chunker, texts: Sequence[tuple[str, LoadedDocument]], tell: Tell) -> SyncReport:
    """Store the texts that are new or have changed, each under a name; one without words is left out.

    The caller holds the writer's lock. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
    """
    report, pace = GrowingReport(), Pace(len(texts))
    known = {row.path: row for row in store.files()}
    for first in range(0, len(texts), TEXTS_AT_ONCE):
        cancel.check()
        group = texts[first : first + TEXTS_AT_ONCE]
        with store.writing():
            for name, text in group:
                _put(store, chunks_of, report, known.get(name), name, name, text)
        done = first + len(group)
        tell(pace.progress(done, done, len(texts), report.chunks, group[-1][0]))
    return report.finished()


def one_chunk(text: LoadedDocument) -> list[Chunk]:
    """Return a text as one chunk, whose vector is that of its beginning, as far as the embedder reads."""
    return [Chunk(0, len(text.text), "")] if text.text.strip() else []


def _put(
    store: Store,
    chunks_of: Chunker,
    report: GrowingReport,
    old: FileRow | None,
    path: str,
    root: str,
    text: LoadedDocument,
) -> bool:
    """Store a text that is new or has changed, and return False for one without words.

    Its SHA-256 is of what is stored: the bytes that a server sends differ with every request.
    """
    parts = [text.title, text.text, text.author, text.date, text.subject]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    row = FileRow(path, root, digest, len(text.text.encode()), mtime_ns=0, indexed_at=time.time())
    if old is not None and old.sha256 == digest:
        report.unchanged += 1
        store.touch(row)
        return True
    if chunks := chunks_of(text):
        report.reused += store.replace(row, [(text, chunks)])
        report.chunks += len(chunks)
        (report.updated if old else report.new).append(path)
    return bool(chunks)
