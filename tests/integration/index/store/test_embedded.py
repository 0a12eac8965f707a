"""A text may be stored before its vector, and is searched by text and header once both are there."""

from __future__ import annotations

import numpy as np
import pytest

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import IndexDamaged
from local_rag.index.names import HEADER_WEIGHT
from local_rag.index.store import checks, embedded, reads, writes
from local_rag.index.store.schema import FileRow, Recipe
from local_rag.index.store.store import Store
from local_rag.text.chunking import Chunk

AXES = np.eye(4, dtype=np.float32)


@pytest.fixture
def opened(tmp_path):
    made = Store.create(tmp_path / "index", Recipe("toy", "toy-1", 4, 50, 0))
    yield made
    made.close()


def put(opened, path, *texts, title="Lamps", mtime=1):
    """One document, each text a passage; how many passages have a vector."""
    whole, chunks = " ".join(texts), []
    for text in texts:
        start = chunks[-1].end + 1 if chunks else 0
        chunks.append(Chunk(start, start + len(text), ""))
    with opened.writing() as db:
        return writes.write(db, FileRow(path, "/", "hash", 1, mtime), [(LoadedDocument(whole, title), chunks)])


def embed(opened, chunks, texts=(), headers=()):
    with opened.writing() as db:
        embedded.set_vectors(db, chunks, dict(texts), dict(headers))


def lacking(opened):
    """The chunks without a vector, and the texts and headers that are to be embedded."""
    chunks = opened.read(embedded.without_vectors)[0].tolist()
    return chunks, *opened.read(embedded.to_embed, chunks)


def numbers(opened):
    """Chunk -> its number in `embedded`."""
    return dict(opened.read(lambda db: db.execute("SELECT chunk, seq FROM embedded").fetchall()))


def header_texts(opened):
    return [text for (text,) in opened.read(lambda db: db.execute("SELECT text FROM headers ORDER BY text").fetchall())]


def test_what_has_no_vector_is_found_by_words_alone(opened):
    put(opened, "/a.txt", "the lamp", "the boat")
    assert opened.read(embedded.counts) == (0, 2)
    assert opened.nearest(AXES[0], 5, None, ()) == [] and opened.cosines(AXES[0], [1, 2]) == {}
    assert [chunk for chunk, _ in opened.matching(['"boat"'], 5, None, ())] == [2]
    assert opened.read(embedded.pending, [1, 2, 99]) == {1, 2}
    assert opened.read(checks.damage) == opened.read(checks.derived_damage) == ""
    embed(opened, [2], {2: AXES[1]})
    assert opened.nearest(AXES[1], 5, None, ()) == [(2, 1.0)] and opened.read(embedded.counts) == (1, 2)


def test_the_vector_of_the_header_is_added_to_that_of_the_text(opened):
    put(opened, "/a.txt", "the lamp", "the boat")
    chunks, texts, headers = lacking(opened)
    assert texts == [(1, "the lamp"), (2, "the boat")] and len(headers) == 1
    embed(opened, chunks, {1: AXES[0], 2: AXES[1]})
    before = numbers(opened)
    assert opened.cosines(AXES[0], [1]) == {1: 1.0} and lacking(opened)[1] == []
    embed(opened, [], (), {headers[0][0]: AXES[3]})
    after = numbers(opened)
    assert not set(before.values()) & set(after.values()) and lacking(opened)[0] == []
    length = np.sqrt(1 + HEADER_WEIGHT**2)
    assert opened.cosines(AXES[3], [1]) == {1: pytest.approx(HEADER_WEIGHT / length)}
    assert opened.nearest(AXES[0], 5, None, ())[0] == (1, pytest.approx(1 / length))


def test_newest_files_are_embedded_first(opened):
    for path, mtime in (("/old.txt", 10), ("/new.txt", 30), ("/middle.txt", 20)):
        put(opened, path, f"lamp {path}", mtime=mtime)
    assert lacking(opened)[0] == [2, 3, 1]


def test_an_equal_text_is_not_embedded_again(opened):
    put(opened, "/a.txt", "the lamp", "the boat")
    chunks, _, headers = lacking(opened)
    embed(opened, chunks, {1: AXES[0], 2: AXES[1]}, {headers[0][0]: AXES[3]})
    assert put(opened, "/a.txt", "a new text", "the lamp", "the boat") == 2
    assert [text for _, text in lacking(opened)[1]] == ["a new text"] and lacking(opened)[2] == []
    assert put(opened, "/elsewhere/b.txt", "the  boat", title="Boats") == 1
    assert opened.cosines(AXES[1], opened.read(reads.chunks_at, "/elsewhere/b.txt")) != {}


def test_headers_go_with_the_last_chunk_that_has_them(opened):
    put(opened, "/lamps.txt", "the lamp")
    put(opened, "/copy/lamps.txt", "another lamp")
    put(opened, "/boats.txt", "the boat", title="Boats")
    both = header_texts(opened)
    with opened.writing() as db:
        writes.remove(db, ["/lamps.txt"])
    assert header_texts(opened) == both
    with opened.writing() as db:
        writes.remove(db, ["/copy/lamps.txt"])
    assert len(header_texts(opened)) == len(both) - 1


def test_a_renamed_title_costs_the_vector_of_a_header(opened):
    put(opened, "/a.txt", "the lamp")
    chunks, _, headers = lacking(opened)
    embed(opened, chunks, {1: AXES[0]}, {headers[0][0]: AXES[3]})
    assert put(opened, "/a.txt", "the lamp", title="Another") == 1
    chunks, texts, headers = lacking(opened)
    assert texts == [] and len(headers) == 1 and opened.nearest(AXES[0], 1, None, ()) == [(2, 1.0)]


@pytest.mark.parametrize("harm", ["NULL", "x'00'"])
def test_a_header_without_its_vector_is_mended(opened, harm):
    put(opened, "/a.txt", "the lamp")
    chunks, _, headers = lacking(opened)
    embed(opened, chunks, {1: AXES[0]}, {headers[0][0]: AXES[3]})
    expected = opened.cosines(AXES[0], [1])
    with opened.writing() as db:
        db.execute(f"UPDATE headers SET vector = {harm}")
    with pytest.raises(IndexDamaged, match="1 header without a vector") as caught:
        opened.cosines(AXES[0], [1])
    assert caught.value.hint.startswith("local-rag index --reembed")
    if harm == "NULL":
        assert lacking(opened) == ([1], [], headers)
    assert opened.read(checks.unusable_headers) == [headers[0][0]]
    embed(opened, [], (), {headers[0][0]: AXES[3]})
    assert opened.cosines(AXES[0], [1]) == expected and opened.read(checks.derived_damage) == ""


def test_chunks_that_are_gone_by_now_are_left_out(opened):
    put(opened, "/a.txt", "the lamp")
    with opened.writing() as db:
        writes.remove(db, ["/a.txt"])
    embed(opened, [1], {1: AXES[0]}, {1: AXES[3]})
    assert opened.read(embedded.counts) == (0, 0) and opened.read(checks.damage) == ""
