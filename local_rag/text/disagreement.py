"""Find passages of different files that disagree about one fact: different values in similar sentences."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from local_rag.text.answer_values import Value, same, value_of
from local_rag.text.document_questions import question_to_read
from local_rag.text.markup import plain, view_of
from local_rag.text.names import header_of
from local_rag.text.numbers import names, numbers
from local_rag.text.questions import kind_of
from local_rag.text.sentences import Span, sentences
from local_rag.text.words import collapsed, content_stems, fold, stem

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator

LEAST_ANSWERABLE = 0.2
"""The least probability, for both passages, that they hold the answer."""
ASKED = 0.4
"""The least share of the question's content words, without names, that each sentence holds."""
KNOWN = 0.6
"""The least share of the question's content words that each passage holds, in its text or its header."""

_UNDECIDED = re.compile(
    r"\b(?:propos\w+|suggest\w*|idea|formerly|previously|used to|no longer|instead of|originally|one of|co-?\w+er"
    r"|until (?:\w+ )?\d{4})\b",
    re.IGNORECASE,
)
"""Words of a sentence about a proposal, the past, or one of several things."""

_SEVERAL = re.compile(
    r"^(?:and |but |so )?(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|must|may)\b"
    r"|\band (?:who|when|where|what|which|why|how)\b|\bmeans?\b|\bwhat (?:is|was) an?\b"
    r"|\b(?:what|which|whose) \w+ \w+[^s\W]s (?:do|does|did|are|were|have)\b"
)
_STANDING = re.compile(
    r"\b(?:is|was|are|were|does|do|has|have|will|can|must|may|should|costs?|how|when|year|date)\b"
    r"|\b(?:who|which \w+|what) (?:\w+s|wrote|founded|invented|designed|built|created|owned)\b"
)
"""Words of questions about a lasting state, not about an event that may have happened often."""


@dataclass(frozen=True)
class Statement:
    """Hold the answer of one passage and its value. `number` is the passage's position among the passages of the
    question, `quote` the place of the sentence with the answer.
    """

    number: int
    passage: Document
    text: str
    value: Value
    quote: Span

    @property
    def sentence(self) -> str:
        return self.quote.of(self.passage.page_content)

    @cached_property
    def header(self) -> str:
        """The names of the statement's file and document."""
        return header_of(self.passage)

    @cached_property
    def known(self) -> frozenset[str]:
        """The stems of the passage and its header."""
        return _stems(f"{self.header}. {self.passage.page_content}")


Side = list[Statement]
"""Statements of files that agree with each other, the newest file first."""


def disagreeing(question: str, documents: Sequence[Document], evaluator: Evaluator) -> list[list[Statement]]:
    """Return the sides of a disagreement, each with the statements of its files; empty if there is none.

    Only a question for one fact has one answer. Only passages of files are compared, because pages of the web always
    disagree.
    """
    files = {n: document for n, document in enumerate(documents) if document.metadata.get("origin") != "web"}
    if len(set(map(_source, files.values()))) < 2 or not asks_for_one_fact(question):
        return []
    sides: list[list[Statement]] = []
    for statement in _statements(question, files, evaluator):
        side = next((side for side in sides if all(same(statement.value, other.value) for other in side)), None)
        if side is None:
            sides.append(side := [])
        side.append(statement)
    return [
        side for side in sides if any(_disagree(question, *pair) for other in sides for pair in product(side, other))
    ]


def asks_for_one_fact(question: str) -> bool:
    """Return whether a question wants one person, date, number, place or name, so that two different answers cannot
    both be right.

    It wants no list, no explanation, no yes or no, not two things at once, and no event that may have happened often:
    "who is the director", not "who spoke". English only.
    """
    plain = collapsed(fold(question)).strip(" ?!.")
    return kind_of(question) in ("fact", "open") and bool(_STANDING.search(plain)) and not _SEVERAL.search(plain)


def _statements(question: str, files: Mapping[int, Document], evaluator: Evaluator) -> Iterator[Statement]:
    """Yield the likeliest answer of each file, if it has a value; `files` are passages by their numbers."""
    passages = list(files.values())
    readings = zip(evaluator.read(question_to_read(question, passages), passages), files, strict=True)
    likely = [(reading, n) for reading, n in readings if reading.spans and reading.answerable >= LEAST_ANSWERABLE]
    best = {_source(files[n]): (reading, n) for reading, n in sorted(likely, key=lambda pair: pair[0].answerable)}
    for reading, n in best.values():
        text, span = files[n].page_content, reading.spans[0]
        view = view_of(text)
        answer = plain(span.text).strip(" ,;:.()\"'“”`*_")
        start = view.text.find(answer, bisect_left(view.positions, span.start))
        value = value_of(view.text, start, start + len(answer)) if start >= 0 else None
        around = [each for each in sentences(text) if each.start < span.end and span.start < each.end]
        if value and around:
            yield Statement(n, files[n], answer, value, Span(around[0].start, around[-1].end))


def _disagree(question: str, first: Statement, second: Statement) -> bool:
    """Return whether two statements give different values for one thing, in sentences that both address
    the question.
    """
    pair = (first, second)
    if same(first.value, second.value) is not False or not all(_says_what_is_asked(question, each) for each in pair):
        return False
    decided = len({bool(_UNDECIDED.search(each.sentence)) for each in pair}) == 1
    return decided and not _of_different_things(question, first, second)


def _says_what_is_asked(question: str, statement: Statement) -> bool:
    every = set(content_stems(question))
    wanted = every - _marks(question) or every
    held = wanted & set(content_stems(statement.sentence))
    return len(held) >= ASKED * len(wanted) and len(every & statement.known) >= KNOWN * len(every)


def _of_different_things(question: str, first: Statement, second: Statement) -> bool:
    """Return whether two statements are about different things: one lacks a name of the question or is about another
    whole than the question, or each has a word that the other lacks.
    """
    known = _stems(f"{question} {first.text} {second.text}")
    alone = any(_marks(question) - each.known or _of_another(question, each, known) for each in (first, second))
    return alone or bool(_only_in(first, second, known) and _only_in(second, first, known))


def _of_another(question: str, statement: Statement, known: frozenset[str]) -> bool:
    """Return whether the sentence is about the same role in another whole: the captain of another team."""
    of_what = _of_what(statement.sentence)
    return any((of := of_what.get(head)) and not of & known for head in _of_what(question))


def _only_in(mine: Statement, other: Statement, known: frozenset[str]) -> frozenset[str]:
    """Return the names, numbers and complements that only the first of two statements has."""
    words = filter(str.isalpha, _marks(mine.header))
    return _marks(mine.sentence).union(words, *_of_what(mine.sentence).values()) - known - other.known


def _stems(text: str) -> frozenset[str]:
    return _marks(text).union(content_stems(text))


def _marks(text: str) -> frozenset[str]:
    """Return the stems of a text's names, its numbers, and single letters behind a word: b of "Hall B"."""
    letters = re.findall(r"(?<=\w )[B-HJ-Z]\b(?!\.)", text)
    return frozenset({*map(stem, names(text)), *numbers(text), *map(str.lower, letters)})


def _of_what(text: str) -> dict[str, set[str]]:
    """Map each word before "of" or "for" to the stems after it: captain to hockey and team for "captain of the hockey
    team".
    """
    found = re.findall(r"(\w+) (?:of|for) (?:(?:the|a|an|our|their|his|her) )?(\w+(?: \w+)?)", text)
    return {stem(head.lower()): set(content_stems(of)) for head, of in found}


def _source(document: Document) -> str:
    return str(document.metadata.get("source", ""))
