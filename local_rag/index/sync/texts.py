"""Texts that are no files, such as the documents of a test collection, in an index: each under a name of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, SyncReport
from local_rag.core.protocols import Embedder
from local_rag.index.store import reads, writes
from local_rag.index.store.rows import FileRow, NewDocument, Recipe
from local_rag.index.store.store import Store
from local_rag.index.sync.pages import digest
from local_rag.index.sync.reader import cut
from local_rag.index.sync.sync import Progress
from local_rag.text.chunking import Chunk

_BATCH = 256
"""Texts are embedded together until they have this many passages, which is the most that a kill -9 can lose."""


@dataclass
class Texts:
    """One run over some texts. The caller holds the writer's lock.

    `whole`: each text is one passage, and its vector is that of its beginning, as far as the embedder reads.
    """

    store: Store
    embedder: Embedder
    recipe: Recipe
    whole: bool = False
    progress: Callable[[Progress], None] | None = None
    _waiting: list[tuple[FileRow, LoadedDocument, Sequence[Chunk]]] = field(default_factory=list)
    _chunks: int = 0

    def run(self, texts: Sequence[tuple[str, LoadedDocument]]) -> SyncReport:
        """Store what is new or has changed; a text without words is left out. Raises DiskFull, IndexBusy, Stopped."""
        started = time.monotonic()
        known = {row.path: row.sha256 for row in self.store.read(reads.files)}
        todo = [(name, text) for name, text in texts if known.get(name) != digest(text)]
        new: list[str] = []
        for done, (name, text) in enumerate(todo, start=1):
            cancel.check()
            pieces = self._pieces(text)
            if pieces:
                row = FileRow(name, name, digest(text), len(text.text.encode()), mtime_ns=0)
                self._waiting.append((row, text, pieces))
                new.append(name)
            if sum(len(pieces) for _, _, pieces in self._waiting) >= _BATCH or done == len(todo):
                self._flush()
                if self.progress is not None:
                    seconds, share = time.monotonic() - started, done / len(todo)
                    self.progress(Progress(done, len(todo), self._chunks, name, seconds, share))
        self.store.refresh()
        return SyncReport(
            new=tuple(name for name in new if name not in known),
            updated=tuple(name for name in new if name in known),
            unchanged=len(texts) - len(todo),
            chunks=self._chunks,
            seconds=time.monotonic() - started,
        )

    def _pieces(self, text: LoadedDocument) -> Sequence[Chunk]:
        if not self.whole:
            return cut(text, self.embedder, self.recipe)
        return [Chunk(0, len(text.text), "")] if text.text.strip() else []

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        words = [text.text[piece.start : piece.end] for _, text, pieces in waiting for piece in pieces]
        vectors = iter(self.embedder.embed_documents(words))
        with self.store.writing() as db:
            for row, text, pieces in waiting:
                document = NewDocument(text, pieces, [next(vectors) for _ in pieces])
                writes.write(db, replace(row, indexed_at=time.time()), [document])
        self._chunks += len(words)
