"""Texts that are no files, such as the documents of a test collection, in an index: each under a name of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, SyncReport
from local_rag.core.protocols import Embedder
from local_rag.index.store import reads, upgrade, writes
from local_rag.index.store.schema import FileRow, Recipe
from local_rag.index.store.store import Store
from local_rag.index.sync.pages import digest
from local_rag.index.sync.read_files import cut
from local_rag.index.sync.report import GrowingReport, Pace, Progress
from local_rag.text.chunking import Chunk

_BATCH = 256
"""Chunks after which a transaction ends."""


@dataclass
class TextSync:
    """One run over some texts. The caller holds the writer's lock.

    `whole`: each text is one chunk, and its vector is that of its beginning, as far as the embedder reads.
    """

    store: Store
    embedder: Embedder
    recipe: Recipe
    whole: bool = False
    progress: Callable[[Progress], None] | None = None
    _waiting: list[tuple[str, LoadedDocument, Sequence[Chunk]]] = field(default_factory=list)
    _report: GrowingReport = field(default_factory=GrowingReport)

    def run(self, texts: Sequence[tuple[str, LoadedDocument]]) -> SyncReport:
        """Store what is new or has changed; a text without words is left out. Raises DiskFull, IndexBusy, Stopped."""
        report = self._report
        known = {row.path: row.sha256 for row in self.store.read(reads.files)}
        again = self.store.read(upgrade.files_behind)
        changed = [(name, text) for name, text in texts if name in again or known.get(name) != digest(text)]
        report.unchanged = len(texts) - len(changed)
        pace = Pace(len(changed))
        for done, (name, text) in enumerate(changed, start=1):
            cancel.check()
            if chunks := self._chunks(text):
                self._waiting.append((name, text, chunks))
                self._count(name, known.get(name), digest(text))
            if sum(len(chunks) for _, _, chunks in self._waiting) >= _BATCH or done == len(changed):
                self._store_waiting()
                if self.progress is not None:
                    self.progress(pace.progress(done, done, len(changed), report.chunks, name))
        return report.finished()

    def _count(self, name: str, old: str | None, new: str) -> None:
        if old == new:
            self._report.unchanged += 1
            self._report.upgraded += 1
        else:
            (self._report.new if old is None else self._report.updated).append(name)

    def _chunks(self, text: LoadedDocument) -> Sequence[Chunk]:
        if not self.whole:
            return cut(text, self.embedder, self.recipe)
        return [Chunk(0, len(text.text), "")] if text.text.strip() else []

    def _store_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        with self.store.writing() as db:
            for name, text, chunks in waiting:
                size = len(text.text.encode())
                row = FileRow(name, name, digest(text), size, mtime_ns=0, indexed_at=time.time())
                self._report.reused += writes.write(db, row, [(text, chunks)])
                self._report.chunks += len(chunks)
