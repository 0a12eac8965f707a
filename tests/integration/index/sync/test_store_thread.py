"""Files are written whole, in order, on another thread; what goes wrong there is heard here."""

from __future__ import annotations

import numpy as np
import pytest
from support.fakes_index import HashingEmbedder

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import DiskFull
from local_rag.index.index import Index
from local_rag.index.store import reads
from local_rag.index.store.rows import FileRow
from local_rag.index.sync.reader import ReadFile
from local_rag.index.sync.store_thread import Writer
from local_rag.text.chunking import Chunk

TEXT = "One lamp. Two lamps. Three lamps."
PIECES = [Chunk(0, 9, ""), Chunk(10, 20, ""), Chunk(21, 33, "")]


@pytest.fixture
def opened(tmp_path):
    with Index.open(tmp_path / "index", HashingEmbedder(), chunk_size=40, create=True) as index:
        yield index._store


def read(name, pieces=PIECES):
    return ReadFile(FileRow(name, name, name, 1, 1, indexed_at=5.0), [(LoadedDocument(TEXT, name), pieces)])


def rows(count):
    return np.eye(64, dtype=np.float32)[:count]


def paths(store):
    return [file.path for file in store.read(reads.files)]


def test_slices_need_not_end_where_files_do(opened):
    with Writer(opened) as writer:
        for name in ("a", "b", "c"):
            writer.file(read(name))
        for part in (rows(2), rows(5), rows(0), rows(2)):
            writer.rows(part)
    assert list(writer.stored()) == paths(opened) == ["a", "b", "c"]
    assert opened.read(reads.counts) == (3, 3, 9)
    assert opened.read(reads.files)[0].indexed_at == 5.0  # when it was read: the file may have changed since


def test_a_file_without_passages_in_one_document_takes_no_rows(opened):
    with Writer(opened) as writer:
        writer.file(ReadFile(read("a").file, [(LoadedDocument(TEXT, "x"), []), (LoadedDocument(TEXT, "y"), PIECES)]))
        writer.rows(rows(3))
    assert opened.read(reads.counts) == (1, 2, 3)


def test_what_did_not_come_whole_is_not_there_at_all(opened):
    with pytest.raises(KeyboardInterrupt), Writer(opened) as writer:
        writer.file(read("a"))
        writer.file(read("b"))
        writer.rows(rows(4))
        raise KeyboardInterrupt
    assert list(writer.stored()) == paths(opened) == ["a"]
    assert opened.read(reads.damage) == "" and opened.read(reads.counts) == (1, 1, 3)


def test_what_the_store_says_of_the_last_file_is_raised_at_the_end(opened):
    with pytest.raises(DiskFull), Writer(opened) as writer:
        writer._store = Full(opened)
        writer.file(read("a"))
        writer.rows(rows(3))
    assert paths(opened) == []


def test_what_the_store_says_is_raised_by_the_next_rows(opened):
    with Writer(opened) as writer:
        writer._store = Full(opened)
        writer.file(read("a"))
        writer.rows(rows(3))
        writer._thread.join()
        with pytest.raises(DiskFull):
            writer.rows(rows(3))
        writer._error = None


class Full:
    """A store on a full disk."""

    def __init__(self, store):
        self.store = store

    def writing(self):
        raise DiskFull("no space left", hint="free some")
