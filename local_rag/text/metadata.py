"""What the metadata of a passage says: its id, the headings in it, and what its file says of itself."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from local_rag.text.answer_texts import TABLES, AnswerTexts

if TYPE_CHECKING:
    from langchain_core.documents import Document


def chunk_id(document: Document) -> str:
    """The id of a stored passage; empty where it has none."""
    return str(document.metadata.get("chunk_id", ""))


def is_computed(document: Document) -> bool:
    """Whether a passage is no text of its file but was computed from rows of a table."""
    return bool(document.metadata.get("computed"))


def heading_at(document: Document, start: int, end: int | None = None) -> str:
    """The heading above code points [start, end) of the document that the passage is of, or above the point `start`.

    Where both ends are in places of their own, such as rows of a sheet, "Costs > row 4 to row 6".
    """
    sections = document.metadata.get("sections")
    if not sections:
        return str(document.metadata.get("heading", ""))
    first = _in_force(sections, start)
    last = _in_force(sections, start if end is None else max(start, end - 1))
    before, _, place = last.rpartition(" > ")
    return f"{first} to {place}" if first != last and before == first.rpartition(" > ")[0] else first


def ocr_confidence(document: Document, start: int, end: int) -> float | None:
    """How sure OCR was of the least certain line in code points [start, end); None where the text is the file's own."""
    lines = document.metadata.get("ocr", ())
    return min((sure for first, last, sure in lines if first < end and last > start), default=None)


def _in_force(sections: Sequence[tuple[int, str]], position: int) -> str:
    index = bisect_right(sections, position, key=lambda section: section[0]) - 1
    return str(sections[index][1]) if index >= 0 else ""


def short_id(chunk_id: object) -> str:
    """The beginning of a passage's `chunk_id` as people see it."""
    return str(chunk_id)[:6]


class Property(NamedTuple):
    """A property, "Author: Ada Quill", and a sentence that says no more than that."""

    quote: str
    sentence: str


def file_name(document: Document) -> str:
    """The last part of the path or URL of a passage's source."""
    return str(document.metadata.get("source", "")).replace("\\", "/").rstrip("/").rpartition("/")[2]


def _stated(key: str, document: Document, texts: AnswerTexts) -> str:
    """A property as a sentence; empty where the file does not say it, and for a title that is the name of its file."""
    name, value = file_name(document), _value(document, key)
    if not value or (key == "title" and value in (name, name.rpartition(".")[0])):
        return ""
    return texts.properties[key].format(file=name, value=value)


author, date, title = (partial(_stated, key) for key in ("author", "date", "title"))


def properties(document: Document) -> Iterator[Property]:
    """Author, date and title in sentences of this program, in every language, and in those of an English writer."""
    names = [name for name in (_value(document, "title"), file_name(document)) if name]
    for key in ("author", "date", "title"):
        value = _value(document, key)
        forms = [_stated(key, document, texts) for texts in TABLES.values()]
        forms += [form.format(name=name, value=value) for form in _FORMS[key] for name in names if value]
        yield from (Property(f"{key.capitalize()}: {value}", sentence) for sentence in forms if sentence)


_FORMS = {
    "author": ("{value} is the author of {name} and wrote it.", "{name} was written by its author {value}."),
    "date": ("{name} is dated {value}.",),
    "title": (),
}
"""How language models put it. A date says nothing of what happened on it."""


def _value(document: Document, key: str) -> str:
    return " ".join(str(document.metadata.get(key) or "").split())
