"""Whether one text turns round what another says: denials, opposites, turning words and contrasts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from local_rag.text import lexicon
from local_rag.text.support import denied
from local_rag.text.words import fold, stem

_NARROWING = re.compile(
    r"\b(?:most|least|only|first|last|original|main|primary|final|ever|all|every|never|always|mostly|exclusively"
    r"|solely|(?!(?:for|inter|inv|sugg|cont|prot|requ|hon|mod|harv|arr|manif|conqu)est\b)\w{3,}est)\b"
)


def _antonyms() -> dict[str, set[str]]:
    antonyms: dict[str, set[str]] = {}
    for entry in lexicon.ANTONYMS.split():
        first, *others = map(stem, entry.split(":"))
        for other in others:
            antonyms.setdefault(first, set()).add(other)
            antonyms.setdefault(other, set()).add(first)
    return antonyms


_ANTONYMS = _antonyms()


def denies(text_words: Iterable[str], also: Set[str] = frozenset()) -> bool:
    """Whether a text denies something: by an outright negation, or by a word of `also`, a list of the lexicon."""
    return any(word in lexicon.NEGATIONS or word in also or word.endswith("n't") for word in text_words)


def has_antonym(question: Set[str], sentence: Set[str]) -> bool:
    """Whether a stem of the question stands in the sentence as its opposite, and not as itself."""
    return any(_ANTONYMS.get(stem, set()) & sentence for stem in question - sentence)


def prefix_differs(question: Iterable[str], sentence: Iterable[str]) -> bool:
    """Whether one of the two holds a word with a negative prefix, and the other that word only without it."""
    first, second = list(question), list(sentence)
    return _prefixed(first, second) or _prefixed(second, first)


def _prefixed(text_words: Iterable[str], others: Iterable[str]) -> bool:
    held = {stem(word) for word in others}
    return any(stem(word) not in held and stem(denied(word)) in held for word in text_words if denied(word))


def narrowing(question: str) -> set[str]:
    """The words of a question that admit one case only: "first", "only", "largest"."""
    return set(_NARROWING.findall(fold(question)))
