"""Split a text into its words, tidied and folded, and their stems."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import filterfalse
from threading import Lock
from typing import Any

from local_rag.text.lexicon import STOP_WORDS

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean (Unicode 15, Blocks.txt), as the inside of a character class.
These scripts have no blanks between words, or attach endings to them, so each sign counts as a word.
"""
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:[’'][^\W_{UNSPACED}]+)*")
BAR = " | "
"""The separator between the cells of a row, as `index/parse/tables.py` writes it."""
BULLET = r"(?:[-*+•◦▪‣–●■]|\(?(?:\d{1,3}|[a-z])[.)])"
"""The beginning of a list item, as a regular expression; a blank follows."""
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""The invisible characters of Default_Ignorable_Code_Point in Unicode 15 (DerivedCoreProperties.txt), which
`unicodedata` does not provide, as the inside of a character class.
"""
_UNWRITTEN = re.compile(rf"\u00ad\s*|[{IGNORABLE}]|(?<=[^\W\d_])[-‐‑]\s+(?=[^\W\d_])")
_SAME_SIGN = str.maketrans(
    dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("‘’‚", "'")
    | dict.fromkeys("‐‑–—−", "-")
    | dict.fromkeys("\u00a0\u2009\u202f", " ")
)


def collapsed(text: str) -> str:
    """Return a text with single blanks in place of its white space, and none at its ends."""
    return " ".join(text.split())


def indentation(text: str) -> int:
    """Count the characters of white space at the beginning of a text."""
    return len(text) - len(text.lstrip())


def words(text: str) -> list[str]:
    """Return the lower-case words and numbers of a text, accents and compatibility forms folded, in order."""
    return [match.group() for match in WORD.finditer(fold(text))]


def fold(text: str) -> str:
    """Return a text in lower case without accents (NFKD). The length may change: never use its offsets on the original.

    Accents that stand alone are removed first, because normalization sorts a run of them in quadratic time.
    """
    if text.isascii():
        return text.casefold()
    bare = "".join(filterfalse(unicodedata.combining, text.replace("’", "'")))
    plain = "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFKD", bare)))
    return unicodedata.normalize("NFC", plain).casefold()  # which makes syllables of Korean letters again


@lru_cache(maxsize=4096)
def tidy(text: str) -> str:
    """Return a text in the form in which copies of it are equal, with its case: see `tidied`."""
    return "".join(character for character, _ in tidied(text)).strip()


def tidied(text: str, without: Iterable[tuple[int, int]] = ()) -> Iterator[tuple[str, int]]:
    """Yield the characters of a text with their positions: without accents, invisible characters and hyphens at the
    ends of lines, with plain quotes, dashes and blanks, and one blank for several. 10² does not become 102.

    `without` are the starts and ends of parts that are left out.
    """
    unwritten = (match.span() for match in _UNWRITTEN.finditer(text))
    hidden = {position for span in (*without, *unwritten) for position in range(*span)}
    blank = True
    for position, character in enumerate(text):
        if position in hidden:
            continue
        plain = character
        if not character.isascii() and not unicodedata.decomposition(character).startswith(("<super>", "<sub>")):
            plain = unicodedata.normalize("NFKD", character.translate(_SAME_SIGN)).translate(_SAME_SIGN)
        for letter in plain:
            if not unicodedata.combining(letter) and not (letter.isspace() and blank):
                blank = letter.isspace()
                yield " " if blank else letter, position


_STEMMING = Lock()
"""A lock for the stemmers of snowballstemmer, which keep the current word: one thread at a time may use them."""


@cache
def _stemmer(algorithm: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(algorithm)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return Porter's stem of a lower-case word, as SQLite's `porter` tokenizer makes it (M. F. Porter, 1980)."""
    return snowball(word.removesuffix("'s"), "porter") if word.isascii() else word


@lru_cache(maxsize=100_000)
def snowball(word: str, algorithm: str) -> str:
    """Return the stem of a lower-case word with its accents by an algorithm of Snowball, such as "german"."""
    with _STEMMING:
        stemmed: str = _stemmer(algorithm).stemWord(word)
    return stemmed


def content_words(text: str) -> list[str]:
    """Return the words that carry meaning: no stop words and no single letters (single digits stay), in order, once
    each.
    """
    kept = (w for w in words(text) if w not in STOP_WORDS and (len(w) > 1 or w.isdigit() or not w.isascii()))
    return list(dict.fromkeys(kept))


def content_stems(text: str) -> list[str]:
    """Return the stems of the content words, in order, once each."""
    return list(dict.fromkeys(stem(word) for word in content_words(text)))


def shared_stems(first: str, second: str) -> int:
    """Count the stems of content words that both texts hold."""
    return len(set(content_stems(first)) & set(content_stems(second)))


def query_key(query: str) -> str:
    """Return the key by which queries are compared: equal for queries with the same content words, whatever their
    inflection and order. A query without content words has its letters as key.
    """
    return " ".join(sorted(content_stems(query))) or " ".join(query.casefold().split())
