"""The names of a text: words that are capitalised inside a sentence, or hold capitals or digits."""

from __future__ import annotations

import re

from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.marks import without_marks
from local_rag.text.sentences import sentences
from local_rag.text.words import WORD, fold, words

_WRITTEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def names(text: str) -> set[str]:
    """The words of the names, folded; no function words."""
    plain = without_marks(text)
    folded: set[str] = set()
    for sentence in sentences(plain):
        for position, match in enumerate(WORD.finditer(sentence.of(plain))):
            word = match.group()
            if _mixed(word) or (position > 0 and word[0].isupper() and len(word) > 1):
                folded.update(words(word))
    return folded - STOP_WORDS


def _mixed(word: str) -> bool:
    """Whether a word has capitals inside, or both digits and letters."""
    return any(ch.isupper() for ch in word[1:]) or (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))


def written_names(text: str) -> list[str]:
    """The names as they are written, in order, of a tidied text (see `alignment.tidy`).

    A function word is a name only after another word: US, May, not the first word of what somebody said.
    """
    written: list[str] = []
    for span in sentences(text):
        sentence = span.of(text)
        for match in _WRITTEN.finditer(sentence):
            word = match.group()
            inside = match.start() > 0 and word[0].isupper() and len(word) > 1
            if inside and not _mixed(word) and word.casefold() in STOP_WORDS:
                inside = bool(re.search(r"[\w,] $", sentence[: match.start()]))
            if inside or _mixed(word):
                written.append(word.removesuffix("'s"))
    return written


def holds_names(quote: str, sentence: str) -> bool:
    """Whether a quote has every name of a sentence; one that is a common word too (US, May) in the same writing."""
    exact = {word.removesuffix("'s") for word in _WRITTEN.findall(quote)}
    folded = set(map(fold, exact))
    return all(
        name in exact if name.casefold() in STOP_WORDS else fold(name) in folded for name in written_names(sentence)
    )
