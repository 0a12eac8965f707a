"""How well passages and sentences answer a question: similarity, word coverage and kind of answer, as probabilities.

The weights are logistic regressions by `scripts/measure_extractive.py` on SQuAD v2 dev; see docs/measurements.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from local_rag.core import cancel
from local_rag.engines.evaluator.topics import question_to_read
from local_rag.engines.extractive import answer_kind, questions
from local_rag.engines.extractive.quotes import Quote, quotes
from local_rag.index.names import head
from local_rag.text.names import names
from local_rag.text.numbers import numbers
from local_rag.text.words import content_stems
from local_rag.text.words import stem as stem_of
from local_rag.text.words import words as words_of

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Corpus, Embedder, Vectors

BATCH = 32
"""Texts embedded between two looks at the cancel event: under half a second on two cores."""
LEAST_WEIGHT = 0.1
"""Weight in coverage of a word that every chunk holds."""


class PassageFeatures(NamedTuple):
    """Cosine of passage and of its best sentence, weighted coverage by passage and best window, names missing."""

    cosine: float
    best_cosine: float
    coverage: float
    window: float
    missing: float


class QuoteFeatures(NamedTuple):
    """Cosine, weighted coverage by the sentence and by its window, kind of answer (-1, 0, 1), ln(1 + new words)."""

    cosine: float
    coverage: float
    window: float
    fits: float
    new: float


PASSAGE_WEIGHTS = PassageFeatures(7.786, 9.341, 3.700, 4.376, -1.828)
PASSAGE_BIAS = -10.010
QUOTE_WEIGHTS = QuoteFeatures(3.364, 3.318, 1.429, 0.576, 0.149)
QUOTE_BIAS = -5.637
PASSAGE_SHARE = 0.5
"""What the logit of a passage adds to that of its sentences (SQuAD v2 dev)."""
ANSWER_BIAS = 1.9
"""Balances wrong answers and wrong refusals at 0.5 (SQuAD v2 dev). It sets the levels of usefulness alone."""
SMALL_TALK = -40.0
"""A logit that no similarity outweighs: a greeting has no answer in any file."""


def probability(logit: float) -> float:
    return round(1.0 / (1.0 + math.exp(-logit)), 12)


class Analysis:
    """A question compared with passages and quotes of them; all texts are embedded together.

    `passages` and `answers` are logits: of each passage to be about the question, of each quote to answer it.
    """

    def __init__(
        self,
        question: str,
        documents: Sequence[Document],
        candidates: Sequence[Quote],
        analyses: Analyses,
    ) -> None:
        corpus = analyses.corpus
        named = " ".join(str(document.metadata.get("named") or "") for document in documents)
        question = question_to_read(question, documents)
        self.refused = SMALL_TALK if questions.is_small_talk(question) else 0.0
        self.question = question
        self.documents = documents
        self.quotes = candidates
        self.kind = answer_kind.kind_of(question)
        weights = stem_weights(question, corpus)
        telling = {stem: weight for stem, weight in weights.items() if stem not in content_stems(named)}
        self.weights = telling or weights  # the name of a document says nothing of which of its sentences answers
        self._named = names(question) | numbers(question)
        whole = [document.page_content for document in documents]
        stored = corpus.vectors(documents) if corpus else []
        given = {text: vector for text, vector in zip(whole, stored, strict=False) if vector is not None}
        vectors = analyses.vectors([*whole, *(quote.text for quote in candidates)], given)
        similarity = vectors @ analyses.embedder.embed_queries([question])[0]
        self.vectors = vectors[len(documents) :]
        self._cosines = similarity[: len(documents)]
        self._quote_cosines = similarity[len(documents) :]
        self._windows = [self.covered(quote.context) for quote in candidates]
        self.features = [self._passage(number) for number in range(len(documents))]
        self.passages = [PASSAGE_BIAS + self.refused + _dot(PASSAGE_WEIGHTS, features) for features in self.features]
        self.answers = [
            ANSWER_BIAS
            + PASSAGE_SHARE * self.passages[quote.document]
            + QUOTE_BIAS
            + _dot(QUOTE_WEIGHTS, self.quote(number))
            for number, quote in enumerate(candidates)
        ]

    def covered(self, passage: str) -> float:
        """Share of the question's content words that the passage holds, rare words counting more; in [0, 1]."""
        stems = set(content_stems(passage))
        total = sum(self.weights.values())
        return sum(weight for stem, weight in self.weights.items() if stem in stems) / total if total else 0.0

    def telling_words(self, passage: str, share: float) -> list[str]:
        """The words that tell what the question is about and that the passage lacks.

        Its names and numbers are such words, and those that carry at least a `share` of its weight.
        """
        held = set(words_of(passage)) | numbers(passage)
        held |= {stem_of(word) for word in held}
        least = share * sum(self.weights.values())
        words = dict.fromkeys([*questions.subject_words(self.question), *sorted(self._named)])
        rare = [word for word in words if word in self._named or self.weights.get(stem_of(word), 0.0) >= least]
        return [word for word in rare if word not in held and stem_of(word) not in held]

    def quote(self, number: int) -> QuoteFeatures:
        quote = self.quotes[number]
        new = set(content_stems(quote.text)) - self.weights.keys()
        return QuoteFeatures(
            float(self._quote_cosines[number]),
            self.covered(quote.text),
            self._windows[number],
            answer_kind.fits(self.kind, self.question, quote.text),
            math.log1p(len(new)),
        )

    def _passage(self, number: int) -> PassageFeatures:
        cancel.check()
        document = self.documents[number]
        whole = f"{head(document)} {document.page_content}"
        cosine = float(self._cosines[number])
        own = [
            (float(similarity), window)
            for quote, similarity, window in zip(self.quotes, self._quote_cosines, self._windows, strict=True)
            if quote.document == number
        ]
        return PassageFeatures(
            cosine,
            max((similarity for similarity, _ in own), default=cosine),
            self.covered(whole),
            max((window for _, window in own), default=0.0),
            self._missing(whole),
        )

    def _missing(self, passage: str) -> float:
        """Share of the question's names and numbers that the passage does not hold; 0 where it has none."""
        held = set(words_of(passage)) | numbers(passage)
        stems = {stem_of(word) for word in held}
        return sum(n not in held and stem_of(n) not in stems for n in self._named) / max(1, len(self._named))


