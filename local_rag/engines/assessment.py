"""The assessment of an answer: what the evaluator reads in its passages and what code sees, as one probability."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from local_rag.core.readings import Reading
from local_rag.engines.extractive.quotes import is_row, line_at
from local_rag.text.answer_values import RankedSpan, place_of, ranked, same, value_of, values_in
from local_rag.text.lexicon import NUMBER_WORDS
from local_rag.text.marks import without_marks
from local_rag.text.names import head
from local_rag.text.numbers import numbers, quantities, written_names
from local_rag.text.questions import asks_for_amount, coverage, lacking, named
from local_rag.text.sentences import sentences
from local_rag.text.words import content_stems, fold, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

FLOOR = -5.0
"""Log odds of an answer whose short answer the evaluator does not find."""

_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:\w+ )?(?:year|date|day|month|century|decade|time|season)s?\b|\bdeadline\b"
    r"|\b(?:what|which) (?:weekday|hours)\b|\bhow long ago\b|\bborn\b"
)
_MONEY = re.compile(
    r"\b(?:price|cost|costs|rent|fee|premium|salary|refund|pay|pays|paid|worth|euros?|dollars?|pounds?|deposit|money"
    r"|balance|spent|spend|earn|charge|charged)\b"
)
_CODE = re.compile(r"\b(?:phone|mobile|telephone|number|code|serial|iban|pin|password|zip|postcode)\b")
_MAIL = re.compile(r"\b(?:e-?mail|address of the website|url|website)\b")
_MOMENT = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm|o'clock)\b|\b(?:1\d|20)\d\d\b|\b\d{1,2}\.\d{1,2}\."
    r"|\b(?:centur(?:y|ies)|decade|spring|summer|autumn|winter|noon|midnight|morning|evening|night|easter|christmas"
    r"|after|before|until|during|while|once|every|annually|daily|weekly|monthly|yearly|days?|weeks?|months?|years?)\b"
)
_WHO = re.compile(r"\s*(?:who|whose|whom)\b")
_CURRENCY = frozenset("$ € £ ¥ chf".split())


class Evidence(NamedTuple):
    """What speaks for an answer.

    `agreement`: log odds of the best short answer that the text holds, `FLOOR` where it holds none; `behind`: how far
    that is behind the best of all passages; `line` and `passage`: shares of the question's weight that the sentence or
    row of that short answer holds with its header, and that its passage holds; `lacks`: share of the question's names
    and numbers that the sentence or row lacks, `apart` that the passage lacks; `kind`: 1 where the text holds what the
    question asks for, a time, a value or a name, 0 where it does not, .5 where its words do not say.
    """

    agreement: float
    behind: float
    line: float
    passage: float
    lacks: float
    apart: float
    kind: float
    attribute: float


def evidence(
    question: str, documents: Sequence[Document], readings: Sequence[Reading], text: str, weights: dict[str, float]
) -> Evidence:
    """What speaks for a text as the answer to a question; `weights` are those of the question's stems."""
    plain = without_marks(text)
    every = ranked(readings)
    held = next((answer for answer in every if holds(answer, documents[answer.passage].page_content, plain)), None)
    best = every[0].logit if every else FLOOR
    agreement = max(FLOOR, held.logit) if held else FLOOR
    around, passage = _around(held, documents) if held else _nearest(plain, documents)
    asked = named(question)
    share = max(1, len(asked))
    return Evidence(
        agreement,
        max(0.0, best - agreement),
        coverage(weights, around),
        coverage(weights, passage),
        len(lacking(asked, around)) / share,
        len(lacking(asked, passage)) / share,
        kind_held(question, plain),
        _attribute(question, weights, around),
    )


def _attribute(question: str, weights: dict[str, float], around: str) -> float:
    """The share of what a question asks about its names, by weight, that a text holds; 1 where it is all names."""
    of_names = set(content_stems(" ".join(named(question))))
    asked = {stem: weight for stem, weight in weights.items() if stem not in of_names}
    return coverage(asked, around) if asked else 1.0


def holds(answer: RankedSpan, passage: str, text: str) -> bool:
    """Whether a text holds a short answer: by its words, by its value, or all its telling words."""
    span = answer.span
    if place_of(span, passage, text):
        return True
    value = value_of(passage, span.start, span.end)
    if value and value.kind != "name":
        return any(same(value, other) for other in values_in(text))
    stems = set(content_stems(span.text))
    return bool(stems) and stems <= set(content_stems(text)) and numbers(span.text) <= numbers(text)


def _around(answer: RankedSpan, documents: Sequence[Document]) -> tuple[str, str]:
    """The sentence or row of a short answer with its header, and its passage with its header."""
    document = documents[answer.passage]
    text, start = document.page_content, answer.span.start
    line = line_at(text, start)
    if not is_row(line):
        within = [span for span in sentences(text) if span.start <= start < span.end]
        line = within[0].of(text) if within else line
    return f"{head(document)} {line}", f"{head(document)} {text}"


def _nearest(plain: str, documents: Sequence[Document]) -> tuple[str, str]:
    """The text itself with the header of the passage that holds most of its words, and that passage."""
    stems = set(content_stems(plain))
    best = max(documents, key=lambda document: len(stems & set(content_stems(document.page_content))))
    return f"{head(best)} {plain}", f"{head(best)} {best.page_content}"


def kind_held(question: str, text: str) -> float:
    """Whether a text holds what a question asks for: 1, 0, or .5 where that is not known."""
    folded, plain = fold(question), fold(text)
    new_numbers = bool(numbers(text) - numbers(question)) or bool(set(words(plain)) & set(NUMBER_WORDS))
    how_much = re.search(r"\bhow (?:much|high|big|large|expensive)\b|\bwhat\b", folded)
    if how_much and _MONEY.search(folded):
        paid = any(quantity.unit in _CURRENCY for quantity in quantities(text)) or bool(_CURRENCY_WORD.search(plain))
        return float(paid and new_numbers)
    if asks_for_amount(question):
        return float(new_numbers)
    if _WHEN.search(folded):
        return float(bool(_MOMENT.search(plain)))
    if _WHO.match(folded):
        return float(bool(set(map(fold, written_names(f". {text}"))) - set(words(folded))))
    if _MAIL.search(folded):
        return float("@" in text or "www" in plain or "http" in plain)
    if re.match(r"\s*(?:what|which)\b", folded) and _CODE.search(folded):
        return float(bool(re.search(r"\d", text)))
    return 0.5


_CURRENCY_WORD = re.compile(r"[$€£¥]|\b(?:euros?|eur|dollars?|usd|pounds?|gbp|chf|francs?|cents?)\b")
