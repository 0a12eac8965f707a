"""An index says what it holds, refuses what did not make it, and gets the vectors of another embedder."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from langchain_core.documents import Document
from support.fakes_index import HashingEmbedder, add, indexed

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import IndexMismatch, IndexMissing, UsageError
from local_rag.index.index import Index
from local_rag.index.store.reads import around
from local_rag.index.sync import embed

STATION = "\n\n".join(
    " ".join(f"The {name} number {place} is kept in room {place}." for place in range(9))
    for name in ("lamp", "horn", "boat", "rope", "coal", "bread")
)
TEXTS = {"/station.md": LoadedDocument(STATION, "Station"), "/tax.txt": "Income tax is due in May. Boats pay none."}
PASSAGES = 19


@pytest.fixture
def index(tmp_path):
    with indexed(tmp_path / "index", TEXTS) as made:
        yield made


def opened(index, embedder=None, **options):
    return Index.open(index.path, embedder or HashingEmbedder(), **{"chunk_size": 40} | options)


def in_order(index):
    """The passages of the long text as they follow each other."""
    return sorted(index.search("kept in room", 99, within=["station.md"]), key=lambda one: one.metadata["start"])


def test_it_says_what_it_holds(index):
    status = index.status()
    assert (status.files, status.documents, status.chunks, status.embedded) == (2, 2, PASSAGES, PASSAGES)
    assert (status.embedder, status.fingerprint, status.dimension) == ("hashing", "hashing-64-100", 64)
    assert (status.chunk_size, status.chunk_overlap, status.cache_fresh) == (40, 0, True)
    assert status.bytes == sum(entry.stat().st_size for entry in index.path.iterdir())
    assert abs(datetime.fromisoformat(status.last_sync).timestamp() - datetime.now().timestamp()) < 60
    assert Index.inspect(index.path) == status and index.count() == PASSAGES
    assert [(file.path, file.chunks, file.title) for file in index.files()] == [
        ("/station.md", PASSAGES - 1, "Station"),
        ("/tax.txt", 1, ""),
    ]
    every = list(index.passages(seed=3))
    assert len({passage.key for passage in every}) == PASSAGES and [p.source for p in every[:2]] != 2 * ["/station.md"]


def test_document_frequency_counts_words_and_stems(index):
    counts = {"boat": 4, "boats": 4, "income": 1, "whale": 0, "boat-number": 4}
    assert index.document_frequency(list(counts)) == counts


def test_content_changes_with_the_passages_alone(index):
    content, generation = index.content(), index.generation()
    passage = index.search("income tax", 1)[0].metadata["chunk_id"]
    add(index, {"/new.txt": "A new text."})
    assert (index.content() != content) is (index.generation() != generation) is True
    assert index.stored([passage, "none"]).passages[passage].text == TEXTS["/tax.txt"]
    index.remove(["/new.txt"])
    assert index.content() == content and index.stored([]).files == TEXTS.keys()


@pytest.mark.parametrize("overlap", [0, 12])
def test_neighbours_are_those_of_the_document_in_the_order_of_the_text(tmp_path, overlap):
    with indexed(tmp_path / "index", TEXTS, chunk_overlap=overlap) as index:
        ordered = in_order(index)
        (tax,) = index.search("income tax", 1)
        keys = [passage.metadata["chunk_id"] for passage in ordered]
        web = Document("", metadata={"chunk_id": "https://web.test"})
        near = index.neighbours([ordered[0], ordered[4], tax, web], 2)
        assert [[one.metadata["chunk_id"] for one in some] for some in near] == [
            keys[:3], keys[2:7], [tax.metadata["chunk_id"]], []
        ]  # fmt: skip
        assert near[1][2].page_content == ordered[4].page_content and index.read(around, keys[:1], 0)[keys[0]]


def test_a_span_is_counted_in_code_points_and_cut_at_the_borders(index):
    text = "Lamp\0room \U0001f4a1 é e\u0301 horn.\n" * 9
    add(index, {"odd": text})
    (key,) = (found.metadata["chunk_id"] for found in index.search("horn", 1, within=["odd"]))
    for start, end in ((0, 4), (0, 5), (2, 9), (11, 14), (5, 10**6), (9, 3)):
        assert index.span(key, start, end) == text[start:end]
    assert index.span(key, -5, 3) == text[:3] and index.span("gone", 0, 9) == ""


def test_the_stored_vector_of_a_passage_is_known_by_its_text(index):
    (document,) = index.search("income tax", 1)
    other = Document("Another text.", metadata=document.metadata)
    stranger = Document(document.page_content, metadata={"chunk_id": "none"})
    vector, *others = index.vectors([document, other, stranger, Document("from the web")])
    assert np.array_equal(vector, HashingEmbedder().embed_documents([document.page_content])[0])
    assert others == [None, None, None]


class TestOpening:
    def test_nothing_there(self, tmp_path):
        for act in (Index.inspect, Index.destroy, lambda path: Index.open(path, HashingEmbedder())):
            with pytest.raises(IndexMissing) as caught:
                act(tmp_path / "nowhere")
            assert caught.value.hint == f"local-rag index PATH… --index {tmp_path / 'nowhere'}"
        assert not (tmp_path / "nowhere").exists()

    @pytest.mark.parametrize(
        ("options", "message", "hint"),
        [
            ({"embedder": HashingEmbedder(salt="2")}, "embedder 'hashing'.* not with 'hashing2'",
             "local-rag index --reembed --index {}"),
            ({"chunk_size": 60}, "has passages of 40 tokens with 0 shared",
             "local-rag index PATH… --chunk-size 60 --chunk-overlap 0 --index {}-60"),
            ({"chunk_overlap": 5}, "has passages of 40 tokens with 0 shared",
             "local-rag index PATH… --chunk-size 40 --chunk-overlap 5 --index {}-40-5"),
        ],
    )  # fmt: skip
    def test_what_did_not_make_it_is_refused_with_the_command(self, index, options, message, hint):
        for create in (True, False):
            index.remove(list(TEXTS), missing_ok=True)
            with pytest.raises(IndexMismatch, match=message) as caught:
                opened(index, create=create, **options)
            assert caught.value.hint == hint.format(index.path)

    def test_sizes_of_the_index_are_taken_over(self, index):
        with opened(index, chunk_size=None, chunk_overlap=None) as again:
            assert again.search("income tax", 1) == index.search("income tax", 1)

    @pytest.mark.parametrize("options", [{"chunk_size": 101}, {"chunk_overlap": 21}, {"chunk_overlap": -1}])
    def test_impossible_sizes(self, tmp_path, options):
        with pytest.raises(UsageError, match="tokens"):
            indexed(tmp_path / "index", {}, **options)
        assert not (tmp_path / "index").exists()

    def test_two_at_once_make_one(self, tmp_path):
        made = []
        threads = [
            threading.Thread(target=lambda: made.append(indexed(tmp_path / "index", {}).status().chunks))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [0, 0, 0, 0]

    def test_without_an_embedder_it_is_listed_and_a_search_finds_nothing(self, index):
        with Index.open(index.path) as listed:
            assert listed.files() == index.files() and listed.search("income tax", 3) == []


class TestReembedding:
    def test_new_vectors_for_the_old_passages(self, index, tmp_path):
        other, seen = HashingEmbedder(dimension=32, salt="2"), []
        with opened(index, other, reembed=True) as again:
            with pytest.raises(IndexMismatch):
                again.search("boat", 4)
            assert again.reembed(seen.append) == PASSAGES == seen[-1].done == seen[-1].total
            assert again.reembed() == 0 and again.verify(deep=True)
            with indexed(tmp_path / "fresh", TEXTS, other) as fresh:
                assert again.search("boat in room 4", 4) == fresh.search("boat in room 4", 4)
        with pytest.raises(IndexMismatch):
            index.search("boat", 4)

    def test_an_interrupted_one_is_searched_by_words_and_goes_on(self, index, monkeypatch):
        monkeypatch.setattr(embed, "FIRST", 2)
        budget = iter(range(1))
        with opened(index, HashingEmbedder(salt="2", before_batch=lambda: next(budget)), reembed=True) as again:
            with pytest.raises(StopIteration):
                again.reembed()
            assert again.embedded_count() == (2, PASSAGES)
        with opened(index, HashingEmbedder(salt="2")) as again:
            assert again.search("income tax", 1)[0].metadata["source"] == "/tax.txt"
            assert again.embed() == PASSAGES - 2 and again.verify(deep=True)

    def test_passages_that_do_not_fit_are_refused(self, index):
        short = HashingEmbedder(salt="2", window=40)
        short.token_ends = lambda text: list(range(1, len(text) + 1))
        with opened(index, short, reembed=True) as again, pytest.raises(IndexMismatch, match="reads 40 tokens"):
            again.reembed()
        with opened(index, chunk_size=60, reembed=True) as again, pytest.raises(IndexMismatch, match="of 40 tokens"):
            again.reembed()
        assert len(index.search("boat", 4)) == 4 and Path(index.path).exists()
