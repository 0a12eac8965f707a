"""Which passages of different files disagree about one fact, by what the evaluator reads in them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from local_rag.core.serialization import from_plain
from local_rag.text.amounts import amounts
from local_rag.text.answer_values import Comparison, ShortAnswer, compared, short_answer
from local_rag.text.fact_questions import asks_for_one_fact, asks_for_what_stands
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.names import names
from local_rag.text.parts import parts, stored
from local_rag.text.sentences import Span, sentences
from local_rag.text.words import content_stems, fold, stem, words

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


@dataclass(frozen=True)
class Statement:
    """The answer of one passage. `document` is its place among the documents of the question, `passage` its text as it
    is stored, which begins at code point `shift` of the document's; `sentence` is the one that holds the answer,
    `header` what its file and document are called.
    """

    document: int
    passage: Document
    source: str
    answer: ShortAnswer
    span: Span
    sentence: Span
    answerable: float
    header: str
    shift: int = 0

    @property
    def text(self) -> str:
        return self.passage.page_content

    @property
    def quote(self) -> Span:
        """Where the sentence stands in the text of the document as it was read, which may be wider."""
        return Span(self.sentence.start + self.shift, self.sentence.end + self.shift)

    @property
    def around(self) -> str:
        """The sentence without the answer."""
        return f"{self.text[self.sentence.start : self.span.start]} {self.text[self.span.end : self.sentence.end]}"


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
    readings = evaluator.read(question, [passage for _, passage in passages])
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
    statement = [f"{question} {one.answer.text}" for one in (first, second)]
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
        _in_common(first.around, second.around),
        min(_asked(question, first), _asked(question, second)),
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


def about_the_same(question: str, first: Statement, second: Statement) -> bool:
    """Whether two statements can be about one thing.

    Both passages have the names and numbers of the question, in their text or their header. Where each sentence has
    names, or numbers, or words behind those of the question ("captain of the hockey team"), that the other passage
    lacks, they are about different things: another year, another city. Where passages or sentences are alike but for
    the answer they are versions, if their headers do not name different things. Else neither passage has the answer of
    the other one, and the question asks for what stands.
    """
    known = [_known(statement) for statement in (first, second)]
    named = _names(question) | _figures(question)
    if not all(named <= one for one in known):
        return False
    pairs = ((first, known[1]), (second, known[0]))
    asked = {*map(stem, words(question)), *_answer_stems(first), *_answer_stems(second)}
    for marks in (_names, _figures, partial(_complements, asked)):
        if all(marks(statement.around) - other - asked for statement, other in pairs):
            return False
    if max(_in_common(first.text, second.text), _in_common(first.around, second.around)) >= ALIKE:
        return not all(_titles(statement) - other - asked for statement, other in pairs)
    repeated = _holds_answer(first.answer, second.text) or _holds_answer(second.answer, first.text)
    return not repeated and asks_for_what_stands(question)


ALIKE = 0.75
"""Share of words from which two passages are versions of one text: what tells them apart is in their headers."""

_VERSIONS = frozenset(
    """v version draft final copy old new signed revised revision rev update updated edition current latest scan backup
    original memo letter mail note january february march april may june july august september october november
    december""".split()
)
"""Words of a file's name or title that tell versions of a document apart, and no things."""


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


def _known(statement: Statement) -> set[str]:
    """The stems and the numbers that a passage and its header hold."""
    text = f"{statement.header} {statement.text}"
    return {*map(stem, words(text)), *_figures(text)}


def _names(text: str) -> set[str]:
    """The stems of the names in a sentence, single letters behind a word (Hall B) among them."""
    letters = re.findall(r"(?<=\w )[B-HJ-Z]\b(?!\.)", text)
    return {*(stem(word) for word in names(f"– {text}")), *map(str.casefold, letters)}


def _complements(asked: Collection[str], text: str) -> set[str]:
    """The stems of what follows a word of the question and a preposition: hockey and team of "captain of the hockey
    team".
    """
    return {
        stem(word)
        for match in _COMPLEMENT.finditer(text)
        if stem(fold(match.group(1))) in asked
        for word in words(match.group(2))
        if word not in STOP_WORDS
    }


_COMPLEMENT = re.compile(r"\b(\w+) (?:of|for|at|in) (?:(?:the|a|an|our|their|his|her)\s)?(\w+(?: \w+)?)")


def _figures(text: str) -> set[str]:
    """The numbers of a text by value: 1,200 is 1200, two is 2."""
    return {f"{value:f}" for amount in amounts(text) for value in amount.readings}


def _titles(statement: Statement) -> set[str]:
    """The words of a header that tell one thing from another; no numbers, which versions differ in, too."""
    return {
        stem(word)
        for word in words(re.sub(r"[_\d]+", " ", statement.header))
        if word not in _VERSIONS and word not in STOP_WORDS and len(word) > 1
    }


def _answer_stems(statement: Statement) -> set[str]:
    return {*map(stem, words(statement.answer.wide)), *_figures(statement.answer.wide)}


def _asked(question: str, statement: Statement) -> float:
    """The share of what the question asks for that the sentence with the answer has: of its content words, but for
    names where there are others. Every passage on the matter has those.
    """
    every = set(content_stems(question)) - _GENERIC
    wanted = (every - _names(question)) or every
    held = set(content_stems(statement.sentence.of(statement.text)))
    return sum(bool(held & _FORMS.get(word, {word})) for word in wanted) / len(wanted) if wanted else 1.0


_GENERIC = frozenset(
    map(stem, "name year date day time number amount person people place city country company".split())
)
"""What the answer itself says by its kind, though the sentence need not: in what year, which city."""

_FORMS = {
    stem(form): frozenset(map(stem, forms))
    for forms in (
        line.split()
        for line in (
            "high tall height higher|long length lasts longer|wide width broad|deep depth|heavy heaviest weigh weight"
            "|old age|far distance|fast speed|large big size area|cost costs price charge pay fee expensive"
            "|start begin began starts|end ends finish|leave leaves depart|own owns owner|founded established"
        ).split("|")
    )
    for form in forms
}
"""Words of questions, and those in which sentences answer them."""


def _holds_answer(answer: ShortAnswer, text: str) -> bool:
    wanted = [stem(word) for word in words(answer.text) if word not in STOP_WORDS]
    held = [stem(word) for word in words(text)]
    return any(held[place : place + len(wanted)] == wanted for place in range(len(held) - len(wanted) + 1))


def _in_common(first: str, second: str) -> float:
    """The share of content words that two texts have in common (L. R. Dice, 1945)."""
    one, other = set(content_stems(first)), set(content_stems(second))
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0
