"""What speaks for and against a quote as the answer to a question, in figures that a model can weigh."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from local_rag.engines.extractive import answer_kind
from local_rag.engines.extractive.quotes import head
from local_rag.text import negation
from local_rag.text.lexicon import FAILURES
from local_rag.text.numbers import numbers as numbers_of
from local_rag.text.words import content_stems, words
from local_rag.text.words import stem as stem_of

if TYPE_CHECKING:
    from local_rag.engines.extractive.scoring import Reading


class Evidence(NamedTuple):
    """First the features of the passage and of the quote (see `scoring`), then what reading the sentence finds.

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


def evidence(reading: Reading, number: int) -> Evidence:
    """The evidence for the `number`-th quote of a reading."""
    quote, document = reading.quotes[number], reading.documents[reading.quotes[number].document]
    question, quoted = words(reading.question), words(quote.text)
    stems = {stem_of(word) for word in quoted}
    passage = f"{head(document)} {document.page_content}"
    held = {stem_of(word) for word in words(passage)}
    around = set(content_stems(quote.context))
    numbers = numbers_of(reading.question)
    denied = negation.denies(question, FAILURES)
    lacking = [weight for stem, weight in reading.weights.items() if stem not in around]
    return Evidence(
        *reading.features[quote.document],
        *reading.quote(number),
        rarest_missing=max(lacking, default=0.0),
        numbered=float(bool(numbers)),
        number_missing=float(bool(numbers - numbers_of(quote.text))),
        denied=float(denied),
        denied_alone=float(denied and not negation.denies(quoted, FAILURES)),
        opposite=float(negation.has_antonym({stem_of(word) for word in question}, stems)),
        negated=float(negation.prefix_differs(question, quoted)),
        narrower=float(any(stem_of(word) not in held for word in negation.narrowing(reading.question))),
        lacks_kind=float(answer_kind.lacks_kind(reading.kind, reading.question, quote.text)),
    )
