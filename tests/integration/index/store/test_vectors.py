"""The nearest passages are those of all vectors, whatever became of the file that names candidates."""

import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fakes_index import HashingEmbedder, add, indexed

from local_rag.index.index import Index
from local_rag.index.store.sqlite import vectors
from local_rag.text.names import HEADER_WEIGHT, document_header

QUERY = "w1 w2 w3 w5 w8"
WAYS = {
    "no file": {},
    "a file": {"COMPARED": 0},
    "lists": {"COMPARED": 0, "LISTS_FROM": 20, "LISTS": 8, "PROBES": 8, "TRAINED_ON": 400},
}


def texts(first, last, folder="a"):
    """Texts of twenty words, which their number decides."""
    dice = [random.Random(number) for number in range(first, last)]
    names = (f"/{folder}/{number}.txt" for number in range(first, last))
    return {name: " ".join(f"w{die.randrange(60)}" for _ in range(20)) for name, die in zip(names, dice, strict=True)}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    lower(monkeypatch, request.param)
    return request.param


def lower(patched, way):
    for name, value in WAYS[way].items():
        patched.setattr(vectors, name, value)


@pytest.fixture
def index(tmp_path, way):
    with indexed(tmp_path / "index", texts(0, 100)) as made:
        yield made


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def by_all_vectors(index, embedder):
    """Source -> cosine."""
    passages = list(index.passages())
    named = [document_header(passage.source, passage.title) for passage in passages]
    headers = embedder.embed_documents(named) * np.array([[bool(header)] for header in named])
    rows = unit(embedder.embed_documents([passage.text for passage in passages]) + HEADER_WEIGHT * headers)
    cosines = rows @ embedder.embed_queries([QUERY])[0]
    return {passage.source: float(cosine) for passage, cosine in zip(passages, cosines, strict=True)}


def found(index, k=20, **options):
    documents = index.search(QUERY, k, mode="dense", repeats=True, **options)
    return {document.metadata["source"]: document.metadata["score"] for document in documents}


def is_best(found, every, k):
    """These are the k nearest; of equals any may come."""
    assert found == pytest.approx({source: every[source] for source in found}, abs=1e-5)
    assert list(found.values()) == pytest.approx(sorted(every.values(), reverse=True)[:k], abs=1e-5)


def is_right(index, k=20, embedder=None):
    """In this process, and to one that has just opened the index."""
    embedder = embedder or HashingEmbedder()
    every = by_all_vectors(index, embedder)
    is_best(found(index, k), every, k)
    with Index.open(index.path, embedder) as other:
        is_best(found(other, k), every, k)


def files(index):
    return sorted(index.path.glob("vectors.*"))


def test_what_comes_and_goes(index, way):
    with Index.open(index.path, HashingEmbedder()) as reader:
        is_right(index)
        add(index, texts(300, 310))
        is_best(found(reader), by_all_vectors(index, HashingEmbedder()), 20)
        index.remove(list(found(index, 20)))
        is_right(index, 100)
        assert found(reader, 100) == found(index, 100)
        add(index, texts(310, 410, "b"))
        is_right(index, 60)
        assert found(reader, 900) == found(index, 900) and len(found(index, 900)) == 190
        assert len(files(index)) == (way != "no file") and index.verify(deep=True)
        index.remove(["/a", "/b"])
        assert found(index) == found(reader) == {}
        add(index, texts(0, 40))
        is_right(index)
    other = HashingEmbedder(salt="another")
    with Index.open(index.path, other, reembed=True) as again:
        again.reembed()
        is_right(again, embedder=other)


def flipped(file):
    data = bytearray(file.read_bytes())
    data[len(data) * 3 // 4] ^= 64
    file.write_bytes(data)


HARMS = {
    "missing": lambda file: file.unlink(),
    "cut": lambda file: os.truncate(file, file.stat().st_size - 4),
    "a bit": flipped,
}


@pytest.mark.parametrize("way", ["a file", "lists"], indirect=True)
@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_damaged_file_costs_only_time(index, harm):
    harm(files(index)[0])
    index.close()
    before = files(index)
    is_right(index)
    assert files(index) == before and not index.verify()  # who only reads makes and deletes no file
    assert "missing or damaged: until it is made anew" in index.waiting_notes()[0]
    index.sync_texts([])
    is_right(index)
    assert len(files(index)) == 1 and index.verify() and index.waiting_notes() == []


@pytest.mark.parametrize("way", ["a file"], indirect=True)
class TestTheFile:
    def test_without_room_there_is_none(self, index, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        before = files(index)
        before[0].unlink()
        with monkeypatch.context() as patched:
            patched.setattr(vectors.os, "fsync", full)
            index.sync_texts([])
            is_right(index)
        assert files(index) == []
        index.sync_texts([])
        is_right(index)
        assert len(files(index)) == 1 and files(index) != before

    def test_it_is_written_anew_where_much_has_come_or_anything_has_gone(self, index):
        first = files(index)
        add(index, texts(300, 305))
        assert files(index) == first
        add(index, texts(305, 320))
        second = files(index)
        assert len(second) == 1 and second != first
        index.remove(["/a/3.txt"])
        assert len(files(index)) == 1 and files(index) != second


STEPS = st.tuples(st.sampled_from("add remove text embed open search".split()), st.integers(0, 8))


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(st.sampled_from(list(WAYS)), st.lists(STEPS, max_size=20))
def test_whatever_came_before(tmp_path_factory, way, steps):
    with pytest.MonkeyPatch.context() as patched:
        lower(patched, way)
        with indexed(tmp_path_factory.mktemp("steps") / "index", texts(100, 140)) as index:
            for step, number in steps:
                if step in ("add", "text"):
                    add(index, texts(10 * number, 10 * number + 6, "b"), embed=step == "add")
                elif step == "remove":
                    index.remove(list(texts(10 * number, 10 * number + 6, "b")), missing_ok=True)
                elif step == "embed":
                    index.embed()
                elif step == "open":
                    index.close()
                else:
                    assert index.search(QUERY, 5, mode="dense")
            index.embed()
            is_right(index, 80)
