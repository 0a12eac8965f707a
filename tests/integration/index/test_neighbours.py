"""The passages around a passage, and the text between them, from a real index."""

from __future__ import annotations

import pytest
from support.fakes import ScriptedEngine
from support.fakes_index import HashingEmbedder

from local_rag.config.settings import Settings
from local_rag.core.documents import LoadedDocument
from local_rag.graphs.widening import widened
from local_rag.index.index import Index
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag
from local_rag.text.parts import chunk_ids

PARTS = ("lamp", "horn", "boat", "rope", "coal", "bread")
TEXT = "# Station\n\n" + "\n\n".join(
    f"## The {name}\n\n" + " ".join(f"The {name} number {place} is kept in room {place}." for place in range(9))
    for name in PARTS
)


@pytest.fixture(params=[0, 12], ids=["apart", "overlapping"])
def index(tmp_path, request):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "station.md").write_text(TEXT, encoding="utf-8")
    (tmp_path / "notes" / "short.md").write_text("# Tax\n\nIncome tax is due in May.", encoding="utf-8")
    embedder = HashingEmbedder()
    with Index.open(tmp_path / "i", embedder, chunk_size=40, chunk_overlap=request.param, create=True) as made:
        made.sync([tmp_path / "notes"])
        yield made


def in_order(index):
    """The passages of the long file as they follow each other."""
    known = [
        passage
        for passage in index.search("the number is kept in room", 100)
        if "station" in passage.metadata["source"]
    ]
    return sorted(known, key=lambda passage: passage.metadata["start"])


def test_neighbours_are_those_of_the_document_in_the_order_of_the_text(index):
    ordered = in_order(index)
    assert len(ordered) > 8
    tax = next(passage for passage in index.search("income tax", 3) if "short" in passage.metadata["source"])
    keys = [passage.metadata["chunk_id"] for passage in ordered]
    web = tax.model_copy(update={"metadata": tax.metadata | {"chunk_id": "https://web.test"}})
    near = index.neighbours([ordered[0], ordered[4], tax, web], 2)
    assert [[one.metadata["chunk_id"] for one in some] for some in near] == [
        keys[:3], keys[2:7], [tax.metadata["chunk_id"]], []
    ]  # fmt: skip
    assert near[1][2].page_content == ordered[4].page_content
    assert near[1][2].metadata["heading"] == ordered[4].metadata["heading"]


def test_a_span_is_cut_at_the_borders_of_its_document(index):
    first = in_order(index)[0].metadata["chunk_id"]
    whole = index.span(first, -5, 10**9)
    assert "lamp number 0" in whole and "bread number 8" in whole and "Income tax" not in whole
    assert index.span(first, 3, 9) == whole[3:9]
    assert index.span("gone", 0, 9) == "" and index.span(first, 9, 3) == ""


def test_a_span_is_counted_in_code_points_whatever_stands_in_the_text(index):
    text = "Lamp\0room \U0001f4a1 é e\u0301 horn.\n" * 9
    index.sync_texts([("odd", LoadedDocument(text))])
    key = next(
        passage.metadata["chunk_id"]
        for passage in index.search("lamp room horn", 99)
        if passage.metadata["source"] == "odd"
    )
    for start, end in ((0, 4), (0, 5), (2, 9), (11, 14), (40, 60), (5, 10**6)):
        assert index.span(key, start, end) == text[start:end]


def test_a_wider_passage_is_the_text_of_the_file(index):
    ordered = in_order(index)
    (wide,) = widened([ordered[4], ordered[3]], index, 10_000, "neighbours")
    start, end = wide.metadata["start"], wide.metadata["end"]
    assert wide.page_content == index.span(ordered[0].metadata["chunk_id"], 0, 10**9)[start:end]
    assert chunk_ids(wide) == [passage.metadata["chunk_id"] for passage in ordered[2:6]]


def test_a_citation_of_the_wider_part_points_into_the_file(index, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_WIDEN", "neighbours")
    ordered = in_order(index)
    (core,) = (passage for passage in index.search("boat number 4", 1))
    place = [passage.metadata["chunk_id"] for passage in ordered].index(core.metadata["chunk_id"])
    sentence = ordered[place + 1].page_content.split(". ")[-2].rpartition("\n")[2]
    engine = ScriptedEngine(relevant=["y"], drafts=[f"{sentence} [1]."])
    rag = Rag(Settings.load(k=1), index, Choice(engine))
    answer = rag.ask("boat number 4")
    (citation,) = answer.citations
    text = index.span(core.metadata["chunk_id"], 0, 10**9)
    assert citation.verified and text[citation.start : citation.end] == citation.quote
    assert citation.start >= core.metadata["end"] - 60
    assert citation.heading == ordered[place + 1].metadata["heading"]
    assert answer.status == "grounded"