class Analyses:
    """The analyses that the tasks of one question share: grading, answering and checking look at the same passages.

    Each text is embedded once.
    """

    def __init__(self, embedder: Embedder, corpus: Corpus | None = None) -> None:
        self.embedder = embedder
        self.corpus = corpus
        self._vectors: dict[str, Vectors] = {}
        self._analyses: dict[tuple[str, ...], Analysis] = {}

    def of(self, question: str, documents: Sequence[Document]) -> Analysis:
        """The question against all that can be quoted of the passages; chunk id and text identify a passage."""
        identity = [str(document.metadata.get(key, "")) for document in documents for key in _IDENTITY]
        key = (question, *identity, *(document.page_content for document in documents))
        if key not in self._analyses:
            self._analyses[key] = Analysis(question, documents, quotes(documents), self)
        return self._analyses[key]

    def vectors(self, texts: Sequence[str], given: Mapping[str, Vectors]) -> Vectors:
        """(n, d) float32, unit rows, some of them `given`; embedded by length, so that a batch has little padding."""
        import numpy as np

        self._vectors |= given
        missing = sorted({text for text in texts if text not in self._vectors}, key=lambda text: (len(text), text))
        for start in range(0, len(missing), BATCH):
            cancel.check()
            batch = missing[start : start + BATCH]
            self._vectors |= zip(batch, self.embedder.embed_documents(batch), strict=True)
        cancel.check()
        return np.stack([self._vectors[text] for text in texts])


_IDENTITY = ("chunk_id", "title", "heading")


def _dot(weights: Sequence[float], features: Sequence[float]) -> float:
    return sum(weight * feature for weight, feature in zip(weights, features, strict=True))


def stem_weights(question: str, corpus: Corpus | None) -> dict[str, float]:
    """Inverse document frequency of the question's subject stems, ln((N + 1) / (df + 0.5)); 1 without a corpus."""
    words = questions.subject_words(question)
    if corpus is None or not words:
        return {stem_of(word): 1.0 for word in words}
    chunks = corpus.count()
    frequency = corpus.document_frequency(words)
    return {stem_of(word): max(LEAST_WEIGHT, math.log((chunks + 1) / (frequency.get(word, 0) + 0.5))) for word in words}
