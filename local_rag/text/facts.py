"""The numbers and names of a text."""

from __future__ import annotations

import re

from local_rag.text.marks import without_marks
from local_rag.text.sentences import sentences
from local_rag.text.words import NUMBER_WORDS, STOP_WORDS, WORD, words

_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")


def numbers(text: str) -> set[str]:
    """The numbers of a text as digits: "1,200" is 1200, "two" is 2. Marks like [3] and the word "one" do not count."""
    plain = without_marks(text)
    digits = {_plain_number(match.group()) for match in _NUMBER.finditer(plain)}
    return digits | {NUMBER_WORDS[word] for word in words(plain) if word in NUMBER_WORDS and word != "one"}


def _plain_number(number: str) -> str:
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")
    return number


def names(text: str) -> set[str]:
    """Folded words that look like names: capitalised inside a sentence, or with capitals or digits inside the word."""
    found: set[str] = set()
    plain = without_marks(text)
    for sentence in sentences(plain):
        for position, match in enumerate(WORD.finditer(sentence.of(plain))):
            word = match.group()
            inner = any(ch.isupper() for ch in word[1:]) or (
                any(map(str.isdigit, word)) and any(map(str.isalpha, word))
            )
            if inner or (position > 0 and word[0].isupper() and len(word) > 1):
                found.update(words(word))
    return {word for word in found if word not in STOP_WORDS}
