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


def chunk_id(document: Document) -> str:
    """The id of a stored passage, or of the best one in a wider passage; empty where it has none."""
    return str(document.metadata.get("chunk_id", ""))


def chunk_ids(document: Document) -> list[str]:
    """The ids of all stored passages that its text is of."""
    return [part.chunk_id for part in parts(document)] or [chunk_id(document)]


def heading_at(document: Document, position: int) -> str:
    """The heading above a place, which is a code point of the document that the passage is of."""
    before = [part.heading for part in parts(document) if part.start <= position]
    return before[-1] if before else str(document.metadata.get("heading", ""))


def stored(document: Document) -> list[Document]:
    """The stored passages that a wider one is made of, each with its own place; the passage itself if it is none, and
    if text was taken out of it (`pieces`).
    """
    if document.metadata.get("pieces"):
        return [document]
    offset = int(document.metadata.get("start", 0))
    return [
        document.model_copy(
            update={
                "page_content": document.page_content[part.start - offset : part.end - offset],
                "metadata": {key: value for key, value in document.metadata.items() if key != "parts"} | part._asdict(),
            }
        )
        for part in parts(document)
    ] or [document]


def short_id(chunk_id: object) -> str:
    """The beginning of a passage's `chunk_id` as people see it, without the name of its index."""
    return str(chunk_id).rpartition(":")[2][:6]
