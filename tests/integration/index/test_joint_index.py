"""Several indexes answer as one: each passage knows its index, and a split corpus ranks as the whole does."""

from __future__ import annotations

import os
import sqlite3
from datetime import datetime
from pathlib import Path

import pytest
from langchain_core.documents import Document
from support.fakes_index import HashingEmbedder

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import UsageError
from local_rag.core.narrowing import Narrowing
from local_rag.index.header import MIXED
from local_rag.index.index import Index
from local_rag.index.joint_index import JointIndex, stored_in

BOATS = {
    "boat.md": "# Boats\n\nThe rescue boat is kept ready with two oars.\n",
    "shared.md": "# Shared\n\nOars of ash.\n",
}
TAXES = {"tax.txt": "Income tax is due in May, late payment costs interest on oars.\n"}


def indexed(folder, path, texts):
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        moment = datetime.fromisoformat("2023-05-01" if name == "tax.txt" else "2021-05-01").timestamp()
        os.utime(folder / name, (moment, moment))
    index = Index.open(path, HashingEmbedder(window=250), create=True)
    index.sync([folder])
    return index


@pytest.fixture(scope="module")
def joint(tmp_path_factory):
    """An index of boats and one of taxes, as one; both hold the file shared.md."""
    base = tmp_path_factory.mktemp("joint")
    boats = indexed(base / "files", base / "boats", BOATS)
    (base / "taxes-files").mkdir()
    taxes = indexed(base / "taxes-files", base / "taxes", TAXES)
    taxes.sync([base / "files" / "shared.md"])
    with JointIndex({"boats": boats, str(base / "taxes"): taxes}) as joint:
        joint.base = base
        yield joint


def named(passages):
    return [
        (passage.metadata["index"].rpartition("/")[2], Path(passage.metadata["source"]).name) for passage in passages
    ]


def test_each_text_comes_once_and_says_of_which_index_it_is(joint):
    passages = joint.search("oars", 9)
    assert sorted(name for _, name in named(passages)) == ["boat.md", "shared.md", "tax.txt"]
    assert ("taxes", "tax.txt") in named(passages) and ("boats", "boat.md") in named(passages)
    every = joint.search("oars", 9, repeats=True)
    assert sorted(named(every))[1:3] == [("boats", "shared.md"), ("taxes", "shared.md")]
    assert len({passage.metadata["chunk_id"] for passage in every}) == 4


def test_what_was_seen_is_left_out_by_its_own_id(joint):
    shared = [passage for passage in joint.search("oars of ash", 9, repeats=True) if "ash" in passage.page_content]
    left = joint.search("oars of ash", 9, repeats=True, exclude=[shared[0].metadata["chunk_id"]])
    ids = {passage.metadata["chunk_id"] for passage in left}
    assert shared[1].metadata["chunk_id"] in ids and shared[0].metadata["chunk_id"] not in ids


def test_vectors_neighbours_and_spans_are_those_of_the_own_index(joint):
    passages = joint.search("oars", 9, repeats=True)
    stranger = Document("no passage", metadata={"chunk_id": "elsewhere:00"})
    vectors = joint.vectors([*passages, stranger])
    assert all(vector is not None for vector in vectors[:-1]) and vectors[-1] is None
    near = joint.neighbours([stranger, *passages], 1)
    assert near[0] == []
    for passage, around in zip(passages, near[1:], strict=True):
        assert passage.metadata["chunk_id"] in [document.metadata["chunk_id"] for document in around]
        metadata = passage.metadata
        assert joint.span(metadata["chunk_id"], metadata["start"], metadata["end"]) == passage.page_content
    assert joint.span("elsewhere:00", 0, 9) == ""


def test_counts_and_catalog_are_of_all(joint):
    assert joint.count() == 4 and joint.status().files == 4
    assert joint.document_frequency(["oars", "tax", "nothing"]) == {"oars": 4, "tax": 1, "nothing": 0}
    catalog = joint.catalog()
    assert (catalog.documents, catalog.files) == (4, 4) and {"Boats", "Shared"}.issubset(catalog.titles)
    assert set(catalog.kinds) == {".md 3", ".txt 1"}
    assert joint.content() == joint.content() and len(joint.content()) == 16


