"""Short answers to one question, compared by what they say: the same, different, or not comparable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from local_rag.text.amounts import Amount, agree, amounts
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.moments import Moment, moments
from local_rag.text.words import fold, stem

Kind = Literal["date", "amount", "version", "name", "words"]
"""What a short answer is. `words` have no value by which they could be compared."""

_TITLES = frozenset(
    """mr mrs ms miss dr prof professor sir dame lord lady herr frau president chancellor king queen prince princess
    captain general judge justice saint st jr sr phd inc ltd llc gmbh ag co corp company corporation plc
    limited""".split()
)
"""What may stand before or behind a name without being of it."""
_VERSION = re.compile(r"\bv?(\d+(?:\.\d+)+|(?<=v)\d+)(?:[-.]?(?:rc|beta|alpha|b|a)\d*)?\b", re.IGNORECASE)
_VERSION_NAMED = re.compile(r"\b(?:version|release|v)\.? ?(\d+(?:\.\d+)*)", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_BEFORE = re.compile(
    r"(?:\b(?:about|around|approximately|roughly|nearly|almost|some|circa|ca\.?|approx\.?|over|under)\s+)?"
    r"(?:(?:[$€£¥~±]|\b(?:usd|eur|gbp|chf|jpy)\b)\s?)?(?<![\w.,])(?:[-−]?[\d.,]*)?$",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"[\d.,]*\d?(?:[\s-]{0,2}(?:hundred|thousand|million|billion|trillion|bn|mn|mio|k)\b)?"
    r"(?:\s?[$€£¥%]|[\s-]{0,2}(?:per cent|[^\W\d_]+))?"
)


class ShortAnswer(NamedTuple):
    """An answer as it is written, and `wide`: with its currency, its unit or the thing that is counted."""

    text: str
    wide: str


class Comparison(NamedTuple):
    """`same` is None where two answers cannot be compared; `kind` is what both are."""

    same: bool | None
    kind: Kind


def short_answer(passage: str, start: int, end: int) -> ShortAnswer:
    """Code points [start, end) of a passage as a short answer: "30" of "within 30 days" is one in days."""
    text = passage[start:end]
    wide = text
    if text[:1].isdigit() and (before := _BEFORE.search(passage[max(0, start - 30) : start])):
        wide = before.group() + wide
    if re.search(r"\d$|\b[a-z]+$", text) and amounts(text) and (behind := _BEHIND.match(passage, end)):
        wide += behind.group()
    return ShortAnswer(text, " ".join(wide.split()))


def compared(question: str, first: ShortAnswer, second: ShortAnswer) -> Comparison:
    """Whether two answers to a question say the same.

    Dates agree where one is less precise, amounts where one is rounded or in another unit, names where one is a part
    of the other, an abbreviation, or spelled slightly differently. An amount and a name cannot be compared.
    """
    if fold(first.text).split() == fold(second.text).split() and fold(first.wide) == fold(second.wide):
        return Comparison(True, "words")
    if versions := _versions(question, first, second):
        mine, theirs = versions
        common = min(len(mine), len(theirs))
        return Comparison(mine[:common] == theirs[:common], "version")
    dates = _dates(question, first), _dates(question, second)
    if all(dates):
        return Comparison(_any_agree(*dates), "date")
    counted = amounts(first.wide), amounts(second.wide)
    if any(dates):
        return Comparison(None, "date")
    if all(counted):
        return Comparison(_amounts_agree(*counted), "amount")
    if any(counted) and not (_names(first.text) and _names(second.text)):
        return Comparison(None, "amount")
    if _plain(first.text) == _plain(second.text):
        return Comparison(True, "words")
    return _words_compared(first.text, second.text)


def _plain(text: str) -> str:
    return "".join(token for token in _TOKEN.findall(fold(text)) if token not in ("the", "a", "an"))


def _versions(question: str, *answers: ShortAnswer) -> tuple[list[str], list[str]] | None:
    """The parts of two versions, 3.12 as 3 and 12; None where the question or the answers speak of none."""
    of_version = re.search(r"\b(?:version|release)\b", fold(question))
    parts = []
    for answer in answers:
        match = (_VERSION.search(answer.text) if of_version else None) or _VERSION_NAMED.search(answer.text)
        match = match or (re.search(r"\b(\d+)\b", answer.text) if of_version else None)
        if not match:
            return None
        parts.append(match.group(1).split("."))
    return parts[0], parts[1]


def _dates(question: str, answer: ShortAnswer) -> tuple[Moment, ...]:
    """The moments that an answer may mean; a bare year is one only where a time is asked for."""
    dates = moments(answer.text)
    bare = re.fullmatch(r"\D{0,8}\d{4}\D{0,3}", answer.text) and not re.search(r"[a-z]{3}", fold(answer.text)[-12:])
    if bare and not re.search(r"\b(?:when|year|date|day|deadline|since|until|till|time)\b", fold(question)):
        return ()
    if all(date.minute is not None and date == Moment(minute=date.minute) for date in dates) and dates:
        return dates if re.search(r":|[ap]\.?m|clock|noon|midnight|uhr", fold(answer.text)) else ()
    return dates


def _any_agree(first: Sequence[Moment], second: Sequence[Moment]) -> bool | None:
    verdicts = [mine.agrees(theirs) for mine in first for theirs in second]
    return True if True in verdicts else False if False in verdicts else None


def _amounts_agree(first: Sequence[Amount], second: Sequence[Amount]) -> bool | None:
    """Whether two answers with amounts agree: those with one by it, others (ranges, addresses) by any of them."""
    verdicts = [agree(mine, theirs) for mine in first for theirs in second]
    if True in verdicts:
        return True if len(first) == len(second) == 1 or _no_other(first, second) else None
    if _ranges_overlap(first, second):
        return True
    return False if False in verdicts else None


def _no_other(first: Sequence[Amount], second: Sequence[Amount]) -> bool:
    """Whether every amount of the shorter answer is in the other one."""
    few, many = sorted((first, second), key=len)
    return all(any(agree(amount, other) for other in many) for amount in few)


def _ranges_overlap(first: Sequence[Amount], second: Sequence[Amount]) -> bool:
    """Whether one is a range that the other lies in: 10 to 15."""
    for pair, single in ((first, second), (second, first)):
        if len(pair) == 2 and len(single) == 1 and pair[0].readings[0] < pair[1].readings[0]:
            return pair[0].readings[0] <= single[0].readings[0] <= pair[1].readings[0]
    return False


def _names(text: str) -> bool:
    """Whether a text holds a name: a word that begins with a capital."""
    return any(token[0].isupper() for token in _TOKEN.findall(text) if token.casefold() not in STOP_WORDS)


def _words_compared(first: str, second: str) -> Comparison:
    kind: Kind = "name" if _names(first) and _names(second) else "words"
    mine, theirs = _parts(first), _parts(second)
    if not mine or not theirs:
        return Comparison(None, kind)
    if _is_part(mine, theirs) or _is_part(theirs, mine) or _is_acronym(first, second) or _is_acronym(second, first):
        return Comparison(True, kind)
    return Comparison(False, kind)


def _parts(text: str) -> list[str]:
    """The words of a name that tell it from others, folded: no titles, no function words."""
    tokens = [token.removesuffix("'s") for token in _TOKEN.findall(fold(text).replace("’", "'"))]
    parts = [part for token in tokens for part in re.split(r"[.&-]", token) if part]
    return [part for part in parts if part not in STOP_WORDS and part not in _TITLES]


def _is_part(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether every word of a name is in the other one in the same order, written out or as an initial."""
    if len(short) > len(long):
        return False
    places = iter(long)
    if not all(any(_is_same_word(word, other, len(short)) for other in places) for word in short):
        return set(map(stem, short)) <= set(map(stem, long))
    return any(len(word) > 1 for word in short)


