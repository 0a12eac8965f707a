"""The events of a question as a client is sent them."""

from __future__ import annotations

import pytest
from support.fakes import passage

from local_rag.core.events import Called, Note, Retrieved, Started, Step, Token, WebQuery
from local_rag.core.usage import Call
from local_rag.core.verdicts import Graded
from local_rag.server.event_view import EventViews

GRADED = {"kind": "relevance", "verdict": "relevant", "why": "it says so", "score": 0.5, "chunk_id": "7"}


@pytest.mark.parametrize(
    "event, name, value",
    [
        (Started("retrieve", "retrieving"), "node_started", {"node": "retrieve", "doing": "retrieving"}),
        (Step("retrieve", 0.5, {"question": "secret"}), "node_ended", {"node": "retrieve", "seconds": 0.5}),
        (Note("a page\x1b[31m was\u202e left out"), "note", {"text": "a page was left out"}),
        (
            Token("It ", 2, restart=True, candidate=3),
            "token",
            {"text": "It ", "attempt": 2, "candidate": 3, "restart": True},
        ),
        (WebQuery("rents", "brave"), "web_query", {"query": "rents", "engine": "brave", "asks": True}),
        (
            Called(Call("grader", "qwen3:8b", 10, 2, 0.25)),
            "called",
            {"role": "grader", "model": "qwen3:8b", "prompt_tokens": 10, "output_tokens": 2, "seconds": 0.25},
        ),
        (
            Graded("relevance", "relevant", "it says so", "7", 0.5, "/notes/7.md"),
            "graded",
            GRADED | {"source": "/notes/7.md", "label": "7.md"},
        ),
    ],
)
def test_events(event, name, value):
    assert list(EventViews(lambda path: path.rpartition("/")[2], asks=True)(event)) == [(name, value)]


def test_retrieved_passages_name_file_and_place():
    ((name, value),) = EventViews(str.upper, asks=False)(Retrieved("rent", (passage(7, page=3, heading="§"),)))
    (shown,) = value["passages"]
    assert (name, value["query"]) == ("retrieved", "rent")
    assert (shown["chunk_id"], shown["label"], shown["page"], shown["dense"]) == ("7", "/NOTES/7.MD", 3, 0.5)
    assert len(shown["file_id"]) == 20 and "/notes" not in shown["file_id"]


def test_a_page_of_the_web_has_its_address_and_no_file():
    page = passage(7, origin="web", url="https://a.test/b")
    ((_, value),) = EventViews(str.upper, asks=False)(Retrieved("rent", (page,)))
    assert (value["passages"][0]["file_id"], value["passages"][0]["label"]) == ("", "https://a.test/b")


def test_loading_ends_where_something_else_begins():
    views = EventViews(str, asks=False)
    events = [Started("load", "loading"), Note("wait"), Started("load", "loading more"), Started("retrieve", "…")]
    shown = [(name, value.get("node")) for event in events for name, value in views(event)]
    assert shown == [
        ("node_started", "load"),
        ("note", None),
        ("node_ended", "load"),
        ("node_started", "load"),
        ("node_ended", "load"),
        ("node_started", "retrieve"),
    ]
