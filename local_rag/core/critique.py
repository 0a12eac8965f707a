"""Self-RAG's critique: the numbers behind labels, and the rank of a draft (arXiv 2310.11511, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_rag.core.verdicts import Grade, Support

SUPPORT: Mapping[str, float] = {"fully": 1.0, "partially": 0.5, "no": 0.0}
"""What a sentence's support is worth: the weights of s(ISSUP), by the label alone."""
USEFULNESS: Mapping[int, float] = {1: -1.0, 2: -0.5, 3: 0.0, 4: 0.5, 5: 1.0}
"""The weights of ISUSE 1 to 5."""
W_REL, W_SUP, W_USE = 1.0, 1.0, 0.5
"""Weights of relevance, support and usefulness, as in the paper's experiments (appendix A.3)."""


def overall(supports: Sequence[Support]) -> Support:
    """`fully` if every sentence is, `no` if none is even in part (ISSUP of table 1).

    Sentences that could not be checked (`unparsed`) leave at most `partially` to the others.
    """
    known = [support for support in supports if support != "unparsed"]
    if supports and not known:
        return "unparsed"
    if all(support == "no" for support in known):
        return "no"
    return "fully" if all(support == "fully" for support in supports) else "partially"


def support_of(grade: Grade) -> float | None:
    """s_sup in [0, 1]: the mean of its sentences' labels, else its one label; None where a label is unparsed."""
    labels = grade.sentences or (grade.support,)
    if any(label not in SUPPORT for label in labels):
        return None
    return sum(SUPPORT[label] for label in labels) / len(labels)


def usefulness_of(grade: Grade) -> float | None:
    """s_use in [-1, 1], by its level; None where there is none."""
    return USEFULNESS.get(grade.usefulness)


def usefulness_or_worst(grade: Grade) -> float:
    """s_use in [-1, 1]; an unparsed one counts as the worst."""
    usefulness = usefulness_of(grade)
    return min(USEFULNESS.values()) if usefulness is None else usefulness


def answered(grade: Grade) -> float | None:
    """The score in [0, 1] that a generation answers the question from the passages: support times usefulness.

    None where one of the two was not graded.
    """
    supported, useful = support_of(grade), usefulness_of(grade)
    if supported is None or useful is None or not grade.usefulness:
        return None
    return supported * (useful + 1) / 2


def draft_score(relevance: float, grade: Grade) -> float:
    """w_rel·s_rel + w_sup·s_sup + w_use·s_use (eq. 3), by verdicts: the probability of the draft is left out."""
    return W_REL * relevance + W_SUP * (support_of(grade) or 0.0) + W_USE * usefulness_or_worst(grade)
