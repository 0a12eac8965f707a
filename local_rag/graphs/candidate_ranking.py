"""Self-RAG's ranking of drafts (arXiv 2310.11511, section 3.3), and which part of the passages each is written from."""

from __future__ import annotations

import math
from collections.abc import Sequence

from local_rag.core.critique import USEFULNESS, support_of, usefulness_of
from local_rag.core.verdicts import Grade

W_REL, W_SUP, W_USE = 1.0, 1.0, 0.5
"""Weights of relevance, support and usefulness, as in the paper's experiments (appendix A.3)."""

WORST = min(USEFULNESS.values())


def parts(count: int, candidates: int) -> list[list[int]]:
    """Which passages (from 0, best first) each draft is written from: dealt out in turn, so each has a good one."""
    return [list(range(first, count, candidates)) for first in range(min(count, candidates))]


def support(grade: Grade) -> float:
    """s_sup in [0, 1]; what could not be read counts as no support."""
    return support_of(grade) or 0.0


def usefulness(grade: Grade) -> float:
    """s_use in [-1, 1]; what could not be read counts as the worst."""
    found = usefulness_of(grade)
    return WORST if found is None else found


def score(relevance: float, grade: Grade, probability: float | None) -> float:
    """w_rel·s_rel + w_sup·s_sup + w_use·s_use, plus the probability of the draft itself where it is known (eq. 3)."""
    judged = W_REL * relevance + W_SUP * support(grade) + W_USE * usefulness(grade)
    return judged + (probability or 0.0)


def probability(logprobs: Sequence[float]) -> float | None:
    """Exp of the mean log-probability of a draft's tokens, in [0, 1]; None where none is known."""
    return math.exp(sum(logprobs) / len(logprobs)) if logprobs else None
