"""Pages of the web in an index: fetched by whoever asks for them, stored like files, each under its URL."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, Skipped, SyncReport, WebPage
from local_rag.core.errors import FileSkipped, IndexBusy
from local_rag.core.protocols import Embedder
from local_rag.index.parse import parsed_file
from local_rag.index.parse.properties import stated
from local_rag.index.store import reads, writes
from local_rag.index.store.schema import FileRow, Recipe
from local_rag.index.store.store import Store
from local_rag.index.sync.read_files import cut
from local_rag.index.sync.report import GrowingReport
from local_rag.text.urls import normal

ReadPage = Callable[[str], WebPage]
"""A URL -> its page. Raises FileSkipped with the reason why there is none, or Stopped."""


@dataclass
class PageSync:
    """One run over some URLs. A page is the row of `files` whose path is its URL and whose root is the URL asked for.

    `locked` makes this process the one that writes, and checks that the index is still the one that was opened. Pages
    are read outside of it: a slow server keeps no other process waiting.
    """

    store: Store
    embedder: Embedder
    recipe: Recipe
    locked: Callable[[], AbstractContextManager[None]]
    _report: GrowingReport = field(default_factory=GrowingReport)

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
        with suppress(IndexBusy), self.locked(), self.store.writing() as db:  # the pages are stored anyway
            writes.set_meta(db, {"last_sync": str(time.time())})
        return self._report.finished()

    def _take_in(self, root: str, page: WebPage) -> None:
        """Store a page in the place of what its URL, and the URL asked for, led to before."""
        url = normal(page.url)
        properties = stated(page.title, [page.author], page.date)
        document = parsed_file.document(parsed_file.clean(page.text), page.title or url, properties=properties)
        with self.locked():
            known = {row.path: row for row in self.store.read(reads.pages, (root, url))}
            left = [path for path, row in known.items() if row.root == root and path != url]
            old = known.get(url)
            root = url if old is not None and old.root == url else root
            row = FileRow(url, root, digest(document), len(document.text.encode()), mtime_ns=0)
            if old is not None and old.sha256 == row.sha256:
                self._report.unchanged += 1
                if old.root != root or left:
                    with self.store.writing() as db:
                        writes.remove(db, left)
                        writes.touch(db, [replace(old, root=root)])
            else:
                self._store_new(row, document, left)
                (self._report.new if old is None else self._report.updated).append(url)
        self._report.removed += left

    def _store_new(self, row: FileRow, document: LoadedDocument, left: list[str]) -> None:
        chunks = cut(document, self.embedder, self.recipe)
        if not chunks:
            raise FileSkipped("has no text in it")
        with self.store.writing() as db:
            self._report.reused += writes.write(db, replace(row, indexed_at=time.time()), [(document, chunks)])
            writes.remove(db, left)
        self._report.chunks += len(chunks)

    def _leave(self, root: str, reason: str, prune: bool) -> None:
        """Nothing can be concluded from a server that does not answer, or answers something else."""
        with self.locked():
            known = [row.path for row in self.store.read(reads.pages, (root,))]
            if known and not prune:
                self._report.kept += [Skipped(path, f"{reason}; its indexed text is kept") for path in known]
                return
            self._report.skipped.append(Skipped(root, reason))
            if known:
                with self.store.writing() as db:
                    writes.remove(db, known)
                self._report.removed += known


def digest(document: LoadedDocument) -> str:
    """SHA-256 of what would be stored: the bytes that a server sends differ with every request.

    A document without author, date and subject has the digest that earlier versions stored, which knew none of them.
    """
    stated = [document.author, document.date, document.subject]
    parts = [document.title, document.text, *(stated if any(stated) else ())]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
