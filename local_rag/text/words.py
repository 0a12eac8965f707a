"""Words, stems, and English function words."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each either else ever few for from further had has have having
    he her here hers him his how i if in into is it its itself just let like many may me might more most much must my
    no nor not now of off on once one only or other our out over own per please shall she should since so some such
    than that the their them then there these they this those through to too under until up upon us very was we were
    what when where whether which while who whom whose why will with within without would you your""".split()
)
"""English function words. They carry no evidence in word coverage; every other language simply has none here."""
WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)*")
NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen 
        seventeen eighteen nineteen twenty""".split()
    )
} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90",
    "hundred": "100", "thousand": "1000", "million": "1000000", "billion": "1000000000",
    "once": "1", "twice": "2", "dozen": "12",
}  # fmt: skip


def words(text: str) -> list[str]:
    """Lower-case words and numbers, accents and compatibility forms folded, in order."""
    return [match.group() for match in WORD.finditer(fold(text))]


def fold(text: str) -> str:
    """Lower case without accents (NFKD). The length may change: never use its offsets on the original."""
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'"))
    return "".join(ch for ch in decomposed if not unicodedata.combining(ch)).casefold()


@cache
def _stemmer() -> object:
    import snowballstemmer

    return snowballstemmer.stemmer("porter")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Porter's stem of a lower-case word, as SQLite's `porter` tokenizer makes it (M. F. Porter, 1980)."""
    if not word.isascii():
        return word
    stemmed: str = _stemmer().stemWord(word.removesuffix("'s"))  # type: ignore[attr-defined]
    return stemmed


def content_words(text: str) -> list[str]:
    """The words that carry meaning: no stop words and no single letters (single digits stay), in order, once each."""
    kept = (w for w in words(text) if w not in STOP_WORDS and (len(w) > 1 or w.isdigit() or not w.isascii()))
    return list(dict.fromkeys(kept))


def content_stems(text: str) -> list[str]:
    """Stems of the content words, in order, once each."""
    return list(dict.fromkeys(stem(word) for word in content_words(text)))
