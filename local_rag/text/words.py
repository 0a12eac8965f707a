"""The words of a text, folded, and their stems."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from itertools import filterfalse
from threading import Lock

from local_rag.text.lexicon import STOP_WORDS

WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)*")


def words(text: str) -> list[str]:
    """Lower-case words and numbers, accents and compatibility forms folded, in order."""
    return [match.group() for match in WORD.finditer(fold(text))]


def fold(text: str) -> str:
    """Lower case without accents (NFKD). The length may change: never use its offsets on the original.

    Accents that stand alone are left out first: normalizing sorts a run of them, which takes quadratic time.
    """
    if text.isascii():
        return text.casefold()
    bare = "".join(filterfalse(unicodedata.combining, text.replace("’", "'")))
    return "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFKD", bare))).casefold()


_STEMMING = Lock()
"""A stemmer of snowballstemmer keeps the word that it works on: for one thread at a time."""


@cache
def _stemmer() -> object:
    import snowballstemmer

    return snowballstemmer.stemmer("porter")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Porter's stem of a lower-case word, as SQLite's `porter` tokenizer makes it (M. F. Porter, 1980)."""
    if not word.isascii():
        return word
    with _STEMMING:
        stemmed: str = _stemmer().stemWord(word.removesuffix("'s"))  # type: ignore[attr-defined]
    return stemmed


def content_words(text: str) -> list[str]:
    """The words that carry meaning: no stop words and no single letters (single digits stay), in order, once each."""
    kept = (w for w in words(text) if w not in STOP_WORDS and (len(w) > 1 or w.isdigit() or not w.isascii()))
    return list(dict.fromkeys(kept))


def content_stems(text: str) -> list[str]:
    """Stems of the content words, in order, once each."""
    return list(dict.fromkeys(stem(word) for word in content_words(text)))


def query_key(query: str) -> str:
    """What queries are compared by: they are the same if only case or white space differ."""
    return " ".join(query.casefold().split())
