"""Scores from verdicts: Self-RAG's linear sums over the grader's probabilities (arXiv 2310.11511, section 3.3, eq. 4).

Where the probabilities are not known, a score is None and the words of the verdict count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_rag.core.critique import SUPPORT, USEFULNESS

LEVELS = 3
"""The highest level of the scale by which passages are graded where no probabilities came."""

Probabilities = Mapping[str, float] | None
"""Probabilities by label, None where they are not known."""


def yes(probabilities: Probabilities) -> float | None:
    """P(yes) / (P(yes) + P(no)), as for Retrieve and ISREL."""
    return probabilities["yes"] if probabilities else None


def support(sentences: Sequence[Probabilities]) -> float | None:
    """The mean of s(ISSUP) over the sentences, in [0, 1]; None without any, or where one is not known."""
    if not sentences or any(probabilities is None for probabilities in sentences):
        return None
    worth = [sum(SUPPORT[label] * p for label, p in (probabilities or {}).items()) for probabilities in sentences]
    return sum(worth) / len(worth)


def usefulness(probabilities: Probabilities) -> float | None:
    """s(ISUSE) in [-1, 1]: the weights of the levels that can be seen, by their probabilities."""
    return sum(USEFULNESS[int(level)] * p for level, p in probabilities.items()) if probabilities else None
