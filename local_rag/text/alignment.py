"""Where a passage reads like a sentence: letter by letter, but for what two copies of a text may differ in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from local_rag.text import lexicon
from local_rag.text.marks import marks, without_marks
from local_rag.text.negation import denies
from local_rag.text.numbers import TOKEN, is_number
from local_rag.text.sentences import Span, sentences, stripped
from local_rag.text.words import words

LIKE = 88.0
"""Similarity (0 to 100, rapidfuzz's partial_ratio) from which letters are nearly the same: one letter in eight."""

SHORTEST = 20
"""Characters below which letters say too little: "in the garden" is near many sentences."""

PART_WORDS = 8
"""Words from which a verbatim part of a sentence may stand for itself."""

_LEAD = re.compile(r"(?:[\s\"'“”„«»‘’(\[*_#>|]|[-+•◦▪‣–](?=\s)|\(?(?:\d{1,3}|[a-zA-Z])[.)](?=\s))*")
_SIGNS = r"[\s.!…。！\"'“”’»)\]*_:;,|]"
_TRAIL = re.compile(rf"(?<!{_SIGNS})(?:{_SIGNS}|\[\d++(?:\s*+[-–,;]\s*+\d++)*+\])*+\Z")
_LABEL = re.compile(r"[*_|>#:]*[A-Za-z][\w-]*(?: [\w-]+){0,3}[*_]*:+(?:[*_]*\s|$)")
_INVISIBLE = r"\u00ad\s*|[\u200b-\u200f\u2060\ufeff]"
_THOUSANDS = r"(?<=\d)(?<!\d{4})[,'’ \u00a0\u2009\u202f](?=\d{3}(?!\d))"
_UNWRITTEN = re.compile(rf"{_INVISIBLE}|(?<=[^\W\d_])[-‐]\n\s*(?=[^\W\d_])|{_THOUSANDS}")
_UNCOMPARED = re.compile(rf"{_INVISIBLE}|(?<=[^\W\d_])[-‐‑]\s*(?=[^\W\d_])|{_THOUSANDS}")
_SAME_SIGN = str.maketrans(dict.fromkeys("“”„«»", '"') | dict.fromkeys("‘’‚", "'") | dict.fromkeys("‐‑–—−", "-"))


def verbatim(sentence: str, passage: str) -> Span | None:
    """Where a passage says the same words in one or more whole sentences, or in a safe part of a sentence."""
    if not words(sentence):
        return None
    whole = [_inner(passage, span) for span in sentences(passage)]
    starts, ends = {span.start for span in whole}, {span.end for span in whole}
    copies = list(_copies(sentence, passage))
    for span in copies:
        inner = _inner(passage, span)
        if (inner.start in starts and inner.end in ends) or _is_field(span, passage):
            return span
    return next((span for span in copies if _safe_part(span, passage)), None)


def nearly(sentence: str, passage: str) -> Span | None:
    """Where a passage holds nearly the same letters as a sentence; None where nothing is near enough.

    The best alignment of the sentence with a part of the passage, by their longest common subsequence: a reading error
    or another form of a word costs little, another word costs more.
    """
    from rapidfuzz import fuzz

    plain = without_lead(without_marks(sentence)).strip()
    if len(plain) < SHORTEST or len(passage) < len(plain) * LIKE / 100:
        return None
    alignment = fuzz.partial_ratio_alignment(_lower(plain), _lower(passage), score_cutoff=LIKE)
    return stripped(passage, alignment.dest_start, alignment.dest_end) if alignment else None


def _lower(text: str) -> str:
    """Lower case that keeps every code point where it is."""
    return "".join(low if len(low := ch.lower()) == 1 else ch for ch in text)


def _copies(sentence: str, passage: str) -> Iterator[Span]:
    """Where a passage reads like the sentence: the same but for white space, case, marks and hyphenation."""
    wanted, _ = _plain(sentence)
    text, positions = _plain(passage)
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        yield Span(positions[start], positions[start + len(wanted) - 1] + 1)
        start = text.find(wanted, start + 1)


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
        for letter in _compatible(character).casefold():
            if letter.isspace() and (not kept or kept[-1] == " "):
                continue
            kept.append(" " if letter.isspace() else letter)
            positions.append(position)
    while kept and kept[-1] == " ":
        kept.pop()
        positions.pop()
    return "".join(kept), positions


def _compatible(character: str) -> str:
    """Full-width digits, ligatures and typographic quotes in their plain form; 10² is not 102."""
    if unicodedata.decomposition(character).startswith(("<super>", "<sub>")):
        return character
    return unicodedata.normalize("NFKD", character).translate(_SAME_SIGN)


@lru_cache(maxsize=4096)
def tidy(text: str) -> str:
    """Without marks, invisible characters, hyphens at line ends and thousands separators; compatible characters."""
    plain = _UNWRITTEN.sub("", without_marks(text))
    return unicodedata.normalize("NFC", "".join(_stream_safe("".join(map(_compatible, plain))))).strip()


def _stream_safe(text: str) -> Iterator[str]:
    """At most 30 combining marks in a row (UAX 15, section 13): normalizing takes quadratic time for more."""
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= 30:
            yield character


def without_lead(sentence: str) -> str:
    """A sentence without the bullet, number, quotes and brackets before it."""
    return _LEAD.sub("", sentence, count=1)


def _inner(text: str, span: Span) -> Span:
    """A span without bullets, quotes and brackets before it and without its full stop."""
    inner = span.of(text)
    lead, trail = _LEAD.match(inner), _TRAIL.search(inner)
    return Span(span.start + (lead.end() if lead else 0), span.start + (trail.start() if trail else len(inner)))


def _is_field(span: Span, passage: str) -> bool:
    """Whether a part is all of a labelled line, "Author: Ann Lee", with the lines that go on with it: no sentence says
    more than it, though the lines of a head together read as one.
    """
    before = passage[passage.rfind("\n", 0, span.start) + 1 : span.start]
    rest, _, after = passage[span.end :].partition("\n")
    if before.strip(" \t*_|>#:") or rest.strip(" \t*_|,;.>") or not _LABEL.match(span.of(passage)):
        return False
    following = after.partition("\n")[0]
    return not words(following) or bool(_LABEL.match(following))


def _safe_part(span: Span, passage: str) -> bool:
    """Whether a part of a sentence says the same alone: nothing that denies or limits it, and no number, is cut off."""
    around = [other for other in sentences(passage) if other.end > span.start and other.start < span.end]
    if not around or len(words(span.of(passage))) < PART_WORDS:
        return False
    before, after = passage[around[0].start : span.start], passage[span.end : around[-1].end]
    outside = f"{before} … {after}"
    if denies(words(outside), lexicon.NEAR_NEGATIONS) or lexicon.CONDITIONS & set(words(outside)):
        return False
    tokens = TOKEN.findall(tidy(span.of(passage)))
    begins = not before.strip() or bool(re.search(r"[,;:|–—]\s+$" if is_number(tokens[0]) else r"[\s(\"“„]$", before))
    goes_on = re.match(r"[,;:.]\s|\s*$" if is_number(tokens[-1]) else r"[\s,;:.!?)\"”|]|$", after)
    return begins and bool(goes_on)
