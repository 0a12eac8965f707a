"""What passages state in answer to a question, and whether two of them can be about one thing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from local_rag.text.amounts import amounts
from local_rag.text.answer_values import ShortAnswer
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
    original memo letter mail note first second third fourth fifth older newer newest earlier later previous former
    prior
    amended amendment addendum renewed renewal corrected correction approved preliminary provisional superseded
    replacement print printed export exported
    january february march april may june july august september october november
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


_UNDECIDED = re.compile(
    r"\b(?:propos\w+|suggest\w*|idea|formerly|previously|used to|no longer|instead of|originally"
    r"|until (?:\w+ )?\d{4})\b",
    re.IGNORECASE,
)
"""What a sentence says that tells of a proposal or of the past."""
_ONE_OF_SEVERAL = re.compile(
    r"\bone of (?:the|our|its|their|two|three|several|many)\b"
    r"|\bco-?(?:owner|founder|author|chair|director|signatory)\w*",
    re.IGNORECASE,
)
_LEAST_ASKED = 0.2
"""Least share of what the question asks for in each of two sentences that are not alike."""


def about_two_things(question: str, first: Statement, second: Statement) -> bool:
    """Whether something says that two statements are about two things, so that both can be true.

    Two passages that are alike are of one template; they are about two things where one lacks a name or number of the
    question, or where each header has a name that the other passage lacks. One sentence may tell of a proposal or of
    the past, or name one of several. A sentence may speak of something else than the question: "rent of the flat" for
    "rent of the garage". Or both say of what, or of which year: "captain of the hockey team".
    """
    pair = (first, second)
    asked = {*map(stem, words(question)), *_answer_stems(first), *_answer_stems(second)}
    if in_common(first.text, second.text) >= ALIKE and (
        lacking(question, first, second) or _each_has_own(_titles, pair, asked, "header")
    ):
        return True
    alike = in_common(first.around, second.around) >= ALIKE
    if not alike and min(asked_for(question, statement) for statement in pair) < _LEAST_ASKED:
        return True
    spoken = [statement.sentence.of(statement.text) for statement in pair]
    undecided = [bool(_UNDECIDED.search(sentence)) for sentence in spoken]
    if undecided[0] != undecided[1] and not _UNDECIDED.search(question):
        return True
    if any(map(_ONE_OF_SEVERAL.search, spoken)) or any(_of_another(question, statement, asked) for statement in pair):
        return True
    return any(_each_has_own(marks, pair, asked) for marks in (partial(_complements, asked), _years, _letters))


def lacking(question: str, *statements: Statement) -> set[str]:
    """The names and numbers of the question that not every passage has, in its text or its header."""
    named = _names(question) | _figures(question)
    return set[str]().union(*(named - _known(statement) for statement in statements))


def of_other_names(question: str, first: Statement, second: Statement) -> bool:
    """Whether each sentence has a name that the question and the other passage lack."""
    asked = {*map(stem, words(question)), *_answer_stems(first), *_answer_stems(second)}
    return _each_has_own(_names, (first, second), asked)


def covered(question: str, statement: Statement) -> float:
    """The share of the question's content words that the passage has, in its text or its header."""
    wanted = set(content_stems(question)) - _GENERIC
    known = _known(statement)
    return sum(bool(known & _FORMS.get(word, {word})) for word in wanted) / len(wanted) if wanted else 1.0


def _each_has_own(
    marks: Callable[[str], set[str]],
    pair: tuple[Statement, Statement],
    asked: Collection[str],
    where: Literal["around", "header"] = "around",
) -> bool:
    """Whether each sentence, or header, has marks that the other passage and the question lack."""
    first, second = pair
    return all(
        marks(getattr(mine, where)) - _known(other) - set(asked) for mine, other in ((first, second), (second, first))
    )


def _of_another(question: str, statement: Statement, asked: Collection[str]) -> bool:
    """Whether the sentence says of something else what the question asks: "rent of the flat" for "of the garage"."""
    wanted = _complements_by_head(question)
    return any(
        wanted.get(head) and of_what and not of_what & set(asked)
        for head, of_what in _complements_by_head(statement.around).items()
    )


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
    a word.
    """
    first = re.match(r"\W*([A-Z]\w+ [A-Z]\w+)", text)
    named = [*names(text), *(word for word in words(first.group(1) if first else "") if word not in STOP_WORDS)]
    return {*map(stem, named), *_letters(text)}


def _letters(text: str) -> set[str]:
    """The single letters that stand behind a word: b of "Hall B"."""
    return set(map(str.casefold, re.findall(r"(?<=\w )[B-HJ-Z]\b(?!\.)", text)))


def _years(text: str) -> set[str]:
    return set(re.findall(r"\b(?:1[5-9]|20)\d\d\b", text))


def _complements(asked: Collection[str], text: str) -> set[str]:
    """The stems of what follows a word of the question and a preposition: hockey and team of "captain of the hockey
    team".
    """
    return set[str]().union(
        *(of_what for head, of_what in _complements_by_head(text, numbers=True).items() if head in asked)
    )


def _complements_by_head(text: str, *, numbers: bool = False) -> dict[str, set[str]]:
    """The stems of what follows a preposition, by the stem before it; `numbers`: with amounts, too."""
    complements: dict[str, set[str]] = {}
    for match in _COMPLEMENT.finditer(text):
        of_what = (word for word in words(match.group(2)) if word not in STOP_WORDS)
        kept = {stem(word) for word in of_what if numbers or (word.isalpha() and not _figures(word))}
        complements.setdefault(stem(fold(match.group(1))), set()).update(kept)
    return complements


_COMPLEMENT = re.compile(
    r"\b(\w+) (?:of|for|at|in) (?=(?:(?:the|a|an|our|their|his|her)\s)?(\w+(?: (?!(?:of|for|at|in)\b)\w+)?))"
)


def _figures(text: str) -> set[str]:
    """The numbers of a text by value: 1,200 is 1200, two is 2."""
    return {f"{value.normalize():f}" for amount in amounts(text) for value in amount.readings}


def _titles(header: str) -> set[str]:
    """The words of a header that tell one thing from another; no numbers, which versions differ in, too."""
    return {
        stem(word)
        for word in words(re.sub(r"[_\d]+", " ", header))
        if word not in _VERSIONS and word not in STOP_WORDS and len(word) > 1
    }


def _answer_stems(statement: Statement) -> set[str]:
    return {*map(stem, words(statement.answer.wide)), *_figures(statement.answer.wide)}


def holds_answer(answer: ShortAnswer, text: str) -> bool:
    """Whether a text has the words of an answer, one after the other."""
    wanted, held = ([stem(word) for word in words(part)] for part in (answer.text, text))
    return bool(wanted) and any(
        held[place : place + len(wanted)] == wanted for place in range(len(held) - len(wanted) + 1)
    )
