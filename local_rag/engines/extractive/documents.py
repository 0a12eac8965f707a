"""Answer questions about a document itself: its author, date, title or another line of its head.

Answers are quoted if the text states them. A statement that is only a property of the file is made a sentence by
`text.metadata`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from local_rag.engines.extractive.quotes import spoken
from local_rag.text.answer_language import TABLES, texts_in
from local_rag.text.answer_texts import ENGLISH, AnswerTexts
from local_rag.text.document_questions import DocumentQuestion, document_question
from local_rag.text.languages import code_of
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.metadata import STATED, stated
from local_rag.text.names import SIGNED, head
from local_rag.text.words import collapsed, stem, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Shape

HEAD = 4_000
"""The code points at the beginning of a document in which its head is sought."""

NAMED_IN = 300
"""The code points at the beginning of a document without a title that count with its name, such as the date of a
letter.
"""

SCORE = 0.9
"""The probability that such an answer is right: set, not fitted. docs/measurements.md names the data it
was checked on.
"""

_LABELS = {
    "author": "authors?|written by|by|(?:e-?mail )?from|sender|editors?|minutes(?: taken by)?|von"
    "|autor(?:en|in|innen)?|verfasser(?:in)?",
    "title": "(?:full )?title|titel|subject|betreff",
    "updated": "(?:last[- ]|date )?(?:modified|updated|revised|changed)|aktualisiert(?: am)?|stand",
    "published": "published(?: on)?|publication date|(?:release|issue) date|released|posted|issued"
    "|(?:veröffentlicht|erschienen)(?: am)?",
    "date": "(?:date|datum)(?: [a-zäöü]+)?|(?:created|written|dated|sent)(?: on)?|(?:erstellt|verfasst)(?: am)?",
}
"""Labels of the lines of a head, by the property that they state."""
_UPDATED = re.compile(r"\b(?:updat|modif|revis|chang|aktualis|geänd)\w*", re.IGNORECASE)
_PUBLISHED = re.compile(r"\b(?:publi|releas|issue|post|veröff)\w*", re.IGNORECASE)
_BYLINE = re.compile(
    r"^[#*_ \t]*(?P<whole>(?:[Bb]y|[Vv]on|[Ww]ritten by)[ \t]+[^\W\d_a-z][\w.'’-]*(?:[ \t]+[^\W\d_a-z][\w.'’-]*){1,4})"
    r"[*_ \t]*$",
    re.MULTILINE,
)
_VALUE = r"[ \t]*[*_]*[ \t]*(?P<value>\S[^\n]*(?:\n[ \t]+\S[^\n]*)*)"


class DocumentAnswer(NamedTuple):
    """Hold a sentence or a line that answers, without mark, and the passage (from 0) that is cited for it.

    An answer that is `alone` is not a sentence of running text and stands on a line of its own.
    """

    text: str
    passage: int
    alone: bool = False


def of_named(question: str, documents: Sequence[Document]) -> list[int]:
    """Return the passages (from 0) of the documents that a question in one of the known forms names."""
    form = document_question(question)
    return [] if form is None else [n for n, document in enumerate(documents) if _is_named(form, document)]


def document_answers(
    question: str, documents: Sequence[Document], texts: AnswerTexts = ENGLISH
) -> list[DocumentAnswer]:
    """Return the named documents' statements about themselves; empty for other questions, and if there is none."""
    form = document_question(question)
    if form is None or form.asks in ("topic", "content"):
        return []
    named = [(number, document) for number, document in enumerate(documents) if _is_named(form, document)]
    return [found for passages in _by_document(named) for found in _of_document(form, question, passages, texts)]


def marked_answers(question: str, documents: Sequence[Document], shape: Shape, failed: str) -> list[str]:
    """Return the named documents' statements about themselves, with marks, but none that a failed draft held."""
    texts, drafts = texts_in(code_of(shape.language)), spoken(failed)
    answers = document_answers(question, documents, texts)
    new = [answer for answer in answers if spoken(answer.text) not in drafts]
    most = shape.sentences + sum(answer.alone for answer in new)
    return [  # a line of a head has no full stop
        f"{answer.text} [{answer.passage + 1}]{chr(10) if answer.alone and n < len(new[:most]) else ''}"
        for n, answer in enumerate(new[:most], 1)
    ]


