"""Texts that say what another text says already, word for word but for nothing that carries meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from local_rag.text.lexicon import NEAR_NEGATIONS, NEGATIONS, NUMBER_WORDS
from local_rag.text.words import WORD, fold

SAME = 0.9
"""Share of a text's words that the other one has in the same order."""

SHINGLE = 3
"""Words that are compared at once before two texts are compared word for word."""

COMMON = 0.6
"""Share of its shingles that such a text has in common with the other one: a word that differs is in three of them."""

_WEIGHTLESS = frozenset("a an the and of to in on at for by with as that this it its also so".split())
"""What may differ inside: two contracts that differ in any other word are not the same contract."""

_DENYING = NEGATIONS | NEAR_NEGATIONS


class _Words(NamedTuple):
    written: list[str]
    folded: list[str]


class Distinct:
    """Texts that were taken, and whether the next one adds something to them."""

    def __init__(self) -> None:
        self._taken: list[_Words] = []
        self._shingles: dict[tuple[str, ...], list[int]] = {}

    def takes(self, text: str) -> bool:
        """False for a text that adds nothing to one of those that were taken; else it is taken."""
        words = _words(text)
        shingles = _shingles(words.folded)
        common = Counter(number for shingle in shingles for number in self._shingles.get(shingle, ()))
        alike = [number for number, count in common.items() if count >= COMMON * len(shingles)]
        if any(adds_nothing(words, self._taken[number]) for number in alike):
            return False
        for shingle in shingles:
            self._shingles.setdefault(shingle, []).append(len(self._taken))
        self._taken.append(words)
        return True


def adds_nothing(words: _Words, taken: _Words) -> bool:
    """Whether a text stands in another one but for words without weight.

    The other one may go on before and after it. At its own ends the text may have some more words, fewer than SAME
    leaves, if none of them is a number, a name or a negation. Inside, only weightless words may differ: versions that
    disagree are no duplicates.
    """
    steps = SequenceMatcher(None, taken.folded, words.folded, autojunk=False).get_opcodes()
    same = [step for step in steps if step[0] == "equal"]
    if sum(step[4] - step[3] for step in same) < max(1, SAME * len(words.folded)):
        return False
    first, last = steps.index(same[0]), steps.index(same[-1])
    for place, (kind, a, b, c, d) in enumerate(steps):
        if kind == "equal":
            continue
        if place < first or place > last:
            if not all(map(_adds_no_fact, words.written[c:d], words.folded[c:d])):
                return False
        elif "".join(taken.folded[a:b]) != "".join(words.folded[c:d]) and not _WEIGHTLESS.issuperset(
            [*taken.folded[a:b], *words.folded[c:d]]
        ):
            return False
    return True


def _adds_no_fact(written: str, folded: str) -> bool:
    is_fact = written != written.lower() or any(map(str.isdigit, written)) or folded in NUMBER_WORDS
    return not is_fact and folded not in _DENYING and not folded.endswith("n't")


def _words(text: str) -> _Words:
    written = WORD.findall(text)
    return _Words(written, [fold(word) for word in written])


def _shingles(folded: Sequence[str]) -> set[tuple[str, ...]]:
    if len(folded) <= SHINGLE:
        return {tuple(folded)}
    return {tuple(folded[place : place + SHINGLE]) for place in range(len(folded) - SHINGLE + 1)}
