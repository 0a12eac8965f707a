"""Text first, vectors later: what is searched in between, in which order vectors come, and what a stop leaves."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, WebPage
from local_rag.core.errors import ModelMissing, Stopped
from local_rag.index.index import Index
from local_rag.index.store import priority, topics
from local_rag.index.store.store import Store
from local_rag.index.sync import embedding

LETTERS = "abcdefgh"


class Remembering(HashingEmbedder):
    """Keeps the batches of texts that it embedded."""

    def __init__(self):
        super().__init__()
        self.batches = []

    def embed_documents(self, texts):
        self.batches.append(list(texts))
        return super().embed_documents(texts)


class Missing(HashingEmbedder):
    """An embedder whose weights are not there."""

    def embed_documents(self, texts):
        raise ModelMissing("there are no weights", hint="local-rag models pull")


@pytest.fixture
def notes(tmp_path):
    """A file for each letter, each a day older than the one before."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for age, letter in enumerate(LETTERS):
        file = folder / f"{letter}.txt"
        file.write_text(f"The file {letter} is about the letter {letter * 3}.", encoding="utf-8")
        os.utime(file, (1_700_000_000 - 86_400 * age,) * 2)
    return folder


def opened(tmp_path, embedder=None):
    return Index.open(tmp_path / "index", embedder or Remembering(), chunk_size=40, create=True)


def test_text_is_searched_by_its_words_before_there_is_any_vector(tmp_path, notes):
    with opened(tmp_path) as index:
        report = index.sync([notes], embed=False)
        assert (len(report.new), report.chunks, report.embedded, report.not_embedded) == (8, 8, 0, 8)
        assert index.embedder.batches == [] and 0 < report.text_seconds <= report.seconds
        assert index.embedded_count() == (0, 8) and (index.status().embedded, index.status().chunks) == (0, 8)
        for mode in ("hybrid", "words"):
            documents = index.search("letter ccc", 2, mode=mode)
            assert documents[0].metadata["source"].endswith("c.txt")
        assert index.search("letter ccc", 2, mode="dense") == []
        index.verify(deep=True)


def test_the_next_sync_embeds_what_the_last_one_left(tmp_path, notes):
    with opened(tmp_path) as index:
        index.sync([notes], embed=False)
        report = index.sync()
        assert (report.unchanged, report.chunks, report.embedded, report.not_embedded) == (8, 0, 8, 0)
        assert index.search("letter ccc", 1, mode="dense")[0].metadata["source"].endswith("c.txt")
        assert index.embed() == 0


def test_embedding_alone_counts_as_bringing_up_to_date(tmp_path, notes):
    with opened(tmp_path) as index:
        index.sync([notes], embed=False)
        with closing(sqlite3.connect(index.path / "index.sqlite")) as db, db:
            db.execute("UPDATE meta SET value = '1' WHERE name = 'last_sync'")
        assert index.status().last_sync.startswith("1970")
        index.embed()
        assert index.status().last_sync > "2020"


def test_scores_before_and_after_are_the_same(tmp_path, notes):
    def scores(index):
        documents = index.search("letter ccc", 8, mode="words")
        return {document.metadata["source"]: document.metadata["score"] for document in documents}

    with opened(tmp_path) as index:
        index.sync([notes], embed=False)
        before = scores(index)
        index.embed()
        assert before == pytest.approx(scores(index), abs=1e-6)


def test_text_needs_no_weights_and_stays_without_them(tmp_path, notes):
    with opened(tmp_path, Missing()) as index:
        index.sync([notes], embed=False)
        with pytest.raises(ModelMissing):
            index.sync()
        assert index.embedded_count() == (0, 8)


def test_newest_files_come_first(tmp_path, notes, monkeypatch):
    monkeypatch.setattr(embedding, "_WINDOW", 1)
    with opened(tmp_path) as index:
        index.sync([notes])
        texts = [text for batch in index.embedder.batches for text in batch if text.startswith("The file")]
        assert [text[9] for text in texts] == list(LETTERS)


def test_what_questions_matched_by_its_words_comes_before(tmp_path, notes, monkeypatch):
    for name in ("FIRST", "LEAST", "MOST", "_WINDOW"):
        monkeypatch.setattr(embedding, name, 1)
    with opened(tmp_path) as index:
        index.sync([notes], embed=False)
        index.search("fff", 1, mode="words")
        index.search("ggg", 1)
        index.embedder.batches.clear()
        index.embed()
        texts = [text for batch in index.embedder.batches for text in batch if text.startswith("The file")]
        assert [text[9] for text in texts] == ["g", "f", *"abcdeh"]
        assert priority.taken(index.path) == [], "the list is used up"


