"""Documents stored with vectors that a test gives them."""

from __future__ import annotations

from local_rag.index.store import embedded, reads, selection, writes
from local_rag.index.store.selection import Selection


def write(db, row, documents):
    """As `writes.write`, of (document, chunks, vectors): the vectors, one per chunk, are those of the texts alone."""
    writes.write(db, row, [(document, chunks) for document, chunks, _ in documents])
    vectors = [vector for _, _, rows in documents for vector in rows]
    chunks = reads.chunks_at(db, row.path)
    embedded.set_vectors(db, chunks, dict(zip(chunks, vectors, strict=True)))


def of_files(files):
    """The chunks of these files, as a search is narrowed to them."""
    where, values = selection.of_files(files)
    return Selection([where], values)
