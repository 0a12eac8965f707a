"""Which passages of different files disagree about one fact, by what the evaluator reads in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import combinations
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

from local_rag.core.readings import log_odds, probability
from local_rag.core.serialization import from_plain
from local_rag.engines.evaluator.verdicts import question_to_read
from local_rag.graphs.statements import Statement, about_two_things, asked_for, covered, holds_answer, of_other_names
from local_rag.text.answer_values import compared, short_answer
from local_rag.text.fact_questions import asks_for_one_fact, asks_for_what_stands
from local_rag.text.parts import parts, stored
from local_rag.text.sentences import Span, sentences

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator
    from local_rag.core.readings import Reading, ReadSpan


LEAST = 0.05
"""The least probability of an answer that is compared at all."""
_LEAST_ODDS = -3.0
"""Log odds below which it does not matter how much less likely an answer is."""


class Evidence(NamedTuple):
    """What speaks for a disagreement of two statements; each number is the larger, the likelier they disagree.

    `answerable`: log odds that both passages hold the answer, of the less likely one. `covered`, `asked`: the least
    share of the question's words in a passage with its header, and in a sentence. 1 or 0: `same_names`, the sentences
    name nothing that only one of the passages has; `lasting`, the question asks for what is so, not for what happened;
    `value`, the answers are dates, amounts or names; `own`, neither passage has the answer of the other.

    Whether a passage supports the answer of the other one is not asked: that tells disagreements from harmless
    differences no better than chance (docs/measurements.md).
    """

    answerable: float
    covered: float
    asked: float
    same_names: float
    lasting: float
    value: float
    own: float


class Weights(NamedTuple):
    """A logistic regression on `Evidence`, and the probability from which on two files are said to disagree.

    They were fitted to pairs that others wrote and to templates.
    """

    bias: float
    weights: Evidence
    least: float

    def probability(self, evidence: Evidence) -> float:
        """The probability in [0, 1] that statements with this evidence disagree."""
        return probability(self.bias + sum(map(mul, self.weights, evidence)))


@cache
def fitted() -> Weights:
    """The weights that are shipped."""
    shipped = json.loads((files(__package__) / "disagreement.json").read_text("utf-8"))
    return Weights(shipped["bias"], from_plain(Evidence, shipped["weights"]), shipped["least"])


def disagreeing(
    question: str, documents: Sequence[Document], evaluator: Evaluator, weights: Weights | None = None
) -> list[list[Statement]]:
    """The sides of a disagreement, each with what its files state; empty where there is none.

    Only a question for one fact has one answer. Only passages of files are compared: the web always disagrees.
    """
    weights = weights or fitted()
    if not asks_for_one_fact(question) or len({_source(document) for document in documents if _is_file(document)}) < 2:
        return []
    stated = statements(question, documents, evaluator)
    opposed = [
        (first, second)
        for first, second in combinations(stated, 2)
        if (evidence := evidence_of(question, first, second)) and weights.probability(evidence) >= weights.least
    ]
    return _sides(question, stated, opposed) if opposed else []


def statements(question: str, documents: Sequence[Document], evaluator: Evaluator) -> list[Statement]:
    """The likeliest answer of each file that may hold one, in the order of the documents."""
    passages = [
        (number, passage)
        for number, document in enumerate(documents)
        if _is_file(document)
        for passage in stored(document)
    ]
    read = [passage for _, passage in passages]
    readings = evaluator.read(question_to_read(question, read), read)
    best: dict[str, tuple[Reading, int, Document]] = {}
    for reading, (number, passage) in zip(readings, passages, strict=True):
        if reading.spans and reading.answerable >= LEAST:
            known = best.get(_source(passage))
            if known is None or reading.answerable > known[0].answerable:
                best[_source(passage)] = reading, number, passage
    return [_statement(number, documents[number], passage, reading) for reading, number, passage in best.values()]


def evidence_of(question: str, first: Statement, second: Statement) -> Evidence | None:
    """The evidence for a disagreement; None where the answers agree, cannot be compared, or are about two things."""
    comparison = compared(question, first.answer, second.answer)
    if comparison.same is not False or about_two_things(question, first, second):
        return None
    pair = (first, second)
    return Evidence(
        answerable=max(_LEAST_ODDS, min(log_odds(statement.answerable) for statement in pair)),
        covered=min(covered(question, statement) for statement in pair),
        asked=min(asked_for(question, statement) for statement in pair),
        same_names=float(not of_other_names(question, first, second)),
        lasting=float(asks_for_what_stands(question)),
        value=float(comparison.kind != "words"),
        own=float(not (holds_answer(first.answer, second.text) or holds_answer(second.answer, first.text))),
    )


def _sides(
    question: str, stated: Sequence[Statement], opposed: Sequence[tuple[Statement, Statement]]
) -> list[list[Statement]]:
    """The statements that take part, those that agree with each other together, and those that agree with one side."""

    def stands_with(statement: Statement, side: Sequence[Statement]) -> bool:
        return all(
            _agree(question, statement, other)
            and (statement, other) not in opposed
            and (other, statement) not in opposed
            for other in side
        )

    sides: list[list[Statement]] = []
    opposing = [statement for statement in stated if any(statement in pair for pair in opposed)]
    for statement in opposing:
        if side := next((side for side in sides if stands_with(statement, side)), None):
            side.append(statement)
        else:
            sides.append([statement])
    for statement in stated:
        agreeing = [side for side in sides if stands_with(statement, side)]
        if statement not in opposing and len(agreeing) == 1:
            agreeing[0].append(statement)
    return sides


def _agree(question: str, first: Statement, second: Statement) -> bool:
    return compared(question, first.answer, second.answer).same is True


def _statement(number: int, document: Document, passage: Document, reading: Reading) -> Statement:
    text, span = passage.page_content, _trimmed(passage.page_content, reading.spans[0])
    around = [sentence for sentence in sentences(text) if sentence.start < span.end and span.start < sentence.end]
    start = min((sentence.start for sentence in around), default=span.start)
    end = max((sentence.end for sentence in around), default=span.end)
    metadata = passage.metadata
    shift = int(metadata.get("start") or 0) - int(document.metadata.get("start") or 0) if parts(document) else 0
    header = " ".join(_header_parts(metadata))
    answer = short_answer(text, span.start, span.end)
    return Statement(
        number, passage, _source(passage), answer, span, Span(start, end), reading.answerable, header, shift
    )


def _header_parts(metadata: Mapping[str, Any]) -> Iterator[str]:
    """The name of the file without its ending, title and heading; a title that is the file's name only once."""
    file = str(metadata.get("source", "")).replace("\\", "/").rpartition("/")[2]
    name, _, ending = file.rpartition(".")
    yield name or ending
    yield from (str(part) for key in ("title", "heading") if (part := metadata.get(key)) and part != file)


def _trimmed(text: str, span: ReadSpan) -> Span:
    """The span without the punctuation at its ends."""
    start, end = span.start, span.end
    while start < end and text[start] in " ,;:.(\"'“":
        start += 1
    while end > start and text[end - 1] in " ,;:.)\"'”":
        end -= 1
    return Span(start, end)


def _is_file(document: Document) -> bool:
    return document.metadata.get("origin") != "web"


def _source(document: Document) -> str:
    return str(document.metadata.get("source", ""))
