"""What the metadata of a passage says: the passages that it is made of (`parts`), and what its file says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from local_rag.text.answer_texts import TABLES, AnswerTexts

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


class Property(NamedTuple):
    """A property, "Author: Ada Quill", and a sentence that says no more than that."""

    quote: str
    sentence: str


def file_name(document: Document) -> str:
    """The last part of the path or URL of a passage's source."""
    return str(document.metadata.get("source", "")).replace("\\", "/").rstrip("/").rpartition("/")[2]


def author(document: Document, texts: AnswerTexts) -> str:
    """Who the file says has written it, as a sentence; empty where it does not say."""
    return _sentence(texts.names_author, document, "author")


def date(document: Document, texts: AnswerTexts) -> str:
    """The date that the file bears, as a sentence; empty where it bears none."""
    return _sentence(texts.bears_date, document, "date")


def title(document: Document, texts: AnswerTexts) -> str:
    """The document's title, as a sentence; empty where it has none but the name of its file."""
    name, titled = file_name(document), _value(document, "title")
    return "" if titled in (name, name.rpartition(".")[0]) else _sentence(texts.is_titled, document, "title")


def properties(document: Document) -> Iterator[Property]:
    """Author, date and title in sentences of this program, in every language, and in those of an English writer."""
    for key, sentence_of in (("author", author), ("date", date), ("title", title)):
        if value := _value(document, key):
            quote = f"{key.capitalize()}: {value}"
            sentences = (sentence_of(document, texts) for texts in TABLES.values())
            yield from (Property(quote, sentence) for sentence in sentences if sentence)
            for name in filter(None, (_value(document, "title"), file_name(document))):
                yield from (Property(quote, form.format(name=name, value=value)) for form in _FORMS[key])


_FORMS = {
    "author": ("{value} is the author of {name} and wrote it.", "{name} was written by its author {value}."),
    "date": ("{name} is dated {value}.",),
    "title": (),
}
"""How language models put it. A date says nothing of what happened on it."""


def _sentence(text: str, document: Document, key: str) -> str:
    value = _value(document, key)
    return text.format(file=file_name(document), value=value) if value else ""


def _value(document: Document, key: str) -> str:
    return " ".join(str(document.metadata.get(key) or "").split())
