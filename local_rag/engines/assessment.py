"""Assess an answer: combine the evaluator's reading of its passages and evidence found by code into one probability.

Every engine's answers are assessed here, whether it quotes or writes; a language model's own grades say little about
the truth of an answer (docs/measurements.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from local_rag.core.readings import Reading, probability
from local_rag.engines.extractive.quotes import is_row, line_at
from local_rag.text.answer_texts import AnswerTexts
from local_rag.text.answer_values import SPAN, RankedSpan, place_of, ranked, same, value_of, values_in
from local_rag.text.display import joined, shorten
from local_rag.text.lexicon import NUMBER_WORDS
from local_rag.text.marks import without_marks
from local_rag.text.names import MONTHS, head
from local_rag.text.numbers import names, numbers, written_names
from local_rag.text.questions import asks_for_amount, coverage, lacking, named
from local_rag.text.sentences import sentences
from local_rag.text.support import opposed
from local_rag.text.words import WORD, content_stems, fold, shared_stems, stem, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

SURE = 0.75
"""The probability from which an answer is sure: 130 of 150 of these are right (docs/measurements.md)."""
SHOWN = 0.35
"""The probability below which an answer is not shown; below SURE it is probable from .5 on, else in doubt."""
EVEN = 0.5
"""The probability of an answer that is as likely right as wrong."""
FLOOR = -5.0
"""The log odds of an answer in which the evaluator finds no short answer."""
MOST_BEHIND = 6.0
"""The largest distance between a short answer and the best one that is counted, in log odds."""
USELESS, NOT_SHOWN, DOUBTFUL, SURELY = 1, 2, 3, 5
"""The usefulness of a text without content, of one below SHOWN, of one that may answer, and of one that surely does."""
UNNAMED = 0.49
"""The highest probability of an answer whose passage lacks a name or number of the question, unless it is sure. A
month, a year or a label such as 4a is never missing from a sure answer.
"""
CALLED_ANSWER = 0.5
"""The probability of a passage from which its short answer is called an answer."""
LONGEST_SPAN = 60
"""The most characters of a short answer in a verdict."""
LITTLE = 0.5
"""The share of a question below which too little of it stands beside an answer."""

PLACE, IN_LINE = 1.0, 2.4
"""What a short answer loses in log odds per natural logarithm of its passage's place, and what it gains if its sentence
or row with its header holds all of the question: about the weights of a conditional logistic regression on the best
answers to questions about six folders and to SQuAD v2 dev. `SURE` and `SHOWN` were chosen on these and SQuAD v2 test.
"""
BIAS, WEIGHTS = 0.62, (0.8, -0.46, -0.69, 0.47, -1.5, -1.0, 3.0)
OTHER_KIND, WRITTEN = -2.64, 0.7
"""The weights of `Evidence`, of a text that lacks the kind of thing that is asked for (a time, an amount, a name), and
of one that a language model wrote, which has read the passages, too: a logistic regression on answers of the extractive
engine to questions about five folders and to SQuAD v2 dev, a third of them without an answer there. `passage`, `apart`
and `words` are set: the fit alone would prefer a passage that lacks a name of the question. `WRITTEN` is less than 1.2,
which a fit on 159 answers of a model gives, so that 19 of 20 sure ones are right. docs/measurements.md tells how well
it does on other questions.
"""

_WHEN = re.compile(
    r"^(?!.*\b(?:what|which|who|whom|whose|how|where|why)\b.*\bwhen\b).*\bwhen\b"
    r"|\b(?:what|which) (?:\w+ )?(?:year|date|day|month|century|decade|time|season)s?\b|\bdeadline\b"
    r"|\b(?:what|which) (?:weekday|hours)\b|\bhow long ago\b|\bborn\b"
)
_MONEY = re.compile(
    r"(?<![^\W_])(?:price|costs?|rent|fee|premium|salary|refund|pays?|paid|worth|euros?|dollars?|pounds?|deposit|money"
    r"|amount|balance|spent|spend|earn|owed?|charged?)(?![^\W_])"
)
_CODE = re.compile(r"\b(?:phone|mobile|telephone|number|code|serial|iban|pin|password|zip|postcode)\b")
_MAIL = re.compile(r"\b(?:e-?mail|address of the website|url|website)\b")
_MOMENT = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:quarter|half|minutes?) (?:past|to)\b"
    r"|\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm|o'clock)\b|\b(?:1\d|20)\d\d\b|\b\d{1,2}\.\d{1,2}\."
    r"|\b(?:centur(?:y|ies)|decade|dusk|dawn|sunset|sunrise|today|tomorrow|yesterday|now|later|soon|always|never|spring|summer|autumn|winter|noon|midnight|morning|evening|night|easter|christmas"
    r"|after|before|until|during|while|once|every|annually|daily|weekly|monthly|yearly|days?|weeks?|months?|years?)\b"
)
_LABEL = re.compile(r"\b(?:(?:19|20)\d\d|\d+[a-z]|[a-z]\d+)\b")
"""A year, or a number with a letter, of which a text may name another in the place of the one that is asked for."""
_MONTHS = frozenset(month for both in MONTHS for month in both)
_INNER_NAME = re.compile(r"(?<=[\w,] )[^\W\d_a-z][^\W\d_A-Z]{2,}")
"""A capitalised word that does not begin a sentence or a line."""
_WHO = re.compile(r"\s*(?:who|whose|whom)\b")
_WHAT = re.compile(r"\s*(?:what|which)\b")
_HOW_MUCH = re.compile(r"\bhow (?:much|high|big|large|expensive)\b|\bwhat\b")
_CURRENCY = re.compile(
    r"[$€£¥]|(?<![^\W_])(?:euros?|eur|dollars?|usd|pounds?|gbp|chf|francs?|cents?|pence|kron\w+)(?![^\W_])"
)


class Evidence(NamedTuple):
    """Hold the evidence for an answer, beside its kind.

    `agreement`: the log odds of the best short answer that the text holds, `FLOOR` if it holds none; `behind`: its
    distance from the best short answer of all passages; `place`: the natural logarithm of its passage's place; `line`:
    the share of the question's weight in the sentence or row of that short answer with its header, `passage`: in its
    whole passage with its header, where the same words count less; `apart`: the share of the question's names and
    numbers that are missing there; `words`: 1 if the text is a line that holds nearly all of the question.
    """

    agreement: float
    behind: float
    place: float
    line: float
    passage: float
    apart: float
    words: float


class Assessment(NamedTuple):
    """Hold the probability in [0, 1] that a text answers a question, and why it is not higher."""

    probability: float
    why: str


def placed(readings: Sequence[Reading], documents: Sequence[Document], weights: dict[str, float]) -> list[Reading]:
    """Return readings whose short answers also count by the place of their passage and by the question's words.

    The evaluator compares each passage with nothing but the question, and takes any time for the answer to "when": what
    the search puts first, and what stands in a line with the words of the question, is likelier. `documents` are in the
    order of the search; `weights` are those of the question's stems.
    """
    shares = {
        answer: coverage(weights, f"{head(documents[answer.passage])} {line_of(answer, documents)}")
        for answer in ranked(readings)
    }
    result = []
    for number, reading in enumerate(readings):
        odds = {a.span: a.logit + IN_LINE * share for a, share in shares.items() if a.passage == number}
        if spans := sorted(odds, key=lambda span: -odds[span]):
            best = odds[spans[0]] - PLACE * math.log(number + 1)
            moved = tuple(replace(span, logit=odds[span] / SPAN) for span in spans)
            reading = replace(reading, spans=moved, answerable=probability(best))
        result.append(reading)
    return result


def explained(reading: Reading, texts: AnswerTexts) -> str:
    """Describe the evaluator's reading of a passage in words.

    A short answer below a probability of one half is described as unsure, because the passage may be shown beside a
    refusal.
    """
    if reading.spans and reading.present >= max(reading.about, reading.other):
        text = texts.may_answer if reading.answerable >= CALLED_ANSWER else texts.unsure
        return text.format(span=shorten(reading.spans[0].text, LONGEST_SPAN))
    return texts.about_the_matter if reading.about >= reading.other else texts.about_something_else


def usefulness_of(chance: float) -> int:
    """Return the usefulness of a text that answers with this probability."""
    return SURELY if chance >= SURE else DOUBTFUL if chance >= SHOWN else NOT_SHOWN


def assess(
    question: str,
    documents: Sequence[Document],
    readings: Sequence[Reading],
    text: str,
    weights: dict[str, float],
    *,
    by_words: bool = False,
    written: bool = False,
) -> Assessment:
    """Assess a text as the answer to a question from these passages, which the evaluator has read.

    `weights` are those of the question's stems; `by_words`: the text is a line that holds nearly all of the question;
    `written`: a language model wrote it in its own words.
    """
    if not documents:
        return Assessment(0.0, "there are no passages")
    plain = without_marks(text)
    every = ranked(readings)
    held = next((answer for answer in every if _holds(answer, documents[answer.passage].page_content, plain)), None)
    best = every[0].logit if every else FLOOR
    agreement = max(FLOOR, held.logit) if held else FLOOR
    place = held.passage if held else _nearest(plain, documents)
    line, header = line_of(held, documents) if held else plain, head(documents[place])
    around, passage = f"{header} {line}", f"{header} {documents[place].page_content}"
    asked = named(question)
    absent, apart = lacking(asked, around), lacking(asked, passage)
    replaced: list[str] = []
    if held:
        replaced = of_another(question, line, held.span.text) or opposed(words(fold(question)), words(fold(line)))
    evidence = Evidence(
        agreement,
        min(MOST_BEHIND, max(0.0, best - agreement)),
        math.log(place + 1),
        coverage(weights, around),
        coverage(weights, passage),
        len(apart) / max(1, len(asked)),
        float(by_words),
    )
    kind = is_of_kind(question, plain)
    logit = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, evidence, strict=True))
    logit += OTHER_KIND if kind is False else 0.0
    chance = probability(logit)
    of_time = any(name in _MONTHS or _LABEL.fullmatch(name) for name in apart)
    if replaced or of_time or (apart and chance < SURE):
        chance = min(chance, UNNAMED)
    elif written:
        chance = probability(logit + WRITTEN)
    return Assessment(round(chance, 4), _why(evidence, kind, held, apart or absent or replaced))


def _why(evidence: Evidence, kind: bool | None, held: RankedSpan | None, absent: Sequence[str]) -> str:
    """Return the strongest evidence against an answer, in words."""
    if absent:
        return f"what stands beside it does not mention {joined(map(repr, absent), 'or')}"
    if kind is False:
        return "it does not say what kind of thing is asked for"
    if held is None:
        return "the evaluator finds no answer in it"
    found = f"{shorten(held.span.text, LONGEST_SPAN)!r} may be the answer"
    if evidence.behind > 0:
        return f"{found}, but another passage seems to answer better"
    return f"{found}, but little of the question stands beside it" if evidence.line < LITTLE else found


def _holds(answer: RankedSpan, passage: str, text: str) -> bool:
    """Return whether a text holds a short answer: its words, its value, or all of its content words and numbers."""
    span = answer.span
    if place_of(span, passage, text):
        return True
    value = value_of(passage, span.start, span.end)
    if value and value.kind != "name":
        return any(same(value, other) for other in values_in(text))
    stems = set(content_stems(span.text))
    return bool(stems) and stems <= set(content_stems(text)) and numbers(span.text) <= numbers(text)


def line_of(answer: RankedSpan, documents: Sequence[Document]) -> str:
    """Return the sentence or row of a short answer."""
    text, start = documents[answer.passage].page_content, answer.span.start
    line = line_at(text, start)
    within = () if is_row(line) else (span.of(text) for span in sentences(text) if span.start <= start < span.end)
    return next(iter(within), line)


def of_another(question: str, line: str, answer: str) -> list[str]:
    """Return the names and numbers of a question in whose place the line of an answer has others, so that those in its
    header do not count: class 4a for 4b, or the birth of another person.
    """
    absent = lacking(named(question), line)
    plain = line.replace(answer, " ")
    shapes = {_shape(label) for label in _LABEL.findall(fold(plain))}
    replaced = [name for name in absent if _LABEL.fullmatch(name) and _shape(name) in shapes]
    if _MONTHS.intersection(words(fold(line))):
        replaced += [name for name in absent if name in _MONTHS]
    people = names(question) - _MONTHS
    asked = set(content_stems(question)) - set(content_stems(" ".join(people)))
    place = next((word.start() for word in WORD.finditer(plain) if stem(fold(word.group())) in asked), 0)
    before = _INNER_NAME.findall(plain[:place].rpartition("\n")[2])
    if before and fold(before[-1]) not in people | _MONTHS:
        replaced += [name for name in absent if name in people]
    return sorted(set(replaced))


def _shape(label: str) -> str:
    return re.sub(r"[a-z]", "a", re.sub(r"\d+", "9", label)) if not label.isdecimal() else "year"


def _nearest(plain: str, documents: Sequence[Document]) -> int:
    """Return the number, from 0, of the passage that holds most words of a text."""
    shared = [shared_stems(plain, document.page_content) for document in documents]
    return shared.index(max(shared))


def is_of_kind(question: str, text: str) -> bool | None:
    """Return whether a text holds the kind of thing that a question asks for; None if the question names no kind."""
    folded, plain = fold(question), fold(text)
    new_numbers = bool(numbers(text) - numbers(question)) or not set(NUMBER_WORDS).isdisjoint(words(plain))
    if _HOW_MUCH.search(folded) and _MONEY.search(folded):
        return new_numbers and bool(_CURRENCY.search(plain) or _MONEY.search(plain))
    if asks_for_amount(question):
        return new_numbers or ("how old" not in folded and bool(_MOMENT.search(plain)))
    if _WHEN.search(folded):
        return bool(_MOMENT.search(plain))
    if _WHO.match(folded):
        return not set(map(fold, written_names(f". {text}"))) <= set(words(folded))
    if _MAIL.search(folded):
        return "@" in text or "www" in plain or "http" in plain
    if _WHAT.match(folded) and _CODE.search(folded):
        return bool(re.search(r"\d", text))
    return None
