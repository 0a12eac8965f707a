"""Whether the passages say what a text says: by words, numbers, names and negations, and as an evaluator judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

Judge = Callable[[str, Sequence[str]], bool]
"""Whether one of the passages supports all of a sentence, as an evaluator says."""


def sentence_supports(
    generation: str, passages: Sequence[str], judge: Judge | None = None
) -> list[tuple[str, Support]]:
    """Each of `marks.claims(generation)` with its support by the passages that it cites; by all where it cites none.

    A sentence that is not verbatim is supported in full only if the `judge` says so, too.
    """
    plain_passages = [without_marks(passage) for passage in passages]
    folded = [_folded(passage) for passage in plain_passages]
    split = [[span.of(passage) for span in sentences(passage)] for passage in plain_passages]
    supports = []
    for claim in claims(generation):
        cited = [number - 1 for number in claim.numbers if 0 < number <= len(passages)] or range(len(passages))
        texts = [plain_passages[n] for n in cited]
        if _is_verbatim(claim.text, [folded[n] for n in cited]):
            support: Support = "fully"
        else:
            sentence, passage_sentences = without_bullet(claim.text), [split[n] for n in cited]
            support = _by_words(sentence, passage_sentences)
            if judge is not None and not (support == "no" and _turned_round(sentence, passage_sentences)):
                support = _judged(sentence, texts, support, judge)
        supports.append((claim.text, support))
    return supports


def _folded(passage: str) -> str:
    return f" {' '.join(words(passage))} "


def _is_verbatim(sentence: str, folded: Sequence[str]) -> bool:
    """The bullet or number of a list item is the answer's, unless the passage has it, too."""
    return any(_folded(text) in passage for text in (sentence, without_bullet(sentence)) for passage in folded)


def _by_words(sentence: str, passages: Sequence[Sequence[str]]) -> Support:
    """Judged by the nearest single sentences; by two neighbours only where no single one says even a part of it."""
    stems = _stems(sentence)
    near = [other for passage in passages for other in passage if _held(stems, other) >= PART] or [
        f"{first} {second}" for passage in passages for first, second in pairwise(passage)
    ]
    best = max((_held(stems, text) for text in near if _agrees(sentence, text)), default=0.0)
    return "fully" if best >= NEAR else "partially" if best >= PART else "no"


def _turned_round(sentence: str, passages: Sequence[Sequence[str]]) -> bool:
    """Whether a passage says nearly the same with other numbers or names, or the contrary."""
    stems = _stems(sentence)
    return any(
        _held(stems, other) >= NEAR and not _agrees(sentence, other) for passage in passages for other in passage
    )


def _judged(sentence: str, passages: Sequence[str], by_words: Support, judge: Judge) -> Support:
    """An evaluator recognises other words for the same; numbers and names are the code's to compare."""
    telling = [text for text in passages if numbers(sentence) <= numbers(text) and names(sentence) <= set(words(text))]
    if telling and judge(sentence, telling):
        return "fully"
    return "partially" if by_words == "fully" else by_words


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
