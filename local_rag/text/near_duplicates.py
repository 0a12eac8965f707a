"""Find texts that repeat another text, word for word but for words without meaning of their own."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from local_rag.text.lexicon import NUMBER_WORDS
from local_rag.text.support import denies
from local_rag.text.words import WORD, fold

SAME = 0.9
"""The share of a text's words that the other text has in the same order."""

SHINGLE = 3
"""The words of a shingle; shingles are compared before two texts are compared word for word."""

COMMON = 0.6
"""The share of a text's shingles that the other text has too: each word that differs is in three of them."""

_WEIGHTLESS = frozenset("a an the and of to in on at for by with as that this it its also so".split())
"""Words that may differ inside; two contracts that differ in any other word are not the same contract."""


class Distinct:
    """Collect texts, and tell whether the next one adds something to them."""

    def __init__(self) -> None:
        self._taken: list[tuple[list[str], set[tuple[str, ...]]]] = []

    def takes(self, text: str) -> bool:
        """Collect a text and return True, or return False if it adds nothing to one of the collected texts."""
        written = WORD.findall(text)
        folded = list(map(fold, written))
        shingles = {tuple(folded[at : at + SHINGLE]) for at in range(max(1, len(folded) - SHINGLE + 1))}
        for taken, known in self._taken:
            if len(shingles & known) >= COMMON * len(shingles) and _adds_nothing(written, folded, taken):
                return False
        self._taken.append((folded, shingles))
        return True


def _adds_nothing(written: Sequence[str], folded: Sequence[str], taken: Sequence[str]) -> bool:
    """Return whether a text repeats a part of another one, but for words without weight.

    The other text may go on before and after it. At its own ends the text may have further words, fewer than SAME
    leaves, if none of them is a number, a name or a negation. Inside, only weightless words may differ: versions that
    disagree are no duplicates.
    """
    steps = SequenceMatcher(None, taken, folded, autojunk=False).get_opcodes()
    same = [number for number, step in enumerate(steps) if step[0] == "equal"]
    if sum(steps[number][4] - steps[number][3] for number in same) < max(1, SAME * len(folded)):
        return False
    for number, (kind, a, b, c, d) in enumerate(steps):
        if not same[0] < number < same[-1]:
            if kind != "equal" and any(map(_is_fact, written[c:d], folded[c:d])):
                return False
        elif "".join(taken[a:b]) != "".join(folded[c:d]) and not _WEIGHTLESS.issuperset([*taken[a:b], *folded[c:d]]):
            return False
    return True


def _is_fact(written: str, folded: str) -> bool:
    names = written != written.lower() or any(map(str.isdigit, written))
    return names or folded in NUMBER_WORDS or denies(folded)
