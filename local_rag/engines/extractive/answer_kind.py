"""The kind of answer that a question asks for, and whether a sentence holds it."""

from __future__ import annotations

import re
from typing import Literal

from local_rag.engines.extractive.questions import WORD
from local_rag.text.names import names
from local_rag.text.numbers import numbers
from local_rag.text.words import content_stems, content_words, fold, words

AnswerKind = Literal["person", "time", "number", "place", "reason", "definition", "list", "open"]

SHORT_ANSWERS: frozenset[AnswerKind] = frozenset({"person", "time", "number", "place"})
"""Kinds that one sentence answers."""

_ASKS: tuple[tuple[AnswerKind, str], ...] = (
    ("time", r"^(?!.*\b(?:what|which|who|whom|whose|how|where|why)\b.*\bwhen\b).*\bwhen\b|\b(?:until|since) when\b"
             r"|\b(?:what|which) (?:year|date|day|month|century|decade|time)\b"
             r"|\bhow long ago\b|\bdeadline\b"),
    ("number", r"\bhow (?:many|much|long|old|often|far|tall|high|large|big|fast|deep|wide|heavy)\b"),
    ("number", r"\b(?:what|which) (?:(?:is|was|are|were) the (?:[\w-]+ )?)?"
               r"(?:percentage|number|amount|population|price|cost|total|average|rate|fee|rent|intensity)\b"),
    ("reason", r"\bwhy\b|\b(?:what|which) (?:is the |was the |are the )?(?:reasons?|causes?|caused)\b|\bhow come\b"),
    ("place", r"\bwhere\b|\b(?:what|which) (?:city|country|state|town|place|region|continent|address)\b"),
    ("person", r"\b(?:who|whom|whose)\b|\b(?:what|which) (?:person|people|author|player|king|queen|president)\b"),
    ("list", r"\b(?:types|kinds|sorts|categories|examples|steps|parts|components|phases|stages|ways|methods|reasons"
             r"|causes|advantages|disadvantages|benefits|differences|features|elements|forms)\b|^(?:list|name)\b"),
    ("definition", r"^(?:what (?:is|are|was|were|does)|define|explain|describe|tell me about)\b"),
)  # fmt: skip

_DATE = re.compile(
    r"\b1\d{3}s?\b|\b20\d\ds?\b|\b\d{1,2}(?:st|nd|rd|th) centur|\b\d{1,2}:\d\d\b|\b\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|yesterday|today|tomorrow|century|decade|ago|bc|bce|ad|may \d|\d may)\b"
)
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|therefore|thus|so that|in order to|as a result|reasons?|caused?|causes"
    r"|leads? to|led to|thanks to|in response to|so as to|prevents?|allows?|for fear)\b"
)
_ENUMERATION = re.compile(r"\(?\b[1a]\).*\(?\b[2b]\)|:\s*\n|(?:[^,;]+[,;]){2,}[^,;]*\b(?:and|or)\b", re.DOTALL)
_IS = re.compile(r"\b(?:is|are|was|were|means?|refers? to|denotes?|describes?|consists? of|can be defined as)\b")
_NAME = re.compile(r"\b[A-Z][\w'’-]*(?: (?:of|de|von|van|the|le|la) | |-)[A-Z][\w'’-]+")
_ACRONYM = re.compile(r"(?:[A-Z][\w'’-]* )*\b\w*[A-Z]{2}\w*")
_MOMENT = re.compile(
    r"\b(?:(?:second|minute|hour|day|week|month|year|spring|summer|autumn|winter|morning|evening|night)s?|noon|midnight"
    r"|now|immediately|once|as soon as|after|before|until|during)\b"
)
_IDENTIFIER = re.compile(r"\b[A-Za-z]+-\d[\w-]*")
_YEAR = re.compile(r"1[6-9]\d\d|20[0-4]\d")
_QUANTITY = re.compile(
    r"\b(?:one|single|half|halves|double|triple|quarter|thirds?|several|dozens|hundreds|thousands|millions|daily|weekly"
    r"|monthly|yearly|annual(?:ly)?|every|each|per|century|always|never)\b"
)
_PLACE = re.compile(r"\b(?:in|at|near|from|to|on|of|across|around|between|throughout)\s+(?:the\s+)?[A-Z]")


def kind_of(question: str) -> AnswerKind:
    """The kind of answer that a question wants; `open` where its words do not say."""
    plain = " ".join(fold(question).split())
    return next((kind for kind, pattern in _ASKS if re.search(pattern, plain)), "open")


def takes_several(question: str) -> bool:
    """Whether several passages may answer: lists, reasons, and how something is done or is."""
    kind = kind_of(question)
    return kind in ("list", "reason") or (kind == "open" and "how" in words(question))


def fits(kind: AnswerKind, question: str, sentence: str) -> int:
    """1 where a sentence holds the kind of answer asked for, -1 where it cannot, 0 where that is not known."""
    plain = fold(sentence)
    if kind == "time":
        return 1 if _DATE.search(plain) else -1
    if kind == "number":
        return 1 if _new_numbers(question, sentence) else -1
    if kind == "person":
        return 1 if _new_names(question, _ACRONYM.sub("", sentence)) else -1
    if kind == "place":
        return 1 if _PLACE.search(sentence) and _new_names(question, sentence) else -1
    if kind == "reason":
        return int(bool(_REASON.search(plain)))
    if kind == "list":
        return int(bool(_ENUMERATION.search(sentence)))
    return int(kind == "definition" and _defines(question, plain))


def lacks_kind(kind: AnswerKind, question: str, quoted: str) -> bool:
    """Whether quoted sentences hold nothing of the kind asked for, read more kindly than `fits` reads one of them."""
    if kind not in SHORT_ANSWERS or fits(kind, question, quoted) >= 0:
        return False
    if kind == "number":
        return not _QUANTITY.search(fold(quoted))
    if kind == "place":
        first = {word for start in quoted.split("\n") for word in WORD.findall(start)[:1] if word[0].isupper()}
        named = _new_names(question, quoted) | (set(content_words(" ".join(first))) - set(words(question)))
        return not named and not _PLACE.search(quoted)
    return kind == "person" or not _MOMENT.search(fold(quoted))


def _new_numbers(question: str, sentence: str) -> set[str]:
    """Numbers that the question does not hold; bare years and identifiers ("SF-1008") are no amounts."""
    new = numbers(_IDENTIFIER.sub("", sentence)) - numbers(question)
    return {number for number in new if not _YEAR.fullmatch(number)}


def _new_names(question: str, sentence: str) -> set[str]:
    """Names in the sentence that the question does not hold; its first word counts only in a name of several."""
    pairs = " ".join(match.group() for match in _NAME.finditer(sentence))
    return (names(sentence) | set(content_words(pairs))) - set(words(question))


def _defines(question: str, plain: str) -> bool:
    """Whether the sentence (folded) says of the question's own subject what it is."""
    verb = _IS.search(plain)
    if verb is None:
        return False
    subject = set(content_stems(question))
    before = content_stems(plain[: verb.start()])
    return bool(subject) and subject <= set(before) and len(before) <= len(subject) + 2