def holds_answer(question: str, documents: Sequence[Document], generation: str) -> bool:
    """Return whether a text without marks has one of these answers, in any language of this program."""
    held = spoken(generation)
    answers = (found for texts in TABLES.values() for found in document_answers(question, documents, texts))
    return any(spoken(answer.text) in held for answer in answers)


Passages = Sequence[tuple[int, "Document"]]
"""Passages of one document with their numbers (from 0)."""


def _is_named(form: DocumentQuestion, document: Document) -> bool:
    """Return whether a question names the document of a passage: by the words that the search found,
    else by its head.
    """
    name = {stem(word) for word in words(form.name)}
    if said := str(document.metadata.get("named") or ""):
        of_another = {word for word in words(form.name) if word.isdecimal()} - set(words(head(document)))
        return {stem(word) for word in words(said)} <= name and not of_another
    telling = {stem(word) for word in words(form.name) if word not in STOP_WORDS}
    titled = document.metadata.get("title") != PurePath(str(document.metadata.get("source") or "")).name
    begins = "" if titled or document.metadata.get("start") else document.page_content[:NAMED_IN]
    return bool(telling) and telling <= {stem(word) for word in words(f"{head(document)} {begins}")}


def _by_document(named: Passages) -> list[Passages]:
    """Group the passages by document, in the order of its text, the best ranked document first."""
    of: dict[tuple[str, str], list[tuple[int, Document]]] = {}
    for number, document in named:
        known = document.metadata
        of.setdefault((str(known.get("source", "")), str(known.get("title", ""))), []).append((number, document))
    places = ("page", "start")
    return [
        sorted(passages, key=lambda passage: [int(passage[1].metadata.get(key) or 0) for key in places])
        for passages in of.values()
    ]


def _of_document(
    form: DocumentQuestion, question: str, passages: Passages, texts: AnswerTexts
) -> Iterator[DocumentAnswer]:
    """Yield the line of the head that answers, else the property of the file; a date of change does not stand for
    another date.
    """
    asks = str(form.asks)
    line: DocumentAnswer | None = None
    if asks == "field":
        line = _line(r"[ -]".join(map(re.escape, re.split(r"[ -]", form.field))), passages)
    elif asks == "date" and _UPDATED.search(question):
        asks, line = "updated", _line(_LABELS["updated"], passages)
    else:
        if asks == "date" and _PUBLISHED.search(question):
            line = _line(_LABELS["published"], passages)
        line = line or _line(_LABELS[asks], passages)
        if asks == "author":
            line = line or _found(_BYLINE, passages) or _found(SIGNED, passages)
        elif asks == "title" and (title := collapsed(str(passages[0][1].metadata.get("title") or ""))):
            alone = re.compile(rf"^[#= \t]*(?P<whole>{re.escape(title)})[#= \t]*$", re.MULTILINE)
            line = line or _found(alone, passages)
    if line:
        yield line
    elif asks in STATED and (sentence := stated(asks, passages[0][1], texts)):
        yield DocumentAnswer(sentence, passages[0][0], alone=True)


def _line(labels: str, passages: Passages) -> DocumentAnswer | None:
    """Return the line "Author: …" in the head of a document, with its continuation."""
    line = rf"^[ \t>|*_:.-]*(?P<whole>(?:{labels})[*_]*[ \t]?:{_VALUE})"
    return _found(re.compile(line, re.IGNORECASE | re.MULTILINE), passages)


def _found(pattern: re.Pattern[str], passages: Passages) -> DocumentAnswer | None:
    """Return the group `whole` of a pattern's first match in the head of a document."""
    for number, document in passages:
        room = HEAD - int(document.metadata.get("start") or 0)
        if int(document.metadata.get("page") or 1) > 1 or room <= 0:
            continue
        if match := pattern.search(document.page_content, 0, room):
            return DocumentAnswer(collapsed(match["whole"]).rstrip(" ,;"), number, alone=True)
    return None
