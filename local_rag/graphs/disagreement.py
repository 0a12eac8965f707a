"""Which passages of different files disagree about one fact: other values in sentences that are alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from local_rag.engines.evaluator.verdicts import question_to_read
from local_rag.text.answer_values import Value, asks_for_one_fact, same, value_of
from local_rag.text.metadata import file_name
from local_rag.text.numbers import names, numbers
from local_rag.text.sentences import Span, sentences
from local_rag.text.words import content_stems, stem

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator
    from local_rag.core.readings import Reading

LEAST = 0.2
"""The least probability, of both passages, that they hold the answer."""
ASKED = 0.4
"""The least share of what the question asks for, its content words but for names, that each sentence has."""
KNOWN = 0.6
"""The least share of the question's content words that each passage has, in its text or its header."""
ALIKE = 0.65
"""Share of words from which two passages are versions of one text: what tells them apart is in their names."""

_UNDECIDED = re.compile(
    r"\b(?:propos\w+|suggest\w*|idea|formerly|previously|used to|no longer|instead of|originally|one of|co-?\w+er"
    r"|until (?:\w+ )?\d{4})\b",
    re.IGNORECASE,
)
"""What a sentence says that tells of a proposal, of the past, or of one of several."""


@dataclass(frozen=True)
class Statement:
    """The answer of one passage, and its value. `number` is its place among the passages of the question; `sentence` is
    the one that holds the answer, `quote` where it stands, `header` what its file and document are called.
    """

    number: int
    passage: Document
    text: str
    value: Value
    sentence: str
    quote: Span
    header: str

    @cached_property
    def known(self) -> frozenset[str]:
        """The stems of the passage and its header."""
        return _stems(f"{self.header}. {self.passage.page_content}")


def disagreeing(question: str, documents: Sequence[Document], evaluator: Evaluator) -> list[list[Statement]]:
    """The sides of a disagreement, each with what its files state; empty where there is none.

    Only a question for one fact has one answer. Only passages of files are compared: the web always disagrees.
    """
    files = {_source(document) for document in documents if document.metadata.get("origin") != "web"}
    if len(files) < 2 or not asks_for_one_fact(question):
        return []
    sides: list[list[Statement]] = []
    for statement in _statements(question, documents, evaluator):
        side = next((side for side in sides if all(same(statement.value, other.value) for other in side)), None)
        if side is None:
            sides.append(side := [])
        side.append(statement)
    return [
        side for side in sides if any(_disagree(question, *pair) for other in sides for pair in product(side, other))
    ]


def _statements(question: str, documents: Sequence[Document], evaluator: Evaluator) -> list[Statement]:
    """The likeliest answer of each file, where it has a value, in the order of the documents."""
    read = [pair for pair in enumerate(documents) if pair[1].metadata.get("origin") != "web"]
    passages = [passage for _, passage in read]
    readings = evaluator.read(question_to_read(question, passages), passages)
    best: dict[str, tuple[Reading, int]] = {}
    for reading, (number, passage) in zip(readings, read, strict=True):
        known = best.get(_source(passage))
        if reading.spans and reading.answerable >= max(LEAST, known[0].answerable if known else 0.0):
            best[_source(passage)] = reading, number
    stated = (_statement(number, documents[number], reading) for reading, number in best.values())
    return [statement for statement in stated if statement]


def _statement(number: int, passage: Document, reading: Reading) -> Statement | None:
    text, span, about = passage.page_content, reading.spans[0], passage.metadata
    answer = span.text.strip(" ,;:.()\"'“”")
    start = text.find(answer, span.start)
    value = value_of(text, start, start + len(answer))
    around = [each for each in sentences(text) if each.start < span.end and span.start < each.end]
    if value is None or not around:
        return None
    quote = Span(around[0].start, around[-1].end)
    header = " ".join((file_name(passage).rpartition(".")[0], about.get("title") or "", about.get("heading") or ""))
    return Statement(number, passage, answer, value, quote.of(text), quote, header)


def _disagree(question: str, first: Statement, second: Statement) -> bool:
    """Whether two statements give other values for one thing, in sentences that both say what the question asks."""
    pair = (first, second)
    if same(first.value, second.value) is not False or not all(_says_what_is_asked(question, each) for each in pair):
        return False
    return len({bool(_UNDECIDED.search(each.sentence)) for each in pair}) == 1 and not _of_two_things(question, *pair)


def _says_what_is_asked(question: str, statement: Statement) -> bool:
    every = set(content_stems(question))
    wanted = every - _marks(question) or every
    held = wanted & set(content_stems(statement.sentence))
    return len(held) >= ASKED * len(wanted) and len(every & statement.known) >= KNOWN * len(every)


def _of_two_things(question: str, first: Statement, second: Statement) -> bool:
    """Whether each sentence has a name, number or complement that the other passage and the question lack; of two texts
    of one template also whether each title has, or one lacks a name of the question.
    """
    pair = ((first, second), (second, first))
    known = _stems(f"{question} {first.text} {second.text}")
    asked_of, of_what = _of_what(question), [_of_what(each.sentence) for each in (first, second)]
    if any((of := each.get(head)) and not of & known for each in of_what for head in asked_of):
        return True
    own = [_marks(mine.sentence).union(*of.values()) for of, (mine, _) in zip(of_what, pair, strict=True)]
    if 2 * len(first.known & second.known) >= ALIKE * (len(first.known) + len(second.known)):
        if any(_marks(question) - mine.known for mine, _ in pair):
            return True
        own = [more | set(filter(str.isalpha, _marks(mine.header))) for more, (mine, _) in zip(own, pair, strict=True)]
    return all(marks - known - theirs.known for marks, (_, theirs) in zip(own, pair, strict=True))


def _stems(text: str) -> frozenset[str]:
    return _marks(text).union(content_stems(text))


def _marks(text: str) -> frozenset[str]:
    """The stems of the names of a text, its numbers, and the letters behind a word: b of "Hall B"."""
    letters = re.findall(r"(?<=\w )[B-HJ-Z]\b(?!\.)", text)
    return frozenset({*map(stem, names(text)), *numbers(text), *map(str.lower, letters)})


def _of_what(text: str) -> dict[str, set[str]]:
    """What follows "of" or "for" by what is before it, as stems: of "captain of the hockey team" hockey and team."""
    found = re.findall(r"(\w+) (?:of|for) (?:(?:the|a|an|our|their|his|her) )?(\w+(?: \w+)?)", text)
    return {stem(head.lower()): set(content_stems(of)) for head, of in found}


def _source(document: Document) -> str:
    return str(document.metadata.get("source", ""))
