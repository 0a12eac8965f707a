"""The passages of an index that a wider passage is made of, as its metadata names them (`parts`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from langchain_core.documents import Document


class Part(NamedTuple):
    """A stored passage within a wider one: code points [start, end) of their document, and the heading it has."""

    chunk_id: str
    start: int
    end: int
    heading: str


def parts(document: Document) -> list[Part]:
    """Those of a wider passage in the order of its text; empty for a passage as it is stored."""
    return [Part(*part) for part in document.metadata.get("parts") or ()]


def chunk_ids(document: Document) -> list[str]:
    """The ids of all stored passages that its text is of."""
    return [part.chunk_id for part in parts(document)] or [str(document.metadata.get("chunk_id", ""))]


def heading_at(document: Document, position: int) -> str:
    """The heading above a place, which is a code point of the document that the passage is of."""
    before = [part.heading for part in parts(document) if part.start <= position]
    return before[-1] if before else str(document.metadata.get("heading", ""))


def as_retrieved(document: Document) -> str:
    """The text of the stored passage that was retrieved; that of the whole where it was not widened."""
    own = next((part for part in parts(document) if part.chunk_id == document.metadata["chunk_id"]), None)
    offset = int(document.metadata.get("start", 0))
    return document.page_content[own.start - offset : own.end - offset] if own else document.page_content
