"""Fit the probabilities of a trained evaluator to its logits, on questions outside of its training.

Each question is read with its own passage and the three of its article that share most words with it, as a search would
find them. Platt, "Probabilistic outputs for support vector machines" (1999).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from langchain_core.documents import Document
from scipy.optimize import minimize

from evaluator.examples import Example
from local_rag.core.protocols import Evaluator
from local_rag.core.readings import Calibration, log_odds, probability
from local_rag.text.words import content_stems

KEEP = 0.85
"""The minimum share of answerable questions to answer."""
OTHERS = 3
"""The number of passages besides a question's own."""
RIDGE = 1.0


def fitted(evaluator: Evaluator, known: Sequence[Example], most: int, about: str) -> Calibration:
    """Fit passages first, then questions by their best passage, then the thresholds.

    `answers` has the best balanced accuracy that answers at least `KEEP` of the answerable questions. The best passage
    of a question that is just answered is just relevant; 99 % of the passages with the answer reach `reads`.
    """
    drawn = random.Random(7).sample(list(known), min(most, len(known)))
    texts = {example.text: set(content_stems(example.text)) for example in known}
    read = [evaluator.read(example.question, _passages(example, known, texts)) for example in drawn]
    answerable = np.array([example.start >= 0 for example in drawn])
    spans = [[(each, n == 0 and bool(has)) for n, each in enumerate(readings) if each.spans]
             for readings, has in zip(read, answerable, strict=True)]  # fmt: skip
    rows = np.array([[each.spans[0].logit, log_odds(each.present)] for of in spans for each, _ in of])
    holds = np.array([held for of in spans for _, held in of])
    (span, present), bias = logistic(rows, holds)
    calibration = Calibration(bias=bias, span=span, present=present, fitted_on=about)
    scored = [[calibration.answerable(each.spans[0].logit, each.present) for each, _ in of] for of in spans]
    best = np.array([max(scores, default=0.0) for scores in scored])
    (question,), question_bias = logistic(np.array([[log_odds(score)] for score in best]), answerable)
    calibration = replace(calibration, question=question, question_bias=question_bias)
    chances = np.array([calibration.of_best(score) for score in best])
    answered, others = chances[answerable], chances[~answerable]
    limits = [limit for limit in answered if (answered >= limit).mean() >= KEEP]
    answers = max(limits, key=lambda limit: (answered >= limit).mean() + (others < limit).mean())
    relevant = probability((log_odds(float(answers)) - question_bias) / question) if question else 0.5
    every = np.array([score for scores in scored for score in scores])
    reads = min(relevant, float(np.quantile(every[holds], 0.01)))
    return replace(calibration, answers=float(answers), relevant=relevant, reads=reads)


def _passages(example: Example, known: Sequence[Example], texts: dict[str, set[str]]) -> list[Document]:
    """Return the passages for a question, its own passage first."""
    asked = set(content_stems(example.question))
    others = {other.text for other in known if other.title == example.title} - {example.text}
    near = sorted(others, key=lambda text: (-len(asked & texts[text]), text))[:OTHERS]
    return [Document(text, metadata={"title": example.title}) for text in (example.text, *near)]


def logistic(rows: Any, labels: Any) -> tuple[list[float], float]:
    """Return weights and bias of a logistic regression with a ridge on the standardised features.

    No weight is below 0, so that more of a feature never lowers a probability; a weight that would be below gets 0.
    """
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread == 0] = 1.0
    standard = (rows - mean) / spread

    def loss(at: Any) -> tuple[float, Any]:
        odds = standard @ at[:-1] + at[-1]
        miss = 1 / (1 + np.exp(-odds)) - labels
        value = np.logaddexp(0, odds).sum() - odds @ labels + RIDGE / 2 * (at[:-1] ** 2).sum()
        return value, np.append(standard.T @ miss + RIDGE * at[:-1], miss.sum())

    count = rows.shape[1]
    bounds = [(0, None)] * count + [(None, None)]
    best = minimize(loss, np.zeros(count + 1), jac=True, bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-8}).x
    weights = best[:-1] / spread
    return [float(weight) for weight in weights], float(best[-1] - weights @ mean)
