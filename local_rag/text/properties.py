"""What a passage's file says of itself outside of its text, as sentences that an answer may cite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from local_rag.text.answer_texts import TABLES, AnswerTexts

if TYPE_CHECKING:
    from langchain_core.documents import Document


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
