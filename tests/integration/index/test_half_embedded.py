"""What a search embeds and reads while an index is not embedded, and where such passages rank."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.index.index import Index
from local_rag.index.joint_index import JointIndex
from local_rag.index.store import reads


class Counting(HashingEmbedder):
    """Keeps the texts that it embedded as documents; `embed_queries` of the other one goes through them, too."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def embed_documents(self, texts):
        self.texts += texts
        return super().embed_documents(texts)

    def embed_queries(self, texts):
        return HashingEmbedder.embed_documents(self, texts)


def made(base, name, count, embed=False):
    folder = base / f"{name} files"
    folder.mkdir()
    for number in range(count):
        text = f"Boat {name} {number} carries {number * number + 3} barrels of tar.\n"
        (folder / f"{name}{number}.txt").write_text(text, encoding="utf-8")
    index = Index.open(base / name, Counting(), chunk_size=40, create=True)
    index.sync([folder], embed=embed)
    index.embedder.texts.clear()
    return index


def texts_of(documents):
    return [document.page_content for document in documents]


def test_a_search_embeds_what_it_brings_and_once(tmp_path):
    with made(tmp_path, "a", 30) as index:
        first = index.search("barrels of tar", 4)
        assert set(texts_of(first)) < set(index.embedder.texts) and len(index.embedder.texts) <= 2 * len(first)
        index.embedder.texts.clear()
        again = index.search("barrels of tar", 4)
        assert index.embedder.texts == []
        scores = [[document.metadata["score"] for document in documents] for documents in (first, again)]
        assert scores[0] == scores[1]


def test_several_indexes_embed_no_more_than_they_bring(tmp_path):
    indexes = {name: made(tmp_path, name, 30) for name in ("a", "b")}
    with JointIndex(indexes) as joint:
        best = joint.search("barrels of tar", 4)
        embedded = [text for index in indexes.values() for text in index.embedder.texts]
        assert len(best) == 4 and len(embedded) <= 8
        scores = {document.page_content: document.metadata["score"] for document in best}
        for index in indexes.values():
            index.embed()
        after = {document.page_content: document.metadata["score"] for document in joint.search("barrels of tar", 60)}
        assert scores == pytest.approx({text: after[text] for text in scores}, abs=1e-6)


def test_what_holds_the_words_comes_before_the_only_file_with_vectors(tmp_path):
    with made(tmp_path, "a", 3, embed=True) as index:
        other = tmp_path / "other"
        other.mkdir()
        (other / "lease.txt").write_text("The notice period of the lease is three months.\n", encoding="utf-8")
        index.sync([other], embed=False)
        for question in ("notice period", "How long is the notice period of a lease?"):
            (best, *_) = index.search(question, 3)
            assert Path(best.metadata["source"]).name == "lease.txt"


def test_what_is_left_out_by_a_word_is_read_once(tmp_path, monkeypatch):
    from local_rag.core.narrowing import Narrowing

    with made(tmp_path, "a", 300, embed=True) as index:
        seen = []
        plain = reads.passages
        monkeypatch.setattr(reads, "passages", lambda db, ids: (seen.extend(ids), plain(db, ids))[1])
        few = index.search("barrels of tar", 4, within=Narrowing(without=["7"]))
        assert len(few) == 4 and len(seen) <= 120, "it stops where there are enough"
        seen.clear()
        none = index.search("barrels of tar", 4, within=Narrowing(without=["tar"]))
        assert none == [] and len(seen) == len(set(seen)) == 300
