"""Pages of the web in an index: fetched by whoever asks for them, stored like files, each under its URL."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, Skipped, SyncReport, WebPage
from local_rag.core.errors import FileSkipped
from local_rag.core.protocols import Embedder
from local_rag.index.parse import parsed_file
from local_rag.index.store import reads, writes
from local_rag.index.store.rows import FileRow, NewDocument, Recipe
from local_rag.index.store.store import Store
from local_rag.index.sync.reader import cut
from local_rag.text.urls import normal

Read = Callable[[str], WebPage]
"""A URL -> its page. Raises FileSkipped with the reason why there is none, or Stopped."""


class Pages:
    """One run over some URLs. A page is the row of `files` whose path is its URL and whose root is the URL asked for.

    `held` makes this process the one that writes, and checks that the index is still the one that was opened. Pages
    are read outside of it: a slow server keeps no other process waiting.
    """

    def __init__(
        self, store: Store, embedder: Embedder, recipe: Recipe, held: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._store, self._embedder, self._recipe, self._held = store, embedder, recipe, held
        self._new: list[str] = []
        self._updated: list[str] = []
        self._removed: list[str] = []
        self._skipped: list[Skipped] = []
        self._kept: list[Skipped] = []
        self._unchanged = self._chunks = 0

    def run(self, urls: Iterable[str], read: Read, *, prune: bool) -> SyncReport:
        """Take in page by page, each in one step. A page that is not had stays as it was indexed, unless `prune`.

        Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        started = time.monotonic()
        for asked, url in {normal(url): url for url in urls}.items():
            cancel.check()
            try:
                self._take_in(asked, read(url))
            except FileSkipped as error:
                self._not_had(asked, str(error), prune)
        with self._held(), self._store.writing() as db:
            writes.set_meta(db, {"last_sync": str(time.time())})
        self._store.refresh()
        return SyncReport(
            new=tuple(self._new),
            updated=tuple(self._updated),
            unchanged=self._unchanged,
            removed=tuple(self._removed),
            skipped=tuple(self._skipped),
            kept=tuple(self._kept),
            chunks=self._chunks,
            seconds=time.monotonic() - started,
        )

    def _take_in(self, asked: str, page: WebPage) -> None:
        """Store a page in the place of what its URL, and the URL asked for, led to before."""
        url = normal(page.url)
        document = parsed_file.document(parsed_file.clean(page.text), page.title or url)
        with self._held():
            known = {row.path: row for row in self._store.read(reads.pages, (asked, url))}
            left = [path for path, row in known.items() if row.root == asked and path != url]
            old = known.get(url)
            root = url if old is not None and old.root == url else asked
            found = FileRow(url, root, digest(document), len(document.text.encode()), mtime_ns=0)
            if old is not None and old.sha256 == found.sha256:
                self._same(replace(old, root=root), old, left)
            else:
                self._store_new(found, document, left)
                (self._new if old is None else self._updated).append(url)
        self._removed += left

    def _same(self, row: FileRow, old: FileRow, left: Sequence[str]) -> None:
        self._unchanged += 1
        if row != old or left:
            with self._store.writing() as db:
                writes.remove(db, left)
                writes.touch(db, [row])

    def _store_new(self, row: FileRow, document: LoadedDocument, left: Sequence[str]) -> None:
        pieces = cut(document, self._embedder, self._recipe)
        if not pieces:
            raise FileSkipped("has no text in it")
        vectors = self._embedder.embed_documents([document.text[piece.start : piece.end] for piece in pieces])
        with self._store.writing() as db:
            writes.remove(db, left)
            writes.write(db, replace(row, indexed_at=time.time()), [NewDocument(document, pieces, list(vectors))])
        self._chunks += len(pieces)

    def _not_had(self, asked: str, reason: str, prune: bool) -> None:
        """Nothing can be concluded from a server that does not answer, or answers something else."""
        with self._held():
            known = [row.path for row in self._store.read(reads.pages, (asked,))]
            if known and not prune:
                self._kept += [Skipped(path, f"{reason}; its indexed text is kept") for path in known]
                return
            self._skipped.append(Skipped(asked, reason))
            if known:
                with self._store.writing() as db:
                    writes.remove(db, known)
                self._removed += known


def digest(document: LoadedDocument) -> str:
    """SHA-256 of what would be stored: the bytes that a server sends differ with every request."""
    return hashlib.sha256(json.dumps([document.title, document.text]).encode()).hexdigest()