def _is_same_word(first: str, second: str, of: int) -> bool:
    """Whether two words are one, perhaps misspelled; in a name `of` several words Jon is John."""
    if first == second or stem(first) == stem(second):
        return True
    short, long = sorted((first, second), key=len)
    if len(short) == 1:
        return long.startswith(short)
    if of > 1 and len(short) >= 3 and len(long) == len(short) + 1:
        return short[0] == long[0] and _edits(short, long, 1) == 1
    return len(short) >= 5 and short[0] == long[0] and _edits(short, long, 2) <= (2 if len(short) >= 8 else 1)


def _edits(first: str, second: str, limit: int) -> int:
    """Letters by which two words differ (V. I. Levenshtein, 1966), or more than `limit`."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    row = list(range(len(second) + 1))
    for number, letter in enumerate(first, start=1):
        diagonal, row[0] = row[0], number
        for place, other in enumerate(second, start=1):
            diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, diagonal + (letter != other))
    return row[-1]


def _is_acronym(short: str, long: str) -> bool:
    """Whether one is made of the first letters of the other: UN, United Nations."""
    letters = re.sub(r"^[Tt]he |[\s.]", "", short)
    initials = "".join(word[0] for word in _TOKEN.findall(long) if word[0].isupper())
    return len(letters) >= 2 and letters.isupper() and letters == initials
