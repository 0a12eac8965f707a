"""Does a passage say what a sentence says? Decided by comparing words; where in doubt, no."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from local_rag.core.answer import QuoteMatch
from local_rag.text.marks import marks, without_marks
from local_rag.text.sentences import Span, sentences, stripped
from local_rag.text.words import NUMBER_WORDS, STOP_WORDS, content_stems, fold, stem, words

CLOSE = 0.8
"""A quote is close to its sentence when it holds more than this share of the sentence's content words (stemmed).

One foreign word in five is too many: "the board rejected the plan" and "the board approved the plan" share two of
three. Numbers are compared by value and count for nothing here.
"""

QUOTE_SENTENCES = 3
"""The longest quote, in sentences of the passage, that is put beside a sentence which is no verbatim copy."""

LIKE = 88.0
"""Similarity (0 to 100, rapidfuzz's partial_ratio) from which letters are nearly the same: one letter in eight."""

SHORTEST = 20
"""Characters below which letters say too little: "in the garden" is near many places."""

PART_WORDS = 8
"""Words from which a verbatim part of a sentence may stand for itself."""

_NEGATIONS = frozenset(
    """not no never none nor neither cannot without nothing nobody hardly rarely seldom scarcely barely
    false falsely untrue""".split()
)
_CONDITIONS = frozenset("if unless only except allegedly supposedly whether".split())
"""Words that, left out of a quotation, change what it says."""
_BACK = frozenset("it its they them their he she his her this these those that such both".split())
"""First words of a sentence that goes on about the one before it."""
_TURNS = {
    word: group.split()[0]
    for group in (
        "all every each both,some,few,most,only,before,after,until,must shall,may,should,more over above exceeding,"
        "less under below fewer,first,second,third,fourth,fifth,last,if,unless,except,allegedly supposedly"
    ).split(",")
    for word in group.split()
}
"""Small words that turn a sentence, by meaning; they are too common to count as content."""
_MAY_GO = frozenset("all only first second third fourth fifth last".split())
_SAID_AS_WELL_BY = {
    "may": frozenset("can could might".split()),
    "if": frozenset("when where whenever whether provided case".split()),
    "must": frozenset("has have had need needs required".split()),
}
_OPPOSITES = [
    (frozenset(map(stem, one.split())), frozenset(map(stem, other.split())))
    for one, other in (
        (
            "increase increased rise rises rose risen grow grew grown",
            "decrease decreased fall falls fell fallen shrank",
        ),
        ("accept accepted approve approved adopt adopted", "reject rejected refuse refused decline declined"),
        ("allow allowed permit permitted legal", "forbid forbidden forbade prohibit prohibited banned illegal"),
        ("buy buys bought", "sell sells sold"),
        ("win wins won", "lose loses lost"),
        ("start starts begin begins began", "end ends stop stops"),
        ("include included includes", "exclude excluded excludes"),
        ("minimum least", "maximum most"),
        ("high higher highest", "low lower lowest"),
    )
]
_OPPOSITE_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non")
_CONTRAST = re.compile(r"(?:\bbut|\band|,) not\b|\brather than\b|\binstead of\b", re.IGNORECASE)

_UNITS = {"percent": "%", "euro": "€", "euros": "€", "eur": "€", "dollar": "$", "dollars": "$", "usd": "$"} | {
    "pound": "£", "pounds": "£", "gbp": "£",
}  # fmt: skip
_MAGNITUDES = {"hundred", "thousand", "million", "billion"}
_TOKEN = re.compile(
    r"(?<![\w)\]])-(?=[$€£]?\d)|[$€£%]|(?<![\d.])\d{4}-\d\d-\d\d(?!\d)|\d+(?:[.,:/]\d+)*|[^\W_]+(?:'[^\W_]+)*"
)
_LEAD = re.compile(r"(?:[\s\"'“”„«»‘’(\[*_#>|]|[-+•◦▪‣–](?=\s)|\(?(?:\d{1,3}|[a-zA-Z])[.)](?=\s))*")
_TRAIL = re.compile(r"(?:[\s.!…。！\"'“”’»)\]*_:;,|]|\[\d+(?:\s*[-–,;]\s*\d+)*\])*\Z")
_INVISIBLE = r"\u00ad\s*|[\u200b-\u200f\u2060\ufeff]"
_THOUSANDS = r"(?<=\d)(?<!\d{4})[,'’ \u00a0\u2009\u202f](?=\d{3}(?!\d))"
_UNWRITTEN = re.compile(rf"{_INVISIBLE}|(?<=[^\W\d_])[-‐]\n\s*(?=[^\W\d_])|{_THOUSANDS}")
_UNCOMPARED = re.compile(rf"{_INVISIBLE}|(?<=[^\W\d_])[-‐‑]\s*(?=[^\W\d_])|{_THOUSANDS}")
_SAME = str.maketrans(dict.fromkeys("“”„«»", '"') | dict.fromkeys("‘’‚", "'") | dict.fromkeys("‐‑–—−", "-"))


class Evidence(NamedTuple):
    """The part of a passage to put beside a sentence, whether it carries the sentence, and how it was found."""

    span: Span
    verified: bool
    located: QuoteMatch


@lru_cache(maxsize=256)
def evidence(sentence: str, passage: str) -> Evidence:
    """Where a passage says a sentence: word for word, nearly so letter by letter, else by the words that they share.

    Cached, because an answer is checked when it is written and again when it is handed over.
    """
    exact = verbatim(sentence, passage)
    if exact:
        return Evidence(exact, True, "exact")
    pieces = sentences(passage) or [stripped(passage, 0, len(passage))]
    stems = _stems(_tidy(sentence))
    best, best_key = pieces[0], (False, -1.0, 0)
    for size in range(1, QUOTE_SENTENCES + 1):
        for first in range(len(pieces) - size + 1):
            parts = [piece.of(passage) for piece in pieces[first : first + size]]
            key = (supports(parts, sentence), _coverage(stems, parts), -size)
            if key > best_key:
                best, best_key = Span(pieces[first].start, pieces[first + size - 1].end), key
    alike = nearly(sentence, passage)
    if alike and not best_key[0]:
        touched = [piece for piece in pieces if piece.start < alike.end and alike.start < piece.end]
        best = Span(touched[0].start, touched[-1].end) if touched else alike
    return Evidence(best, best_key[0], "near" if alike else "words")


def nearly(sentence: str, passage: str) -> Span | None:
    """Where a passage holds nearly the same letters as a sentence; None where nothing is near enough.

    The best alignment of the sentence with a part of the passage, by their longest common subsequence: a reading error
    or another form of a word costs little, another word costs more.
    """
    from rapidfuzz import fuzz

    plain = _LEAD.sub("", without_marks(sentence), count=1).strip()
    if len(plain) < SHORTEST or len(passage) < len(plain) * LIKE / 100:
        return None
    found = fuzz.partial_ratio_alignment(_lower(plain), _lower(passage), score_cutoff=LIKE)
    return stripped(passage, found.dest_start, found.dest_end) if found else None


def _lower(text: str) -> str:
    """Lower case that keeps every code point's place."""
    return "".join(low if len(low := ch.lower()) == 1 else ch for ch in text)


def verbatim(sentence: str, passage: str) -> Span | None:
    """Where a passage says the same words in one or more whole sentences, or in a safe part of a sentence."""
    if not words(sentence):
        return None
    pieces = [_inner(passage, piece) for piece in sentences(passage)]
    found = list(_located(sentence, passage))
    starts, ends = {piece.start for piece in pieces}, {piece.end for piece in pieces}
    for span in found:
        inner = _inner(passage, span)
        if inner.start in starts and inner.end in ends:
            return span
    return next((span for span in found if _safe_part(span, passage)), None)


def supports(parts: Sequence[str], sentence: str) -> bool:
    """Whether neighbouring sentences of a passage carry a sentence."""
    said, there = _tidy(_LEAD.sub("", sentence, count=1)), [_tidy(part) for part in parts]
    stems, whole = _stems(said), "\n".join(there)
    if _coverage(stems, there) <= CLOSE or not _hang_together(there, stems):
        return False
    core = max(there, key=lambda part: _coverage(stems, [part]))
    if core.endswith("?") and not said.endswith("?"):
        return False
    return (
        _denies(said) == any(_denies(part) for part in there)
        and _numbers_stand_in(said, whole)
        and _names_stand_in(said, whole)
        and _same_order(said, whole)
        and _turns_alike(said, whole, core)
        and not _opposite(said, whole)
        and _same_contrast(said, whole)
    )


def _located(sentence: str, passage: str) -> Iterator[Span]:
    """Where a passage reads like the sentence: the same but for white space, case, marks and hyphenation."""
    wanted, _ = _plain(sentence)
    text, positions = _plain(passage)
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield Span(positions[at], positions[at + len(wanted) - 1] + 1)
        at = text.find(wanted, at + 1)


@lru_cache(maxsize=64)
def _plain(text: str) -> tuple[str, list[int]]:
    """Folded as far as two copies of a text may differ, with the position in `text` of every character that is left."""
    hidden = [span for span, _ in marks(text)] + [Span(*match.span()) for match in _UNCOMPARED.finditer(text)]
    skipped = {position for span in hidden for position in range(*span)}
    kept: list[str] = []
    positions: list[int] = []
    for position, character in enumerate(text):
        if position in skipped:
            continue
        for one in _compatible(character).casefold():
            if one.isspace() and (not kept or kept[-1] == " "):
                continue
            kept.append(" " if one.isspace() else one)
            positions.append(position)
    while kept and kept[-1] == " ":
        kept.pop()
        positions.pop()
    return "".join(kept), positions


def _compatible(character: str) -> str:
    """Full-width digits, ligatures and typographic quotes in their plain form; 10² is not 102."""
    if unicodedata.decomposition(character).startswith(("<super>", "<sub>")):
        return character
    return unicodedata.normalize("NFKD", character).translate(_SAME)


@lru_cache(maxsize=4096)
def _tidy(text: str) -> str:
    """Without marks, invisible characters, hyphens at line ends and thousands separators; compatible characters."""
    plain = _UNWRITTEN.sub("", without_marks(text))
    return unicodedata.normalize("NFC", "".join(map(_compatible, plain))).strip()


def _inner(text: str, span: Span) -> Span:
    """A span without bullets, quotes and brackets before it and without its full stop."""
    lead = _LEAD.match(text, span.start, span.end)
    trail = _TRAIL.search(text, span.start, span.end)
    return Span(lead.end() if lead else span.start, trail.start() if trail else span.end)


def _safe_part(span: Span, passage: str) -> bool:
    """Whether a part of a sentence says the same alone: nothing that denies or limits it, and no number, is cut off."""
    around = [piece for piece in sentences(passage) if piece.end > span.start and piece.start < span.end]
    if not around or len(words(span.of(passage))) < PART_WORDS:
        return False
    before, after = passage[around[0].start : span.start], passage[span.end : around[-1].end]
    outside = f"{before} … {after}"
    if _denies(outside) or _CONDITIONS & set(words(outside)):
        return False
    tokens = _TOKEN.findall(_tidy(span.of(passage)))
    begins = not before.strip() or bool(re.search(r"[,;:|–—]\s+$" if _is_number(tokens[0]) else r"[\s(\"“„]$", before))
    goes_on = re.match(r"[,;:.]\s|\s*$" if _is_number(tokens[-1]) else r"[\s,;:.!?)\"”|]|$", after)
    return begins and bool(goes_on)


def _is_number(token: str) -> bool:
    return token[0].isdigit() or token.casefold() in NUMBER_WORDS


def _hang_together(parts: Sequence[str], stems: Sequence[str]) -> bool:
    """Whether each later sentence goes on about the one before, and each brings words that the others lack.

    "Alice earns 50. Bob earns 70." does not say what Alice earns twice over.
    """
    listed = parts[0].endswith(":")
    for part in parts[1:]:
        if (words(part) or [""])[0] not in _BACK and not (listed and _is_item(part)):
            return False
    for number, part in enumerate(parts):
        others = {one for place, other in enumerate(parts) if place != number for one in _stems(other)}
        if len(parts) > 1 and not (set(stems) & set(_stems(part))) - others:
            return False
    return True


def _is_item(part: str) -> bool:
    return bool(re.match(r"[-+•◦▪‣*]\s|\(?\w{1,3}[.)]\s", part))


def _denies(text: str) -> bool:
    return any(word in _NEGATIONS or word.endswith("n't") for word in words(text))


@lru_cache(maxsize=4096)
def _stems(text: str) -> tuple[str, ...]:
    """The content stems without numbers, which are compared by value."""
    return tuple(one for one in content_stems(text) if not _is_number(one))


def _coverage(stems: Sequence[str], parts: Sequence[str]) -> float:
    there = {one for part in parts for one in _stems(_tidy(part))}
    return sum(one in there for one in stems) / len(stems) if stems else 0.0


class _Number(NamedTuple):
    """Its place among the words, its value ("-5", "4000000", "2024-05-12") and $, €, £, % or nothing."""

    place: int
    value: str
    unit: str


def _numbers(text: str) -> list[_Number]:
    tokens = [*_TOKEN.findall(text), "", ""]
    found: list[_Number] = []
    for place, token in enumerate(tokens):
        word = token.casefold()
        if not token or not _is_number(token) or word in {"one", "once"}:
            continue
        value = word if token[0].isdigit() else NUMBER_WORDS[word]
        before, after = tokens[place - 1] if place else "", tokens[place + 1].casefold()
        if word in _MAGNITUDES and found and found[-1].place == place - 1:
            value, before = _times(found.pop().value, value), tokens[place - 2]
        unit = (
            before if before in {"$", "€", "£"} else _UNITS.get(after, after if after in {"%", "$", "€", "£"} else "")
        )
        minus = "-" in (before, tokens[place - 2] if place > 1 and before in {"$", "€", "£"} else "")
        found.append(_Number(place, f"-{value}" if minus else value, unit))
    return found


def _times(count: str, magnitude: str) -> str:
    if not re.fullmatch(r"-?\d+(?:\.\d+)?", count):
        return f"{count} {magnitude}"
    return f"{(Decimal(count) * Decimal(magnitude)).normalize():f}"


def _numbers_stand_in(said: str, quote: str) -> bool:
    """Whether the quote has every number, with its unit; a currency may be left out or stand elsewhere."""
    there = _numbers(quote)
    elsewhere = {_UNITS.get(token.casefold(), token) for token in _TOKEN.findall(quote)}
    return all(
        any(
            number.value == other.value
            and (number.unit in ("", other.unit) or (not other.unit and number.unit in elsewhere))
            and (number.unit or other.unit != "%")
            for other in there
        )
        for number in _numbers(said)
    )


def _names(text: str) -> list[str]:
    """Words as written that look like names: capitalised inside a sentence, or with inner capitals or digits.

    A function word is one only after another word: US, May, not the first word of what somebody said.
    """
    found: list[str] = []
    for sentence in sentences(text):
        piece = sentence.of(text)
        for match in re.finditer(r"[^\W_]+(?:'[^\W_]+)*", piece):
            word = match.group()
            odd = any(ch.isupper() for ch in word[1:]) or (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))
            inside = match.start() > 0 and word[0].isupper() and len(word) > 1
            if not odd and word.casefold() in STOP_WORDS:
                inside = inside and bool(re.search(r"[\w,] $", piece[: match.start()]))
            if odd or inside:
                found.append(word.removesuffix("'s"))
    return found


