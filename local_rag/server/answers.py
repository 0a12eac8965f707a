"""Build the JSON that clients get for answers, passages and events: the fields of the core and those the page needs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.core.answer import Answer, Citation
from local_rag.core.events import Event, Retrieved, Step
from local_rag.core.serialization import to_plain
from local_rag.core.verdicts import Graded
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.recording import kind
from local_rag.text.answer_language import texts_in
from local_rag.text.blocks import Block, Disagreement, Nearest, Quotes, Source, blocks, source_of
from local_rag.text.blocks import Note as NoteBlock
from local_rag.text.display import home_path, is_url, local_iso
from local_rag.text.marks import claims, marks, without_bullet
from local_rag.text.markup import as_read, unmarked
from local_rag.text.nodes import Node, same_length
from local_rag.text.rendering import rendered
from local_rag.text.words import WORD, content_stems, fold, stem

if TYPE_CHECKING:
    from langchain_core.documents import Document

SHORT = (
    *("question", "text", "short", "status", "status_text", "certainty", "citations", "nearest", "conflicts"),
    *("thread", "turn", "run", "seconds"),
)
"""The fields of an answer that are sent without `detail`."""


def file_id(path: str) -> str:
    """Return the ID by which a client names a file: the first 20 hex digits of the SHA-256 of its path.

    A client never sends a path.
    """
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def id_of(source: str, origin: str, fallback_corpus: str = "") -> str:
    """Return the ID of an indexed file, or "" for any other source."""
    return file_id(source) if origin == "files" and source and not fallback_corpus else ""


def file_id_of(citation: Citation) -> str:
    """Return the ID of the file that a citation quotes, or "" if it quotes no file."""
    return id_of(citation.source, citation.origin, citation.fallback_corpus)


def answer_view(answer: Answer, label: PathLabel = home_path, *, turn: int = 0, at: str = "") -> dict[str, Any]:
    """Return an answer with its blocks; each quote has its place in words and the ID of its file.

    `label` names files, `at` is when the answer was given (ISO 8601), and `turn` is its number in its thread, or 0
    without a thread.
    """
    shown = blocks(answer, label)
    status = next(block for block in shown if isinstance(block, NoteBlock) and block.name == "status")
    view: dict[str, Any] = to_plain(answer)
    for graded in view["decisions"]:
        graded["why"] = as_read(graded["why"])
    block_views = [block_view(block) for block in shown]
    _name_quotes(block_views, answer)
    whys, stems = {graded.why for graded in answer.decisions}, content_stems(answer.asked or answer.question)
    nearest = [each for block in block_views if block["kind"] == "nearest" for each in block["sources"]]
    for source in nearest:
        source["why"] = source["why"] if source["why"] in whys else ""
        source["segments"] = cut(source["read"], stems)
    texts = texts_in(answer.language)

    def views(citations: Iterable[Citation]) -> list[dict[str, Any]]:
        return [source_view(source_of(each, texts, label)) for each in citations]

    for conflict, plain in zip(answer.conflicts, view["conflicts"], strict=True):
        for position, side in zip(conflict.positions, plain["positions"], strict=True):
            side["citations"] = views(position.citations)
    return view | {
        "text": same_length(answer.text),  # others count code points of it
        "blocks": block_views,
        "status_text": status.line,
        "turn": turn,
        "at": at,
        "citations": views(answer.citations),
        "nearest": nearest,
    }


def _name_quotes(block_views: Iterable[Mapping[str, Any]], answer: Answer) -> None:
    """Add to each mark of the text the position of its quote in the citations, as a passage may have several quotes."""
    places: dict[tuple[int, str], int] = {}
    for place, citation in enumerate(answer.citations):
        places.setdefault((citation.number, citation.sentence), place)
        places.setdefault((citation.number, ""), place)
    quotes: dict[int, list[int | None]] = {}
    for claim in claims(answer.text):
        for number in (number for _, cited in marks(claim.span.of(answer.text)) for number in cited):
            quote = places.get((number, without_bullet(claim.text)), places.get((number, "")))
            quotes.setdefault(number, []).append(quote)
    for node in _nodes_of(node for block in block_views for node in block.get("nodes", ())):
        if node["t"] == "cite":
            left = quotes.get(node["n"])
            node["quote"] = left.pop(0) if left else places.get((node["n"], ""))


def _nodes_of(nodes: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield node
        yield from _nodes_of(node.get("c", ()))


def cut(text: str, stems: Collection[str]) -> list[dict[str, Any]]:
    """Cut a text into segments, and mark those that are words with these stems."""
    segments, last = list[dict[str, Any]](), 0
    for start, end in spans_of(text, stems):
        segments += ({"text": text[last:start], "mark": False}, {"text": text[start:end], "mark": True})
        last = end
    return [segment for segment in (*segments, {"text": text[last:], "mark": False}) if segment["text"]]


def spans_of(text: str, stems: Collection[str]) -> list[tuple[int, int]]:
    """Return the spans of the words with these stems."""
    return [word.span() for word in WORD.finditer(text) if stem(fold(word.group())) in stems]


def block_view(block: Block) -> dict[str, Any]:
    """Return a block as plain values, its sources in the form of `source_view`."""
    view: dict[str, Any] = to_plain(block)
    if isinstance(block, Quotes | Nearest):
        view["sources"] = [*map(source_view, block.sources)]
    elif isinstance(block, Disagreement):
        view["sides"] = [to_plain(side) | {"sources": [*map(source_view, side.sources)]} for side in block.sides]
    return view


def source_view(source: Source) -> dict[str, Any]:
    """Return the fields of a citation together with those that say how it is shown."""
    shown: dict[str, Any] = to_plain(source)
    shown |= {"file_id": file_id_of(source.citation), "place": source.place}
    return shown.pop("citation") | shown  # type: ignore[no-any-return]


def short(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the short form of an answer."""
    return {name: answer[name] for name in SHORT}


