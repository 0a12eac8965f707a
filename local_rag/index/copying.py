"""An index moved between a folder and a server, either way: texts and vectors are taken over, nothing is embedded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from local_rag.core import cancel
from local_rag.core.documents import Heading, LoadedDocument, ReadLine
from local_rag.core.errors import UsageError
from local_rag.index import stores
from local_rag.index.catalog import ABOUT
from local_rag.index.store import checks, reads, vectors, writes
from local_rag.index.store.database import IN, Database, array
from local_rag.index.store.schema import EMBEDDING_PACE, TEXT_PACE, Failure, FileRow, Root
from local_rag.index.store.store import Store
from local_rag.index.sync.report import Pace, Progress
from local_rag.text.chunking import Chunk

AT_ONCE = 500
"""Passages after which a transaction ends; a file is never parted."""

_META = ("last_sync", TEXT_PACE, EMBEDDING_PACE, ABOUT)

Vector = tuple[bytes, bytes | None]


class _File(NamedTuple):
    """A file with its documents, and the vectors of its chunks by their keys."""

    row: FileRow
    documents: list[tuple[LoadedDocument, list[Chunk]]]
    vectors: dict[str, Vector]


def copy(source: Path, target: Path, progress: Callable[[Progress], None]) -> tuple[int, int]:
    """Copy the index in one place into another, where it is made; files copied, and files that were there already.

    What a stop leaves is gone on with. Raises UsageError where the target holds other files, IndexMismatch where
    another embedder or chunking made it, and what the stores raise.
    """
    ours = stores.opened(source)
    made = ours.read(reads.settings)
    theirs = stores.created(target, made)
    try:
        theirs.read(checks.check_settings, target, made)
        with theirs.locked(alone=True):
            return _copied(ours, theirs, progress)
    finally:
        ours.close()
        theirs.close()


def _copied(ours: Store, theirs: Store, progress: Callable[[Progress], None]) -> tuple[int, int]:
    states, known = ours.read(_states), theirs.read(_states)
    if others := known.keys() - states.keys():
        raise UsageError(
            f"the index at {theirs.folder} holds other files, such as {min(others)}",
            hint="copy into an index that is not there yet",
        )
    todo = [path for path, state in states.items() if known.get(path) != state]
    pace, done = Pace(len(todo)), 0
    for batch in _batches(todo, states):
        cancel.check()
        files = ours.read(_files, batch)
        with theirs.writing() as db:
            for file in files:
                writes.write(db, file.row, file.documents)
            _set_vectors(db, {key: known for file in files for key, known in file.vectors.items()})
        done += len(batch)
        progress(pace.progress(done, done, len(todo), done, batch[-1]))
    roots, failures, reported, meta = ours.read(_about)
    with theirs.writing() as db:
        writes.set_roots(db, roots)
        writes.set_failures(db, failures)
        writes.set_reported(db, reported)
        writes.set_meta(db, {name: meta[name] for name in _META if name in meta})
    theirs.refresh()
    return len(todo), len(states) - len(todo)


def _batches(paths: list[str], states: dict[str, tuple[str, int, int]]) -> Iterator[list[str]]:
    batch, chunks = list[str](), 0
    for path in paths:
        batch.append(path)
        chunks += states[path][1]
        if chunks >= AT_ONCE:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


def _about(db: Database) -> tuple[list[Root], list[Failure], set[tuple[str, str]], dict[str, str]]:
    return reads.roots(db), list(reads.failures(db).values()), reads.reported(db), reads.meta(db)


def _states(db: Database) -> dict[str, tuple[str, int, int]]:
    """Of each file its SHA-256, its chunks and those that have their vectors; what holds others comes first."""
    rows = db.execute(
        "SELECT path, sha256, count(chunks.id), count(embedded.chunk) FROM files"
        " LEFT JOIN documents ON documents.file = files.id LEFT JOIN chunks ON chunks.document = documents.id"
        " LEFT JOIN embedded ON embedded.chunk = chunks.id GROUP BY files.id ORDER BY container, path"
    )
    return {path: (sha256, chunks, known) for path, sha256, chunks, known in rows}


def _files(db: Database, paths: list[str]) -> list[_File]:
    return [_file(db, path) for path in paths]


def _file(db: Database, path: str) -> _File:
    row = reads.file_row(db, path)
    assert row is not None
    documents: list[tuple[LoadedDocument, list[Chunk]]] = []
    keys: dict[int, str] = {}
    columns = "documents.id, text, title, page, headings, lines, url, author, date, subject"
    sql = f"SELECT {columns} FROM documents JOIN files ON files.id = file WHERE path = ? ORDER BY documents.id"
    for number, text, title, page, headings, lines, *about in db.execute(sql, (path,)).fetchall():
        outline = tuple(Heading(*heading) for heading in json.loads(headings))
        of_chunks = 'SELECT id, key, start, "end", heading FROM chunks WHERE document = ? ORDER BY id'
        rows = db.execute(of_chunks, (number,)).fetchall()
        keys |= {chunk: key for chunk, key, *_ in rows}
        chunks = [Chunk(start, end, heading) for _, _, start, end, heading in rows]
        read = tuple(ReadLine(*line) for line in json.loads(lines))
        documents.append((replace(LoadedDocument(text, title, page, outline, *about), lines=read), chunks))
    known = db.execute(f"{vectors.embedded(db)} WHERE e.chunk {IN}", (array(keys),))
    found = {keys[chunk]: (of_text, of_header) for chunk, of_text, of_header in known}
    return _File(row, documents, found)


def _set_vectors(db: Database, known: dict[str, Vector]) -> None:
    """Store vectors by the keys of their chunks."""
    if not known:
        return
    import numpy as np

    rows = db.execute(f"SELECT id, key, header FROM chunks WHERE key {IN}", (array(known),)).fetchall()
    texts = {chunk: np.frombuffer(known[key][0], dtype="<f4") for chunk, key, _ in rows}
    of_headers = {header: known[key][1] for _, key, header in rows}
    headers = {header: np.frombuffer(each, dtype="<f4") for header, each in of_headers.items() if header and each}
    writes.set_vectors(db, list(texts), texts, headers)
