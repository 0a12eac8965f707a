"""Texts that are no files in an index: named, cut or whole, taken in once."""

from __future__ import annotations

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.core import cancel
from local_rag.core.documents import Heading, LoadedDocument
from local_rag.core.errors import Stopped
from local_rag.index.index import Index
from local_rag.index.sync import texts

LONG = "The pump is blue. " * 40
TEXTS = (
    ("1/pumps", LoadedDocument(f"Pumps\n\n{LONG}", "Pumps", headings=(Heading(0, 1, "Pumps"),))),
    ("2", LoadedDocument("A valve closes.", "Valves")),
    ("3", LoadedDocument("  \n ")),
)


@pytest.fixture
def opened(tmp_path):
    embedder = HashingEmbedder()
    with Index.open(tmp_path / "index", embedder, chunk_size=50, create=True) as index:
        yield index, embedder


def test_texts_are_found_under_their_names(opened):
    index, _ = opened
    report = index.sync_texts(TEXTS)
    assert report.new == ("1/pumps", "2"), "a text without words is left out"
    assert report.chunks == index.status().chunks > 3
    (document,) = index.search("valve closes", 1)
    metadata = document.metadata
    assert (metadata["source"], metadata["title"], metadata["origin"], metadata["url"]) == ("2", "Valves", "files", "")
    headings = {
        document.metadata["heading"]
        for document in index.search("pump blue", 20)
        if document.metadata["source"] == "1/pumps"
    }
    assert headings == {"Pumps"}


def test_only_what_changed_is_embedded_again(opened):
    index, embedder = opened
    index.sync_texts(TEXTS)
    content, embedded = index.content(), embedder.embedded
    report = index.sync_texts(TEXTS)
    assert (report.new, report.unchanged, embedder.embedded) == ((), 2, embedded)
    assert index.content() == content, "the same passages are the same content"
    report = index.sync_texts([("2", LoadedDocument("A valve opens.", "Valves"))])
    assert (report.updated, report.unchanged) == (("2",), 0)
    assert index.content() != content
    assert index.search("blue pump", 1)[0].metadata["source"] == "1/pumps", "what is not among the texts stays"


def test_another_author_is_a_change_that_embeds_nothing(opened):
    index, embedder = opened
    index.sync_texts(TEXTS)
    before = embedder.embedded
    told = LoadedDocument("A valve closes.", "Valves", author="Ann Lee", date="2023", subject="valves")
    assert index.sync_texts([("2", told)]).updated == ("2",) and embedder.embedded == before
    assert index.search("valve closes", 1)[0].metadata["author"] == "Ann Lee"
    assert index.sync_texts([("2", told)]).unchanged == 1


def test_whole_texts_are_one_passage_each(opened):
    index, _ = opened
    index.sync_texts(TEXTS, whole=True)
    assert index.status().chunks == 2
    assert index.search("pump blue", 1)[0].page_content == f"Pumps\n\n{LONG}"


def test_a_stopped_run_keeps_what_was_stored(opened, monkeypatch):
    index, _ = opened
    monkeypatch.setattr(texts, "_BATCH", 10)
    many = [(str(number), LoadedDocument(f"Text number {number}.")) for number in range(100)]
    stop, told = cancel.Cancel(), []

    def tell(progress):
        told.append(progress)
        if len(told) == 3:
            stop.stop()

    with cancel.scope(stop), pytest.raises(Stopped):
        index.sync_texts(many, progress=tell)
    assert index.status().files == 30
    assert [progress.chunks for progress in told] == [10, 20, 30]
    report = index.sync_texts(many)
    assert (len(report.new), report.unchanged, report.embedded) == (70, 30, 100)
