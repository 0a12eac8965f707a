"""The names of a text: words that are capitalised inside a sentence, or hold capitals or digits."""

from __future__ import annotations

import re
from functools import lru_cache

from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.marks import without_marks
from local_rag.text.sentences import sentences
from local_rag.text.words import WORD, fold, words


def names(text: str) -> set[str]:
    """The words of the names, folded; no function words."""
    plain = without_marks(text)
    return {word for name in written_names(plain) for word in words(name)} - STOP_WORDS


@lru_cache(maxsize=4096)
def written_names(text: str) -> tuple[str, ...]:
    """The names as they are written, in order.

    A function word is a name only after another word: US, May, not the first word of what somebody said.
    """
    written: list[str] = []
    for span in sentences(text):
        sentence = span.of(text)
        for match in WORD.finditer(sentence):
            word = match.group()
            inside = match.start() > 0 and word[0].isupper() and len(word) > 1
            if inside and not _mixed(word) and fold(word) in STOP_WORDS:
                inside = bool(re.search(r"[\w,] $", sentence[: match.start()]))
            if inside or _mixed(word):
                written.append(word.removesuffix("'s"))
    return tuple(written)


def _mixed(word: str) -> bool:
    """Whether a word has capitals inside, or both digits and letters."""
    return any(ch.isupper() for ch in word[1:]) or (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))
