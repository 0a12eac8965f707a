"""What kind of text a passage is, and where in it words stand that somebody says they copied."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.numbers import numbers
from local_rag.text.sentences import Span, sentences
from local_rag.text.words import words

ENGLISH = 0.15
"""Least share of English function words in English text; tables and other languages have fewer."""
ALIKE = 0.8
"""Least share of the words that a place must have to be taken for what was meant."""
LEAST_ALIKE = 4
"""Words from which a copy may differ at all: a shorter one must be exact."""

_WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)*")
_SIGNS_BEFORE, _SIGNS_AFTER = "$€£−-§", "%°€"
_ENTRY = re.compile(r"(?:\.[ .]{3,}|…+|\s{3,}|\t|\|)\s*(?:\d{1,4}|[ivxl]{1,6})\s*\|?$", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")


def is_contents(text: str) -> bool:
    """Whether a passage is (mostly) a table of contents or an index: lines that end in a page number."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return len(lines) > 2 and sum(bool(_ENTRY.search(line)) for line in lines) * 2 >= len(lines)


def is_prose(text: str) -> bool:
    """Whether most of a passage is whole sentences, not a table, a list of words, or code."""
    if is_contents(text):
        return False
    whole = [sentence for span in sentences(text) if _whole(sentence := span.of(text))]
    return sum(map(len, whole)) * 2 >= len(text.strip()) > 0


def _whole(sentence: str) -> bool:
    return len(sentence.split()) >= 5 and bool(_SENTENCE.search(sentence)) and "|" not in sentence


def is_english(text: str) -> bool:
    """Whether enough of the words are English function words."""
    found_words = words(text)
    return len(found_words) >= 5 and sum(word in STOP_WORDS for word in found_words) >= ENGLISH * len(found_words)


def located(copied: str, text: str) -> Span | None:
    """Where these words stand in a text, but for case, marks and white space; None where they do not.

    A copy of four words or more may differ in one of five, never in a number: the place most like it is taken.
    """
    spans = [match.span() for match in _WORD.finditer(text)]
    words_, wanted = [_folded(text[start:end]) for start, end in spans], list(map(_folded, _WORD.findall(copied)))
    if not wanted or len(wanted) > len(words_):
        return None
    size = len(wanted)
    starts = range(len(words_) - size + 1)
    first = next((start for start in starts if words_[start : start + size] == wanted), None)
    if first is None and size >= LEAST_ALIKE:
        first = _most_alike(words_, wanted)
    if first is None:
        return None
    return _with_signs(text, spans[first][0], spans[first + size - 1][1])


def _most_alike(words_: list[str], wanted: list[str]) -> int | None:
    size, count = len(wanted), Counter(wanted)
    best = max(range(len(words_) - size + 1), key=lambda start: _shared(words_[start : start + size], count))
    window = words_[best : best + size]
    if _shared(window, count) < ALIKE * size or numbers(" ".join(wanted)) != numbers(" ".join(window)):
        return None
    return best


def _shared(window: list[str], count: Counter[str]) -> int:
    return (Counter(window) & count).total()


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold().replace("’", "'")


def _with_signs(text: str, start: int, end: int) -> Span:
    """A number keeps its sign, its currency or its percent."""
    if start and text[start - 1] in _SIGNS_BEFORE and text[start].isdigit():
        start -= 1
    if end < len(text) and text[end] in _SIGNS_AFTER:
        end += 1
    return Span(start, end)


def sentence_at(text: str, span: Span) -> Span:
    """The sentence, or the sentences, of a text that hold a span."""
    touched = [sentence for sentence in sentences(text) if sentence.start < span.end and sentence.end > span.start]
    return Span(touched[0].start, touched[-1].end) if touched else span
