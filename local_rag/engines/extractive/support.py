"""Whether the passages say what a text says: by words, numbers, names and negations, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from local_rag.core.verdicts import Support
from local_rag.text.marks import claims, without_bullet, without_marks
from local_rag.text.names import names
from local_rag.text.negation import denies
from local_rag.text.numbers import numbers
from local_rag.text.sentences import sentences
from local_rag.text.words import content_stems, words

NEAR = 0.9
"""Share of a sentence's content stems that a passage must hold to say the same."""
PART = 0.6
"""The same for a sentence that is supported in part."""


def sentence_supports(generation: str, passages: Sequence[str]) -> list[tuple[str, Support]]:
    """Each of `marks.claims(generation)` with its support by the passages that it cites; by all where it cites none."""
    plain_passages = [without_marks(passage) for passage in passages]
    folded = [_folded(passage) for passage in plain_passages]
    split = [[span.of(passage) for span in sentences(passage)] for passage in plain_passages]
    supports = []
    for claim in claims(generation):
        cited = [number - 1 for number in claim.numbers if 0 < number <= len(passages)] or range(len(passages))
        supports.append((claim.text, _support(claim.text, [folded[n] for n in cited], [split[n] for n in cited])))
    return supports


def _folded(passage: str) -> str:
    return f" {' '.join(words(passage))} "


def _support(sentence: str, folded: Sequence[str], passages: Sequence[Sequence[str]]) -> Support:
    """Judged by the nearest single sentences; by two neighbours only where no single one says even a part of it.

    The bullet or number of a list item is the answer's, unless the passage has it, too.
    """
    plain = without_bullet(sentence)
    if any(_folded(text) in passage for text in (sentence, plain) for passage in folded):
        return "fully"
    sentence = plain
    stems = _stems(sentence)
    near = [other for passage in passages for other in passage if _held(stems, other) >= PART] or [
        f"{first} {second}" for passage in passages for first, second in pairwise(passage)
    ]
    best = max((_held(stems, text) for text in near if _agrees(sentence, text)), default=0.0)
    return "fully" if best >= NEAR else "partially" if best >= PART else "no"


def _stems(sentence: str) -> set[str]:
    """The content stems without numbers, which are compared by value."""
    return {stem for stem in content_stems(sentence) if not numbers(stem)}


def _held(stems: set[str], passage: str) -> float:
    return len(stems & _stems(passage)) / len(stems) if stems else 0.0


def _agrees(sentence: str, passage: str) -> bool:
    """Whether the passage holds every number and name of the sentence and denies just when the sentence does."""
    if denies(words(sentence)) != denies(words(passage)):
        return False
    held = set(words(passage))
    return numbers(sentence) <= numbers(passage) and names(sentence) <= held
