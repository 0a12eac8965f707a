"""The passages of an index that a wider passage is made of, as its metadata names them (`parts`)."""

from __future__ import annotations

from collections.abc import Sequence
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


def heading_at(document: Document, start: int, end: int | None = None) -> str:
    """The heading above code points [start, end) of the document that the passage is of, or above the point `start`.

    Where both ends are in places of their own, such as rows of a sheet, "Costs > row 4 to row 6".
    """
    sections = document.metadata.get("sections") or [(part.start, part.heading) for part in parts(document)]
    if not sections:
        return str(document.metadata.get("heading", ""))
    first = _in_force(sections, start)
    last = _in_force(sections, start if end is None else max(start, end - 1))
    before, _, place = last.rpartition(" > ")
    return f"{first} to {place}" if first != last and before == first.rpartition(" > ")[0] else first


def _in_force(sections: Sequence[tuple[int, str]], position: int) -> str:
    before = [path for start, path in sections if start <= position]
    return str(before[-1] if before else sections[0][1])


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
    """The beginning of a passage's `chunk_id` as people see it."""
    return str(chunk_id)[:6]
