"""What the words of a verdict are worth as numbers: Self-RAG's weights (arXiv 2310.11511, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_rag.core.verdicts import Grade, Support

SUPPORT: Mapping[str, float] = {"fully": 1.0, "partially": 0.5, "no": 0.0}
"""What a sentence's support is worth: s(ISSUP) = P(fully) + 0.5 P(partially)."""
USEFULNESS: Mapping[int, float] = {1: -1.0, 2: -0.5, 3: 0.0, 4: 0.5, 5: 1.0}
"""The weights of ISUSE 1 to 5."""


def overall(supports: Sequence[Support]) -> Support:
    """`fully` if every sentence is, `no` if none is even in part (Self-RAG, ISSUP of table 1)."""
    if not supports or all(support == "no" for support in supports):
        return "no"
    return "fully" if all(support == "fully" for support in supports) else "partially"


def support_of(grade: Grade) -> float | None:
    """s_sup in [0, 1]: by the grader's probabilities, else the mean of its sentences' words, else its one word.

    None where a word could not be read.
    """
    if grade.support_score is not None:
        return grade.support_score
    labels = grade.sentences or (grade.support,)
    if any(label not in SUPPORT for label in labels):
        return None
    return sum(SUPPORT[label] for label in labels) / len(labels)


def usefulness_of(grade: Grade) -> float | None:
    """s_use in [-1, 1]: by the grader's probabilities, else by its level; None where there is none."""
    return USEFULNESS.get(grade.usefulness) if grade.usefulness_score is None else grade.usefulness_score


def answered(grade: Grade) -> float | None:
    """The chance that a generation answers the question from the passages, in [0, 1]: support times usefulness.

    None where one of the two was not graded.
    """
    supported, useful = support_of(grade), usefulness_of(grade)
    if supported is None or useful is None or not grade.usefulness:
        return None
    return supported * (useful + 1) / 2
