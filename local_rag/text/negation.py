"""Whether one text turns round what another says: denials, opposites, turning words and contrasts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from local_rag.text import lexicon
from local_rag.text.numbers import stems_without_numbers
from local_rag.text.words import content_stems, fold, stem, words

_PREFIX = re.compile(rf"(?:{'|'.join(lexicon.NEGATIVE_PREFIXES)}|mis|anti|de)(?=\w{{4}})")
_NARROWING = re.compile(
    r"\b(?:most|least|only|first|last|original|main|primary|final|ever|all|every|never|always|mostly|exclusively"
    r"|solely|(?!(?:for|inter|inv|sugg|cont|prot|requ|hon|mod|harv|arr|manif|conqu)est\b)\w{3,}est)\b"
)
_CONTRAST = re.compile(r"(?:\bbut|\band|,) not\b|\brather than\b|\binstead of\b", re.IGNORECASE)


def _antonyms() -> dict[str, set[str]]:
    antonyms: dict[str, set[str]] = {}
    for entry in lexicon.ANTONYMS.split():
        first, *others = map(stem, entry.split(":"))
        for other in others:
            antonyms.setdefault(first, set()).add(other)
            antonyms.setdefault(other, set()).add(first)
    return antonyms


_ANTONYMS = _antonyms()
_CONTRARIES = [
    tuple(frozenset(map(stem, family.split())) for family in line.split(":"))
    for line in lexicon.CONTRARIES.strip().splitlines()
]


def denies(text_words: Iterable[str], also: Set[str] = frozenset()) -> bool:
    """Whether a text denies something: by an outright negation, or by a word of `also`, a list of the lexicon."""
    return any(word in lexicon.NEGATIONS or word in also or word.endswith("n't") for word in text_words)


# --- a question and a passage ---------------------------------------------------------------------------------------


def has_antonym(question: Set[str], sentence: Set[str]) -> bool:
    """Whether a stem of the question stands in the sentence as its opposite, and not as itself."""
    return any(_ANTONYMS.get(stem, set()) & sentence for stem in question - sentence)


def prefix_differs(question: Iterable[str], sentence: Iterable[str]) -> bool:
    """Whether one of the two holds a word with a negative prefix, and the other that word only without it."""
    first, second = list(question), list(sentence)
    return _prefixed(first, second) or _prefixed(second, first)


def _prefixed(text_words: Iterable[str], others: Iterable[str]) -> bool:
    held = {stem(word) for word in others}
    for word in text_words:
        prefix = _PREFIX.match(word)
        if prefix and stem(word) not in held and stem(word[prefix.end() :]) in held:
            return True
    return False


def narrowing(question: str) -> set[str]:
    """The words of a question that admit one case only: "first", "only", "largest"."""
    return set(_NARROWING.findall(fold(question)))


# --- a sentence and a quote -----------------------------------------------------------------------------------------


def turns_alike(sentence: str, quote: str, core: str) -> bool:
    """Whether all, only, before, must, … stand in both; `core` is the quote's sentence that carries most of it."""
    added = _turns(sentence) - _turns(quote)
    lost = _turns(core) - _turns(sentence) - lexicon.OMISSIBLE_TURNS
    return not any(
        not lexicon.TURN_SYNONYMS.get(turn, frozenset()) & set(words(other))
        for turns, other in ((added, quote), (lost, sentence))
        for turn in turns
    )


def _turns(text: str) -> set[str]:
    lower = re.findall(r"[a-z]+", text[:1].lower() + text[1:])
    return {lexicon.TURNS[word] for word in lower if word in lexicon.TURNS}


def contrary(sentence: str, quote: str) -> bool:
    """Whether one text rises where the other falls, or is lawful where the other is unlawful."""
    stated, quoted = (set(content_stems(text)) | set(words(text)) for text in (sentence, quote))
    only_stated, only_quoted = stated - quoted, quoted - stated
    if any((a & only_stated and b & only_quoted) or (b & only_stated and a & only_quoted) for a, b in _CONTRARIES):
        return True
    return any(
        f"{prefix}{word}" in others
        for own, others in ((only_stated, only_quoted), (only_quoted, only_stated))
        for word in own
        if len(word) > 3
        for prefix in lexicon.NEGATIVE_PREFIXES
    )


def same_contrast(sentence: str, quote: str) -> bool:
    """Whether "covers one but not the other" names the same one and the same other."""
    stated, quoted = (_CONTRAST.split(text, maxsplit=1) for text in (sentence, quote))
    if len(stated) < 2 or len(quoted) < 2:
        return True
    return set(stems_without_numbers(stated[1])) <= set(stems_without_numbers(quoted[1]))
