"""Does a quote really answer the question? Two logistic models read the evidence, a third weighs them.

SQuAD 2.0 (arXiv 1806.03822, section 4) asks about things that an article is about and does not say: words and
similarity hardly tell such questions from others, so the models also look for what a quote lacks or turns round. The
coefficients are data, `answerability.json`, made by `scripts/fit_answerability.py`; the file says on what.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import TypeAdapter

from local_rag.engines.extractive import answer_kind
from local_rag.index.names import head
from local_rag.text import negation
from local_rag.text.lexicon import FAILURES
from local_rag.text.numbers import numbers as numbers_of
from local_rag.text.words import content_stems, words
from local_rag.text.words import stem as stem_of

if TYPE_CHECKING:
    from local_rag.engines.extractive.analysis import Analysis

FILE = Path(__file__).with_name("answerability.json")


class Evidence(NamedTuple):
    """First the features of the passage and of the quote (see `analysis`), then what reading the sentence finds.

    `rarest_missing` is the greatest inverse document frequency among the question's words that the sentences around the
    quote lack; all after it are 0 or 1. `number_missing`: the question names a number (`numbered`) that the quote does
    not hold. `denied`: the question says "not", "never" or the like, `denied_alone`: and the quote does not.
    `opposite`, `negated`: a word of the question stands in the quote as its opposite, or with (without) "un-".
    `narrower`: the passage lacks the question's "first" or "only". `lacks_kind`: no word in the quote can be the kind
    of answer asked for.
    """

    passage_cosine: float
    best_cosine: float
    passage_coverage: float
    best_window: float
    names_missing: float
    cosine: float
    coverage: float
    window: float
    fits: float
    new: float
    rarest_missing: float
    numbered: float
    number_missing: float
    denied: float
    denied_alone: float
    opposite: float
    negated: float
    narrower: float
    lacks_kind: float


@dataclass(frozen=True)
class Logistic:
    """ln(p / (1 - p)) = bias + the weighted sum of the features; a feature that is not named weighs nothing."""

    bias: float
    weights: Mapping[str, float]

    def logit(self, features: Mapping[str, float]) -> float:
        return self.bias + sum(weight * features[name] for name, weight in self.weights.items())


@dataclass(frozen=True)
class Answerability:
    """`present`: the passages are about the question at all. `answers`: given that, the quote says what is asked.

    `score` weighs the logits of the two: the probability that the quotes hold the right answer.
    """

    present: Logistic
    answers: Logistic
    score: Logistic

    @property
    def fingerprint(self) -> str:
        """Changes with the coefficients."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]

    def judge(self, analysis: Analysis, number: int) -> Judged:
        """The verdict on the `number`-th quote of a analysis."""
        return self.of(evidence(analysis, number), analysis.refused)

    def of(self, features: Evidence, refused: float = 0.0) -> Judged:
        """`refused` is added to the logit of `present`: small talk has no answer in any file."""
        values = features._asdict()
        logits = {"present": self.present.logit(values) + refused, "answers": self.answers.logit(values)}
        return Judged(_probability(logits["present"]), _probability(self.score.logit(logits)))


@dataclass(frozen=True)
class Judged:
    """Both in [0, 1]: the passages are about the question; the quotes hold the right answer."""

    present: float
    score: float


@cache
def shipped() -> Answerability:
    """The models that come with the package."""
    return read(json.loads(FILE.read_text(encoding="utf-8")))


def read(data: Mapping[str, Any]) -> Answerability:
    """The models from their coefficients: {"present": {"bias": …, "weights": {…}}, "answers": …, "score": …}."""
    return _MODELS.validate_python(data)


_MODELS = TypeAdapter(Answerability)


def _probability(logit: float) -> float:
    return round(1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit)))), 4)


# --- evidence -------------------------------------------------------------------------------------------------------


def evidence(analysis: Analysis, number: int) -> Evidence:
    """The evidence for the `number`-th quote of a analysis."""
    quote, document = analysis.quotes[number], analysis.documents[analysis.quotes[number].document]
    question, quoted = words(analysis.question), words(quote.text)
    stems = {stem_of(word) for word in quoted}
    passage = f"{head(document)} {document.page_content}"
    held = {stem_of(word) for word in words(passage)}
    around = set(content_stems(quote.context))
    numbers = numbers_of(analysis.question)
    denied = negation.denies(question, FAILURES)
    lacking = [weight for stem, weight in analysis.weights.items() if stem not in around]
    return Evidence(
        *analysis.features[quote.document],
        *analysis.quote(number),
        rarest_missing=max(lacking, default=0.0),
        numbered=float(bool(numbers)),
        number_missing=float(bool(numbers - numbers_of(quote.text))),
        denied=float(denied),
        denied_alone=float(denied and not negation.denies(quoted, FAILURES)),
        opposite=float(negation.has_antonym({stem_of(word) for word in question}, stems)),
        negated=float(negation.prefix_differs(question, quoted)),
        narrower=float(any(stem_of(word) not in held for word in negation.narrowing(analysis.question))),
        lacks_kind=float(answer_kind.lacks_kind(analysis.kind, analysis.question, quote.text)),
    )