def _names_stand_in(said: str, quote: str) -> bool:
    """Whether the quote has every name; one that is a common word too (US, May) in the same writing."""
    exact = {word.removesuffix("'s") for word in re.findall(r"[^\W_]+(?:'[^\W_]+)*", quote)}
    folded = set(map(fold, exact))
    return all(name in exact if name.casefold() in STOP_WORDS else fold(name) in folded for name in _names(said))


def _same_order(said: str, quote: str) -> bool:
    """Whether names and numbers that both texts hold once stand in the same order: who sold to whom."""
    wanted = set(map(fold, _names(said) + _names(quote))) - STOP_WORDS
    orders = []
    for text in (said, quote):
        tokens = [fold(token).removesuffix("'s") for token in _TOKEN.findall(text)]
        places = [(place, token) for place, token in enumerate(tokens) if token in wanted]
        orders.append([name for _, name in sorted(places + [(one.place, one.value) for one in _numbers(text)])])
    once = {name for name in orders[0] if orders[0].count(name) == orders[1].count(name) == 1}
    first, second = ([name for name in order if name in once] for order in orders)
    return first == second


def _turns(text: str) -> set[str]:
    return {_TURNS[word] for word in re.findall(r"[a-z]+", text[:1].lower() + text[1:]) if word in _TURNS}


