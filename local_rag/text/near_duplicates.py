"""Texts that say what another text says already, word for word but for words that carry no meaning."""

from __future__ import annotations

from local_rag.text.words import joined_lines, words

_WEIGHTLESS = frozenset("a an the and of to in on at for by with as that this it its also so".split())
"""What may differ: two contracts that differ in any other word are not the same contract."""


class Distinct:
    """Texts that were taken, and whether the next one adds something to them."""

    def __init__(self) -> None:
        self._taken: list[str] = []

    def takes(self, text: str) -> bool:
        """False for a text whose weighty words stand in one of those that were taken; else it is taken."""
        weighty = f" {' '.join(word for word in words(joined_lines(text)) if word not in _WEIGHTLESS)} "
        if any(weighty in known for known in self._taken):
            return False
        self._taken.append(weighty)
        return True