def test_a_narrowing_may_leave_nothing_in_one_of_them(joint):
    assert named(joint.search("oars", 9, within=Narrowing(types=["txt"]))) == [("taxes", "tax.txt")]
    assert named(joint.search("oars", 9, within=Narrowing(after="2022", phrases=["interest on"]))) == [
        ("taxes", "tax.txt")
    ]
    assert [Path(file.path).name for file in joint.files(Narrowing(types=["txt"]))] == ["tax.txt"]
    for search in (lambda: joint.search("oars", 9, within=["nowhere"]), lambda: joint.files(["nowhere"])):
        with pytest.raises(UsageError, match="no indexed file matches 'nowhere'"):
            search()
    retriever = joint.as_retriever(9, filter={"type": "txt"})
    assert named(retriever.invoke("oars")) == [("taxes", "tax.txt")]


def test_what_was_retrieved_is_read_again_from_its_index(joint):
    passages = joint.search("oars", 9, repeats=True)
    ids = [passage.metadata["chunk_id"] for passage in passages]
    stored = stored_in([joint.base / "boats", joint.base / "taxes"], ids)
    assert {key: passage.text for key, passage in stored.passages.items()} == {
        passage.metadata["chunk_id"]: passage.page_content for passage in passages
    }
    assert stored.content == joint.content()


def test_a_split_corpus_ranks_as_the_whole_does(tmp_path):
    """ "boat" is in every text of one part and in one of the other, so BM25 alone would put that one first."""
    subjects = ["boat", "boat and the coal", "lamp", "lamp and the rope"]
    texts = [
        (f"{number:02}", LoadedDocument(f"Number {number} of the {subjects[number % 2 + 2 * (number > 20)]}."))
        for number in range(60)
    ]
    texts[40] = ("40", LoadedDocument("Number 40 of the boat house."))
    parts = {"whole": texts, "a": texts[:21], "b": texts[21:]}
    indexes = {name: Index.open(tmp_path / name, HashingEmbedder(256, 250), create=True) for name in parts}
    for name, index in indexes.items():
        index.sync_texts(parts[name])
    with indexes.pop("whole") as whole, JointIndex(indexes) as joint:
        for query in ("boat", "boat lamp", "boat house", "rope of the lamp", "coal 7"):
            cosines = [
                [round(passage.metadata["score"], 5) for passage in index.search(query, 9, mode="dense")]
                for index in (whole, joint)
            ]
            assert cosines[0] == cosines[1]
            for mode in ("words", "hybrid"):
                best = {passage.metadata["source"] for passage in whole.search(query, 3, mode=mode)}
                nine = [passage.metadata["source"] for passage in joint.search(query, 9, mode=mode)]
                assert nine[0] in best, (mode, query, best, nine)
                assert best.issubset(nine), (mode, query, best, nine)
        rare = [passage.page_content for passage in joint.search("boat lamp", 9, mode="words")]
        assert sum("boat" in text for text in rare) >= 8  # 22 texts hold it, 39 hold "lamp"


def test_headers_of_several_versions_are_mixed_and_each_index_says_what_waits(tmp_path):
    new = indexed(tmp_path / "new-files", tmp_path / "new", TAXES)
    old = Index.open(tmp_path / "old", HashingEmbedder(window=250), create=True)
    (tmp_path / "old-files").mkdir()
    (tmp_path / "old-files" / "a.txt").write_text("Oars of ash.\n\n" * 200, encoding="utf-8")
    old.sync([tmp_path / "old-files"], embed=False)
    with JointIndex({"new": new, "old": old}) as joint:
        assert joint.header_version() == new.header_version() > 0
        with sqlite3.connect(tmp_path / "old" / "index.sqlite") as db:
            db.execute("UPDATE documents SET header_version = 0")
        db.close()
        assert joint.header_version() == MIXED
        (line,) = joint.waiting_notes()
        assert line.startswith("old: none of ") and line.endswith(f": local-rag index --index {tmp_path / 'old'}")
        with pytest.raises(UsageError, match="no indexed file matches 'nosuch'") as caught:
            joint.search("oars", 3, within=["nosuch"])
        hints = [f"local-rag files --index {tmp_path / name}" for name in ("new", "old")]
        assert caught.value.hint == "   or   ".join(hints)