def _turns_alike(said: str, quote: str, core: str) -> bool:
    """Whether all, only, before, must, … stand in both; "every pump" may become "pumps", not the other way round."""
    added = _turns(said) - _turns(quote)
    lost = _turns(core) - _turns(said) - _MAY_GO
    return not any(
        not _SAID_AS_WELL_BY.get(turn, frozenset()) & set(words(other))
        for turns, other in ((added, quote), (lost, said))
        for turn in turns
    )


def _opposite(said: str, quote: str) -> bool:
    """Whether one text rises where the other falls, or is lawful where the other is unlawful."""
    here, there = set(content_stems(said)) | set(words(said)), set(content_stems(quote)) | set(words(quote))
    only_here, only_there = here - there, there - here
    if any(
        (one & only_here and other & only_there) or (other & only_here and one & only_there)
        for one, other in _OPPOSITES
    ):
        return True
    return any(
        f"{prefix}{word}" in longer
        for shorter, longer in ((only_here, only_there), (only_there, only_here))
        for word in shorter
        for prefix in _OPPOSITE_PREFIXES
        if len(word) > 3
    )


def _same_contrast(said: str, quote: str) -> bool:
    """Whether "covers one but not the other" names the same one and the same other."""
    (here, there) = (_CONTRAST.split(text, maxsplit=1) for text in (said, quote))
    if len(here) < 2 or len(there) < 2:
        return True
    return set(_stems(here[1])) <= set(_stems(there[1]))
