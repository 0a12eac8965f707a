"""What passages state in answer to a question, and whether two of them can be about one thing."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from local_rag.text.amounts import amounts
from local_rag.text.answer_values import ShortAnswer
from local_rag.text.fact_questions import asks_for_what_stands
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.names import names
from local_rag.text.sentences import Span
from local_rag.text.words import content_stems, fold, stem, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

ALIKE = 0.75
"""Share of words from which two passages are versions of one text: what tells them apart is in their headers."""

_VERSIONS = frozenset(
    """v version draft final copy old new signed revised revision rev update updated edition current latest scan backup
    original memo letter mail note january february march april may june july august september october november
    december""".split()
)
"""Words of a file's name or title that tell versions of a document apart, and no things."""


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
    if not all(named <= held for held in known):
        return False
    pairs = ((first, known[1]), (second, known[0]))
    in_question = {*map(stem, words(question)), *_answer_stems(first), *_answer_stems(second)}
    for marks in (_names, _figures, partial(_complements, in_question)):
        if all(marks(statement.around) - other - in_question for statement, other in pairs):
            return False
    if max(in_common(first.text, second.text), in_common(first.around, second.around)) >= ALIKE:
        return not all(_titles(statement) - other - in_question for statement, other in pairs)
    repeated = _holds_answer(first.answer, second.text) or _holds_answer(second.answer, first.text)
    return not repeated and asks_for_what_stands(question)


def in_common(first: str, second: str) -> float:
    """The share of content words that two texts have in common (L. R. Dice, 1945)."""
    mine, theirs = set(content_stems(first)), set(content_stems(second))
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine or theirs else 1.0


def asked_for(question: str, statement: Statement) -> float:
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


def _known(statement: Statement) -> set[str]:
    """The stems and the numbers that a passage and its header hold."""
    text = f"{statement.header} {statement.text}"
    return {*map(stem, words(text)), *_figures(text)}


def _names(text: str) -> set[str]:
    """The stems of the names in a sentence: of its first words only where two have capitals, and single letters behind
    a word (Hall B).
    """
    letters = re.findall(r"(?<=\w )[B-HJ-Z]\b(?!\.)", text)
    first = re.match(r"\W*([A-Z]\w+ [A-Z]\w+)", text)
    named = [*names(text), *(word for word in words(first.group(1) if first else "") if word not in STOP_WORDS)]
    return {*map(stem, named), *map(str.casefold, letters)}


def _complements(in_question: Collection[str], text: str) -> set[str]:
    """The stems of what follows a word of the question and a preposition: hockey and team of "captain of the hockey
    team".
    """
    return {
        stem(word)
        for match in _COMPLEMENT.finditer(text)
        if stem(fold(match.group(1))) in in_question
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


def _holds_answer(answer: ShortAnswer, text: str) -> bool:
    wanted = [stem(word) for word in words(answer.text) if word not in STOP_WORDS]
    held = [stem(word) for word in words(text)]
    return any(held[place : place + len(wanted)] == wanted for place in range(len(held) - len(wanted) + 1))