TABLES = (".csv", ".tsv", ".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
"""Suffixes of files of rows."""


def is_table(source: str) -> bool:
    """Return whether a file holds rows."""
    return source.lower().endswith(TABLES)


def table(text: str, spans: Sequence[tuple[int, int]]) -> Sequence[Node]:
    """Return rows below their header as a tree in which these spans are marked."""
    return rendered(text, TABLES[0], (), 0, len(text), spans).nodes


PASSAGE = {"chunk_id": "", "page": None, "heading": "", "start": 0, "end": 0, "url": "", "title": "", "origin": "files"}
"""The fields of a passage's metadata that are sent, with their defaults."""


def passage_view(passage: Document, label: PathLabel = home_path, stems: Collection[str] = ()) -> dict[str, Any]:
    """Return a passage: `score` orders a search, `dense` is the cosine (None: not embedded), `sparse` BM25's share.

    `start` and `end` are code points of its document, and `read` is its text without markup. A passage of a table also
    has `rows`, a tree in which the words with the stems are marked.
    """
    known = PASSAGE | {name: value for name, value in passage.metadata.items() if value is not None}
    url, source = known["url"], known.get("source", "")
    return {name: known[name] for name in PASSAGE} | {
        "file_id": id_of(source, known["origin"], known.get("fallback_corpus", "")),
        "label": url if is_url(url) else label(source),
        "text": passage.page_content,
        "read": unmarked(passage.page_content),
        "rows": table(passage.page_content, spans_of(passage.page_content, stems)) if is_table(source) else [],
        "score": known.get("rank_score"),
        "dense": known.get("score"),
        "sparse": known.get("sparse"),
        "date": local_iso(known.get("date", "")),
    }


def event_view(event: Event, label: PathLabel) -> tuple[str, dict[str, Any]]:
    """Return the name and fields of an event: passages as of `passage_view`, and of a step no state of the graph."""
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
