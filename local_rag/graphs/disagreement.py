"""Which passages of different files disagree about one fact, by what the evaluator reads in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from local_rag.core.serialization import from_plain
from local_rag.engines.evaluator.topics import question_to_read
from local_rag.graphs.statements import ALIKE, Statement, about_the_same, asked_for, in_common
from local_rag.text.answer_values import Comparison, compared, short_answer
from local_rag.text.fact_questions import asks_for_one_fact
from local_rag.text.parts import parts, stored
from local_rag.text.sentences import Span, sentences

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator
    from local_rag.core.readings import Reading, ReadSpan


class Bounds(NamedTuple):
    """From where on two answers disagree; `scripts/measure_conflicts.py --fit` finds them.

    `answerable`: the least probability that a passage holds the answer. `supported`: that it supports its own answer.
    `contradicted`: the most probability that it supports the other answer. `context` and `context_of_words`: the least
    share of words that the two sentences have in common outside of the answers, for answers with a value (or names)
    and for any other words. `asked`: the least share of the question's words that each of the sentences has.
    """

    answerable: float
    supported: float
    contradicted: float
    context: float
    context_of_words: float
    asked: float


@cache
def fitted() -> Bounds:
    """The bounds that are shipped."""
    return from_plain(Bounds, json.loads((files(__package__) / "disagreement.json").read_text("utf-8"))["bounds"])


class Evidence(NamedTuple):
    """What speaks for a disagreement of two statements: the least `answerable` of both, how their answers compare, what
    their sentences share outside of these and with the question (the least), and the support of each answer by its own
    passage (the least) and by the other one (the most).
    """

    answerable: float
    comparison: Comparison
    context: float
    asked: float
    supported: float
    contradicted: float


def disagreeing(
    question: str, documents: Sequence[Document], evaluator: Evaluator, bounds: Bounds | None = None
) -> list[list[Statement]]:
    """The sides of a disagreement, each with what its files state; empty where there is none.

    Only a question for one fact has one answer. Only passages of files are compared: the web always disagrees.
    """
    bounds = bounds or fitted()
    if not asks_for_one_fact(question) or len({_source(document) for document in documents if _is_file(document)}) < 2:
        return []
    stated = statements(question, documents, evaluator, bounds.answerable)
    opposed = [
        (first, second)
        for first, second in combinations(stated, 2)
        if any(holds(evidence, bounds) for evidence in evidence_of(question, first, second, evaluator))
    ]
    return _sides(question, stated, opposed) if opposed else []


def statements(
    question: str, documents: Sequence[Document], evaluator: Evaluator, answerable: float
) -> list[Statement]:
    """The likeliest answer of each file that probably holds one, in the order of the documents."""
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
        if reading.spans and reading.answerable >= answerable:
            known = best.get(_source(passage))
            if known is None or reading.answerable > known[0].answerable:
                best[_source(passage)] = reading, number, passage
    return [_statement(number, documents[number], passage, reading) for reading, number, passage in best.values()]


def evidence_of(question: str, first: Statement, second: Statement, evaluator: Evaluator) -> Iterator[Evidence]:
    """The evidence for a disagreement; none where the answers agree, cannot be compared, or are about two things.

    The evaluator is asked for support last, because that is what costs time.
    """
    comparison = compared(question, first.answer, second.answer)
    if comparison.same is not False or not about_the_same(question, first, second):
        return
    statement = [f"{question} {side.answer.text}" for side in (first, second)]
    own, other, crossed, back = evaluator.supports(
        [
            (statement[0], first.text),
            (statement[1], second.text),
            (statement[0], second.text),
            (statement[1], first.text),
        ]
    )
    yield Evidence(
        min(first.answerable, second.answerable),
        comparison,
        in_common(first.around, second.around),
        min(asked_for(question, first), asked_for(question, second)),
        min(own, other),
        max(crossed, back),
    )


def holds(evidence: Evidence, bounds: Bounds) -> bool:
    """Whether the evidence is enough."""
    context = bounds.context_of_words if evidence.comparison.kind == "words" else bounds.context
    return (
        evidence.answerable >= bounds.answerable
        and evidence.supported >= bounds.supported
        and evidence.contradicted <= bounds.contradicted
        and evidence.context >= context
        and (evidence.asked >= bounds.asked or evidence.context >= ALIKE)
    )


def _sides(
    question: str, stated: Sequence[Statement], opposed: Sequence[tuple[Statement, Statement]]
) -> list[list[Statement]]:
    """The statements that take part, those that agree with each other together."""
    sides: list[list[Statement]] = []
    for statement in stated:
        if any(statement in pair for pair in opposed):
            agreeing = (
                side
                for side in sides
                if all(
                    compared(question, statement.answer, other.answer).same is True
                    and (statement, other) not in opposed
                    and (other, statement) not in opposed
                    for other in side
                )
            )
            side = next(agreeing, None)
            if side is None:
                sides.append([statement])
            else:
                side.append(statement)
    return sides


def _statement(number: int, document: Document, passage: Document, reading: Reading) -> Statement:
    text, span = passage.page_content, _trimmed(passage.page_content, reading.spans[0])
    around = [sentence for sentence in sentences(text) if sentence.start < span.end and span.start < sentence.end]
    start = min((sentence.start for sentence in around), default=span.start)
    end = max((sentence.end for sentence in around), default=span.end)
    metadata = passage.metadata
    shift = int(metadata.get("start") or 0) - int(document.metadata.get("start") or 0) if parts(document) else 0
    name = str(metadata.get("source", "")).replace("\\", "/").rpartition("/")[2].rpartition(".")
    header = " ".join(
        str(part) for part in (name[0] or name[2], metadata.get("title"), metadata.get("heading")) if part
    )
    answer = short_answer(text, span.start, span.end)
    return Statement(
        number, passage, _source(passage), answer, span, Span(start, end), reading.answerable, header, shift
    )


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
