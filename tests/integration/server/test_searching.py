"""Search without an answer, as a page asks for it."""

import pytest

from local_rag.server.answers import file_id
from local_rag.text.markup import unmarked


@pytest.fixture
def client(here, serve):
    return serve()


def test_a_search_brings_passages_with_their_scores(client, here):
    found = client.posted("/api/search", {"query": "What does the greenhouse cost?", "k": 2})
    segments = found["passages"][0]["segments"]
    assert "".join(segment["text"] for segment in segments) == unmarked(found["passages"][0]["text"])
    assert {segment["text"].casefold() for segment in segments if segment["mark"]} >= {"greenhouse", "costs"}
    first = found["passages"][0]
    assert first["file_id"] == file_id(str(here / "notes/plan.md")) and first["label"] == "notes/plan.md"
    assert "4,200 euros" in first["text"] and first["start"] < first["end"]
    assert -1 <= first["dense"] <= 1 and 0 < first["sparse"] <= 1 and first["score"] > 0
    assert found["notes"] == [] and len(found["passages"]) == 2


def test_exact_words_and_narrowing_hold(client):
    assert client.posted("/api/search", {"query": '"notice period" -euros'})["passages"]
    within = client.posted("/api/search", {"query": "euros", "within": "*.txt, *.none", "k": 5})["passages"]
    assert {passage["label"] for passage in within} == {"notes/letters/tenant.txt"}
    for mode in ("dense", "words"):
        assert client.posted("/api/search", {"query": "greenhouse", "mode": mode})["passages"]


CANNOT = [
    ({"query": " "}, "the query is empty"),
    ({"query": "-euros"}, "only says what to leave out"),
    ({"query": "x" * 5_000}, "at most 4,000 characters"),
    ({"k": 0}, "k: "),
    ({"mode": "sparse"}, "mode: "),
    ({"within": ["*.docx"]}, "docx"),
    ({"within": ["~nosuchuser/x"]}, "is no path or pattern of paths"),
    ({"within": ["notes\0.md"]}, "is no path or pattern of paths"),
    ({"within": ["*.md"], "after": "2100-01-01"}, "no indexed document in *.md is dated since 2100-01-01"),
    ({"after": "2030", "before": "2029"}, "no date is from 2030 on and before 2029"),
    ({"after": "31.3.2030"}, "after takes a date as 2023"),
]


def test_what_cannot_be_searched_is_told_in_a_line(client):
    for body, message in CANNOT:
        error = client.posted("/api/search", {"query": "x", **body}, 400)
        assert message in error["message"]
        assert "--" not in "".join(error.values()), "there is no command line"


def test_a_search_asks_no_model(here, serve, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_ENGINE", "ollama")  # and nothing answers there
    assert serve().post("/api/search", {"query": "greenhouse"}).json()["passages"]
