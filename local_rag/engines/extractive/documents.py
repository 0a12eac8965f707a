"""Answers to questions about a document itself: its author, date, title or another line of its head, and its abstract.

They are quoted where the text says them. What only a property of the file says is a sentence of `text.properties`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from local_rag.engines.extractive.quotes import as_written, quotes
from local_rag.index.names import head
from local_rag.text import properties
from local_rag.text.answer_texts import ENGLISH, TABLES, AnswerTexts, texts_in
from local_rag.text.document_questions import DocumentQuestion, document_question
from local_rag.text.languages import code_of
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.parts import stored
from local_rag.text.words import content_stems, stem, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.generation import Shape

SENTENCES = 3
"""Sentences of an abstract, or of the beginning of a text, that say what it is about."""

HEAD = 4_000
"""Code points from the beginning of a document in which its head is looked for."""

SCORE = 0.9
"""Probability that such an answer is right: set, not fitted. docs/measurements.md says on what it was looked at."""

_AUTHORS = "authors?|written by|by|(?:e-?mail )?from|sender|editors?|autor(?:en|in|innen)?|verfasser(?:in)?|von"
_DATES = {
    "updated": "(?:last[- ]|date )?(?:modified|updated|revised|changed)|aktualisiert(?: am)?|stand",
    "published": "published(?: on)?|publication date|(?:release|issue) date|released|posted|issued"
    "|(?:veröffentlicht|erschienen)(?: am)?",
    "any": "(?:date|datum)(?: [a-zäöü]+)?|(?:created|written|dated|sent)(?: on)?|(?:erstellt|verfasst)(?: am)?",
}
_UPDATED = re.compile(r"\b(?:updat|modif|revis|chang|aktualis|geänd)\w*", re.IGNORECASE)
_PUBLISHED = re.compile(r"\b(?:publi|releas|issue|post|veröff)\w*", re.IGNORECASE)
_TITLES = "(?:full )?title|titel|subject|betreff"
_BYLINE = re.compile(
    r"^[#*_ \t]*(?P<whole>(?:[Bb]y|[Vv]on|[Ww]ritten by)[ \t]+[^\W\d_a-z][\w.'’-]*(?:[ \t]+[^\W\d_a-z][\w.'’-]*){1,4})"
    r"[*_ \t]*$",
    re.MULTILINE,
)
_VALUE = r"[ \t]*[*_]*[ \t]*(?P<value>\S[^\n]*(?:\n[ \t]+\S[^\n]*)*)"
_ABSTRACT = re.compile(
    r"^(?:#{1,6}[ \t]+)?(?:[\d.]+[ \t]+)?(?:abstract|(?:executive )?summary|(?:kurz)?zusammenfassung|kurzfassung"
    r"|overview|introduction|überblick|einleitung|einführung)[ \t]*:?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_NO_PROSE = re.compile(r"\s*(?::?[\w-]+(?: [\w-]+){0,2}:(?:\s|$)|\.\. |\*\*\*)")
"""Lines of a head, directives of reStructuredText, and rules."""


class DocumentAnswer(NamedTuple):
    """A sentence or a line that answers, without mark, and the passage (from 0) that it is cited from.

    What is `alone` is no sentence of the text, and stands on a line of its own.
    """

    text: str
    passage: int
    alone: bool = False


def of_named(question: str, documents: Sequence[Document]) -> list[int]:
    """The passages (from 0) of the documents that a question in one of the known forms names."""
    form = document_question(question)
    return [] if form is None else [n for n, document in enumerate(documents) if _is_named(form, document)]


def document_answers(
    question: str, documents: Sequence[Document], texts: AnswerTexts = ENGLISH
) -> list[DocumentAnswer]:
    """What the named documents say of themselves; empty for any other question, or where none of them says it."""
    form = document_question(question)
    if form is None or form.asks == "topic":
        return []
    named = [(number, document) for number, document in enumerate(documents) if _is_named(form, document)]
    answer = _ANSWERS[form.asks]
    return [found for passages in _by_document(named) for found in answer(form, question, passages, texts)]


def marked_answers(
    question: str, documents: Sequence[Document], shape: Shape, failed: str, *, on_topic: bool = False
) -> list[str]:
    """What the documents that a question names say of themselves, or on its topic, with marks.

    Nothing that a failed draft held.
    """
    texts, drafts = texts_in(code_of(shape.language)), _folded(failed)
    passages = [(part, number) for number, document in enumerate(documents, 1) for part in stored(document)]
    plain = [passage for passage, _ in passages]
    answers = [
        answer
        for answer in (sentences_on_topic(question, plain) if on_topic else document_answers(question, plain, texts))
        if _folded(answer.text) not in drafts
    ]
    most = shape.sentences + sum(answer.alone for answer in answers)
    marked = [
        f"{answer.text} [{passages[answer.passage][1]}]{answer.alone * chr(10)}"  # a line of a head has no full stop
        for answer in answers[:most]
    ]
    return [*marked[:-1], *(text.rstrip() for text in marked[-1:])]


def holds_answer(question: str, documents: Sequence[Document], generation: str) -> bool:
    """Whether a text without marks has one of these answers, in any language of this program, or is on the topic."""
    held = _folded(generation)
    answers = [found for texts in TABLES.values() for found in document_answers(question, documents, texts)]
    return any(_folded(answer.text) in held for answer in answers or sentences_on_topic(question, documents))


def _folded(text: str) -> str:
    return f" {' '.join(words(text))} "


Passages = Sequence[tuple[int, "Document"]]
"""Passages of one document with their numbers (from 0)."""


def _is_named(form: DocumentQuestion, document: Document) -> bool:
    """Whether a passage is of what a question names: by the words that the search found in it, else by its head."""
    name = {stem(word) for word in words(form.name)}
    if said := str(document.metadata.get("named") or ""):
        return {stem(word) for word in words(said)} <= name
    telling = {stem(word) for word in words(form.name) if word not in STOP_WORDS}
    return bool(telling) and telling <= {stem(word) for word in words(head(document))}


def _by_document(named: Passages) -> Iterator[Passages]:
    """The passages of each document in the order of its text, the best ranked document first."""

    def document_of(numbered: tuple[int, Document]) -> tuple[str, str]:
        metadata = numbered[1].metadata
        return str(metadata.get("source", "")), str(metadata.get("title", ""))

    def place(numbered: tuple[int, Document]) -> tuple[int, int]:
        metadata = numbered[1].metadata
        return int(metadata.get("page") or 0), int(metadata.get("start") or 0)

    rank: dict[tuple[str, str], int] = {}
    for numbered in named:
        rank.setdefault(document_of(numbered), len(rank))
    ordered = sorted(named, key=lambda numbered: (rank[document_of(numbered)], place(numbered)))
    for _, group in groupby(ordered, key=document_of):
        yield list(group)


def sentences_on_topic(question: str, documents: Sequence[Document]) -> list[DocumentAnswer]:
    """Where a question is for what a document says of something: its sentences that hold all words for that."""
    form = document_question(question)
    wanted = set(content_stems(form.topic)) if form is not None else set()
    if form is None or not wanted:
        return []
    named = [(number, document) for number, document in enumerate(documents) if _is_named(form, document)]
    every = quotes([document for _, document in named])
    return [
        DocumentAnswer(as_written(quote, wanted), named[quote.document][0])
        for quote in every
        if wanted <= set(content_stems(quote.text))
    ]


def _author(form: DocumentQuestion, question: str, passages: Passages, texts: AnswerTexts) -> list[DocumentAnswer]:
    """The line "Author: …" or "by …", else the property."""
    line = _line(_AUTHORS, passages) or _found(_BYLINE, passages)
    return _or_property(line, passages, properties.author, texts)


def _title(form: DocumentQuestion, question: str, passages: Passages, texts: AnswerTexts) -> list[DocumentAnswer]:
    """The line "Title: …", or that with the title alone, else the property."""
    title = " ".join(str(passages[0][1].metadata.get("title") or "").split())
    alone = re.compile(rf"^[#= \t]*(?P<whole>{re.escape(title)})[#= \t]*$", re.MULTILINE)
    line = _line(_TITLES, passages) or (_found(alone, passages) if title else None)
    return _or_property(line, passages, properties.title, texts)


def _field(form: DocumentQuestion, question: str, passages: Passages, texts: AnswerTexts) -> list[DocumentAnswer]:
    line = _line(r"[ -]".join(map(re.escape, re.split(r"[ -]", form.field))), passages)
    return [line] if line else []


def _date(form: DocumentQuestion, question: str, passages: Passages, texts: AnswerTexts) -> list[DocumentAnswer]:
    """The line for what happened, else one for any date, with its name; a change is no other date."""
    if _UPDATED.search(question):
        line = _line(_DATES["updated"], passages)
        return [line] if line else []
    if _PUBLISHED.search(question) and (line := _line(_DATES["published"], passages)):
        return [line]
    return _or_property(_line(_DATES["any"], passages), passages, properties.date, texts)


def _content(form: DocumentQuestion, question: str, passages: Passages, texts: AnswerTexts) -> Iterable[DocumentAnswer]:
    """The title, then the first sentences of the abstract or, where there is none, of the text."""
    yield from _title(form, question, passages, texts)
    yield from _abstract(passages)


_ANSWERS: dict[str, Callable[[DocumentQuestion, str, Passages, AnswerTexts], Iterable[DocumentAnswer]]] = {
    "author": _author,
    "title": _title,
    "field": _field,
    "date": _date,
    "content": _content,
}


def _or_property(
    line: DocumentAnswer | None,
    passages: Passages,
    property_of: Callable[[Document, AnswerTexts], str],
    texts: AnswerTexts,
) -> list[DocumentAnswer]:
    if line:
        return [line]
    number, document = passages[0]
    sentence = property_of(document, texts)
    return [DocumentAnswer(sentence, number, alone=True)] if sentence else []


def _line(labels: str, passages: Passages) -> DocumentAnswer | None:
    """The line "Author: …" in the head of a document, with its continuation."""
    line = rf"^[ \t>|*_:.-]*(?P<whole>(?:{labels})[*_]*[ \t]?:{_VALUE})"
    return _found(re.compile(line, re.IGNORECASE | re.MULTILINE), passages)


def _found(pattern: re.Pattern[str], passages: Passages) -> DocumentAnswer | None:
    """What a pattern finds as its group `whole` in the head of a document."""
    for number, document in passages:
        room = HEAD - int(document.metadata.get("start") or 0)
        if int(document.metadata.get("page") or 1) > 1 or room <= 0:
            continue
        if match := pattern.search(document.page_content, 0, room):
            return DocumentAnswer(" ".join(match["whole"].split()).rstrip(" ,;"), number, alone=True)
    return None


def _abstract(passages: Passages) -> list[DocumentAnswer]:
    """The first sentences below the heading of an abstract, else the first of the text."""
    plain = [document for _, document in passages]
    begins = [_begin_of_abstract(document) for document in plain]
    first = next((place for place, begin in enumerate(begins) if begin is not None), 0)
    answers = []
    for quote in quotes(plain[first:]):
        place = first + quote.document
        before = begins[place] if place == first else 0
        if quote.span.start >= (before or 0) and not _NO_PROSE.match(quote.text):
            answers.append(DocumentAnswer(as_written(quote, set()), passages[place][0]))
        if len(answers) == SENTENCES:
            break
    return answers


def _begin_of_abstract(document: Document) -> int | None:
    """Where the abstract begins in a passage; None where there is none."""
    heading = str(document.metadata.get("heading") or "").rpartition(" > ")[2]
    match = _ABSTRACT.search(document.page_content)
    return match.end() if match else 0 if _ABSTRACT.match(heading) else None