def test_a_question_during_the_embedding_moves_its_passages_to_the_front(tmp_path, notes, monkeypatch):
    for name in ("FIRST", "LEAST", "MOST", "_WINDOW"):
        monkeypatch.setattr(embedding, name, 1)
    with opened(tmp_path) as index, opened(tmp_path) as reader:
        index.sync([notes], embed=False)
        index.embed(lambda progress: progress.done == 2 and reader.search("hhh", 1))
        texts = [text for batch in index.embedder.batches for text in batch if text.startswith("The file")]
        assert [text[9] for text in texts] == [*"abh", *"cdefg"]


def test_a_stop_keeps_every_batch_and_search_sees_each(tmp_path, notes, monkeypatch):
    for name in ("FIRST", "LEAST", "MOST"):
        monkeypatch.setattr(embedding, name, 2)
    stop = cancel.Cancel()
    with opened(tmp_path) as index:
        with cancel.scope(stop), pytest.raises(Stopped):
            index.sync([notes], progress=lambda progress: progress.phase == "vectors" and stop.stop())
        assert index.embedded_count() == (2, 8)
        assert len(index.search("letter", 8, mode="dense")) == 2
        assert len(index.search("letter", 8)) == 8
        assert index.sync().embedded == 6
        assert len(index.search("letter", 8, mode="dense")) == 8


def test_a_passage_without_a_vector_is_not_punished_for_that(tmp_path, notes):
    with opened(tmp_path) as index:
        index.sync([notes])
        (notes / "new.txt").write_text("The keeper lights the lamp, and the lamp burns.", encoding="utf-8")
        (notes / "near.txt").write_text("A keeper of the lamp: the file is about the letter.", encoding="utf-8")
        index.sync(embed=False)
        assert index.search("keeper lights lamp", 1)[0].metadata["source"].endswith("new.txt")


def test_texts_and_pages_go_the_same_way(tmp_path):
    with opened(tmp_path) as index:
        report = index.sync_texts([("pumps", LoadedDocument("A pump is blue.", "Pumps"))], embed=False)
        assert (report.chunks, report.embedded, report.not_embedded) == (1, 0, 1)
        page = WebPage("https://example.org/boats", "Boats", "A boat floats.")
        report = index.sync_pages(["https://example.org/boats"], lambda url: page, embed=False)
        assert (report.chunks, report.embedded, report.not_embedded) == (1, 0, 2)
        assert index.search("boat floats", 1)[0].metadata["title"] == "Boats"
        report = index.sync_pages(["https://example.org/boats"], lambda url: page)
        assert (report.unchanged, report.embedded, report.not_embedded) == (1, 2, 0)


def test_topics_wait_for_all_vectors(tmp_path, notes):
    with opened(tmp_path) as index:
        index.sync([notes], embed=False)
        assert index.catalog().topics, "titles stand in"
        with closing(Store(index.path)) as store:
            assert store.read(topics.kept) is None
            index.embed()
            assert len(store.read(topics.kept).ids) == 8


def test_a_large_file_waits_for_the_small_ones(tmp_path, notes, monkeypatch):
    from local_rag.index.sync import sync as syncing

    monkeypatch.setattr(syncing, "_LARGE", 1000)
    (notes / "0.txt").write_text("The lamp is lit at dusk. " * 100)
    seen = []
    with opened(tmp_path) as index:
        index.sync([notes], progress=lambda progress: seen.append(progress.path), embed=False)
    names = list(dict.fromkeys(path.rpartition("/")[2] for path in seen))
    assert names[-1] == "0.txt" and len(names) == 9


def test_others_search_while_vectors_come(tmp_path, notes, monkeypatch):
    for name in ("FIRST", "LEAST", "MOST"):
        monkeypatch.setattr(embedding, name, 1)
    seen, failures = [], []

    with opened(tmp_path) as index, opened(tmp_path) as reader:

        def look():
            try:
                seen.append((len(reader.search("letter", 8)), reader.embedded_count()[0]))
            except Exception as error:
                failures.append(error)

        def search(progress):
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()

        index.sync([notes], embed=False)
        index.embed(search)
    assert failures == [] and seen == [(8, number) for number in range(1, 9)]
