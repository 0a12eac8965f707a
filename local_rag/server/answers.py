"""What a client is sent of answers, passages and events: what the core has, with what a page needs beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from local_rag.core.answer import Answer, Citation
from local_rag.core.events import Event, Retrieved, Step
from local_rag.core.serialization import to_plain
from local_rag.core.verdicts import Graded
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.export import conflict_line, document_line, position_date
from local_rag.runtime.recording import kind
from local_rag.text.answer_texts import AnswerTexts, texts_in
from local_rag.text.display import is_url, local_iso, short_path
from local_rag.text.markup import as_read, unmarked
from local_rag.text.nodes import answer_tree, same_length

if TYPE_CHECKING:
    from langchain_core.documents import Document

SHORT = (
    *("question", "text", "short", "status", "status_text", "certainty", "citations", "nearest", "conflicts"),
    *("thread", "turn", "run", "seconds"),
)
"""What an answer is without `detail`."""


def file_id(path: str) -> str:
    """The ID by which a client names a file, for paths never come from one: of its SHA-256 the first 20 hex digits."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def id_of(source: str, origin: str, fallback_corpus: str = "") -> str:
    """The ID of a file of the index; empty for what is none."""
    return file_id(source) if origin == "files" and source and not fallback_corpus else ""


def answer_view(answer: Answer, label: PathLabel = short_path, *, turn: int = 0, at: str = "") -> dict[str, Any]:
    """An answer with its status in words, its text as a tree (`blocks`), and where each quote stands.

    `label` names files, `at` is when it was given (ISO 8601), `turn` its number in its thread, 0 outside of one.
    """
    texts = texts_in(answer.language)
    view: dict[str, Any] = to_plain(answer)
    for citations in (view["citations"], view["nearest"]):
        originals = answer.citations if citations is view["citations"] else answer.nearest
        _place(citations, originals, label, texts)
    for graded in view["decisions"]:
        graded["why"] = as_read(graded["why"])
    for conflict, plain in zip(answer.conflicts, view["conflicts"], strict=True):
        plain["line"] = conflict_line(conflict, texts)
        for side, position in zip(conflict.positions, plain["positions"], strict=True):
            position["when"] = position_date(side, texts)
            _place(position["citations"], side.citations, label, texts)
    return view | {
        "text": same_length(answer.text),  # others count code points of it
        "blocks": answer_tree(answer),
        "status_text": _status_text(answer, texts),
        "lines": texts.lines(answer),
        "turn": turn,
        "at": at,
    }


def short(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The short form of an answer."""
    return {name: answer[name] for name in SHORT}


def _place(plain: list[dict[str, Any]], citations: tuple[Citation, ...], label: PathLabel, texts: AnswerTexts) -> None:
    """Add where each citation stands in words, what its document says of itself, how its quote was found and reads."""
    for view, citation in zip(plain, citations, strict=True):
        heading = citation.heading and f"§ {citation.heading}"
        view |= {
            "file_id": id_of(citation.source, citation.origin, citation.fallback_corpus),
            "label": citation.url if is_url(citation.url) else label(citation.source),
            "where": texts.where(citation) or heading,
            "line": document_line(citation),
            "read": as_read(citation.quote),
            "how": texts.how(citation),
        }


def _status_text(answer: Answer, texts: AnswerTexts) -> str:
    """The status in words, with the reason: "Probably: your files disagree"."""
    if answer.status == "grounded":
        return texts.grounds(answer)
    return ": ".join(filter(None, (texts.lead(answer), answer.reason)))


PASSAGE = {"chunk_id": "", "page": None, "heading": "", "start": 0, "end": 0, "url": "", "title": "", "origin": "files"}
"""What a passage says of itself, and what holds where it does not."""


def passage_view(passage: Document, label: PathLabel = short_path) -> dict[str, Any]:
    """A passage: `score` orders a search, `dense` is the cosine (None: not embedded), `sparse` BM25's share.

    `start` and `end` are code points of its document, `read` is its text without markup.
    """
    known = PASSAGE | {name: value for name, value in passage.metadata.items() if value is not None}
    url, source = known["url"], known.get("source", "")
    return {name: known[name] for name in PASSAGE} | {
        "file_id": id_of(source, known["origin"], known.get("fallback_corpus", "")),
        "label": url if is_url(url) else label(source),
        "text": passage.page_content,
        "read": unmarked(passage.page_content),
        "score": known.get("rank_score"),
        "dense": known.get("score"),
        "sparse": known.get("sparse"),
        "date": local_iso(known.get("date", "")),
    }


def event_view(event: Event, label: PathLabel) -> tuple[str, dict[str, Any]]:
    """The name of an event and its fields: a passage as `passage_view` has it, no state after a node."""
    fields: dict[str, Any]
    if isinstance(event, Retrieved):
        fields = {"query": event.query, "passages": [passage_view(passage, label) for passage in event.documents]}
    elif isinstance(event, Step):
        fields = {"node": event.node, "seconds": event.seconds}
    else:
        fields = to_plain(event)
        fields |= {"why": as_read(event.why)} if isinstance(event, Graded) else {}
    if isinstance(event, Graded) and event.source:
        fields["label"] = event.source if is_url(event.source) else label(event.source)
    return kind(event), fields
