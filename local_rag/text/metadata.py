"""Read the metadata of a passage: its id, the headings in it, and the properties of its file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from local_rag.text.answer_language import TABLES
from local_rag.text.answer_texts import AnswerTexts

if TYPE_CHECKING:
    from langchain_core.documents import Document


def chunk_id(document: Document) -> str:
    """Return the id of a stored passage; empty if it has none."""
    return str(document.metadata.get("chunk_id", ""))


def is_computed(document: Document) -> bool:
    """Return whether a passage was computed from rows of a table and is not text of its file."""
    return bool(document.metadata.get("computed"))


def is_certain(document: Document) -> bool:
    """Return whether a passage is text of its file, or computed by rules alone and without a doubt."""
    about = document.metadata
    return not is_computed(document) or not (about.get("doubt") or about.get("by_model"))


def heading_at(document: Document, start: int, end: int | None = None) -> str:
    """Return the heading above code points [start, end) of the passage's document, or above `start`.

    If both ends lie in parts with headings of their own below the same parent, such as rows of a sheet, return "Costs >
    row 4 to row 6".
    """
    sections = document.metadata.get("sections")
    if not sections:
        return str(document.metadata.get("heading", ""))
    first = _in_force(sections, start)
    last = _in_force(sections, start if end is None else max(start, end - 1))
    before, _, place = last.rpartition(" > ")
    return f"{first} to {place}" if first != last and before == first.rpartition(" > ")[0] else first


def last_heading(document: Document) -> str:
    """Return the innermost heading at the start of a passage."""
    return str(document.metadata.get("heading") or "").rpartition(" > ")[2]


def ocr_confidence(document: Document, start: int, end: int) -> float | None:
    """Return the confidence of OCR in the least certain line within code points [start, end); None if no line there was
    read by OCR.
    """
    lines = document.metadata.get("ocr", ())
    return min((sure for first, last, sure in lines if first < end and last > start), default=None)


def _in_force(sections: Sequence[tuple[int, str]], position: int) -> str:
    index = bisect_right(sections, position, key=lambda section: section[0]) - 1
    return str(sections[index][1]) if index >= 0 else ""


def short_id(chunk_id: object) -> str:
    """Return the beginning of a passage's `chunk_id`, as people see it."""
    return str(chunk_id)[:6]


class Property(NamedTuple):
    """Hold a property, "Author: Ada Quill", and a sentence that says only that."""

    quote: str
    sentence: str


def file_name(document: Document) -> str:
    """Return the last part of the path or URL of a passage's source."""
    return str(document.metadata.get("source", "")).replace("\\", "/").rstrip("/").rpartition("/")[2]


STATED = ("author", "date", "title")
"""The properties of a file that are made sentences."""


def stated(key: str, document: Document, texts: AnswerTexts) -> str:
    """Return a property of STATED as a sentence; empty if the file lacks it, or for a title that is only the name of
    the file.
    """
    name, value = file_name(document), _value(document, key)
    if not value or (key == "title" and value in (name, name.rpartition(".")[0])):
        return ""
    return texts.properties[key].format(file=name, value=value)


def properties(document: Document) -> Iterator[Property]:
    """Yield author, date and title in sentences of this program, in every language, and in common English forms."""
    names = [name for name in (_value(document, "title"), file_name(document)) if name]
    for key in STATED:
        value = _value(document, key)
        forms = [stated(key, document, texts) for texts in TABLES.values()]
        forms += [form.format(name=name, value=value) for form in _FORMS[key] for name in names if value]
        yield from (Property(f"{key.capitalize()}: {value}", sentence) for sentence in forms if sentence)


_FORMS = {
    "author": ("{value} is the author of {name} and wrote it.", "{name} was written by its author {value}."),
    "date": ("{name} is dated {value}.",),
    "title": (),
}
"""Forms in which language models state a property. A date says nothing about an event on that day."""


def _value(document: Document, key: str) -> str:
    return " ".join(str(document.metadata.get(key) or "").split())
