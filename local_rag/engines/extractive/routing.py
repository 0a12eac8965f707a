"""Whether a question is one for the files: by the passages nearest to it, its names, and the time that it asks about.

The weights are a logistic regression on half of the questions of `scripts/bench.py routing`, over indexes of 5, 500 and
5,000 documents, and on questions of SQuAD v2 and ClapNQ dev over the largest; see docs/measurements.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from local_rag.engines.extractive.analysis import probability, stem_weights
from local_rag.index.names import head
from local_rag.text.lexicon import PRESENT
from local_rag.text.names import names
from local_rag.text.numbers import numbers
from local_rag.text.words import content_stems, stem
from local_rag.text.words import words as words_of

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.documents import Catalog
    from local_rag.core.protocols import Corpus, Embedder

_RELATIVE = re.compile(
    r"\b(?:this|last|next) (?:week|weekend|month|year|season|spring|summer|autumn|winter|[a-z]+day)\b"
)


class RouteFeatures(NamedTuple):
    """Cosine of a passage, weighted coverage of the question by it, share of the question's names that it lacks, and
    whether the question asks about the present.
    """

    cosine: float
    coverage: float
    missing: float
    present: float


WEIGHTS = RouteFeatures(4.8, 5.6, -0.9, -2.1)
BIAS = -4.2


def for_files(question: str, catalog: Catalog, corpus: Corpus | None, embedder: Embedder) -> tuple[float, str]:
    """The probability that the files answer the question, and the evidence in words.

    What a person says the index is about counts like a passage of it.
    """
    passages = [*catalog.passages, *_about(question, catalog.about, embedder)]
    weights = stem_weights(question, corpus)
    named = names(question) | numbers(question)
    present = float(is_about_the_present(question))
    best = max(
        (_features(passage, weights, named, present) for passage in passages),
        key=_logit,
        default=RouteFeatures(0.0, 0.0, float(bool(named)), present),
    )
    why = f"nearest passage {best.cosine:.2f}, holds {best.coverage:.0%} of the question"
    why += f" and lacks {best.missing:.0%} of its names" if best.missing else ""
    return probability(_logit(best)), why + ("; it asks about the present" if present else "")


def _about(question: str, about: str, embedder: Embedder) -> list[Document]:
    from langchain_core.documents import Document

    if not about:
        return []
    cosine = float(embedder.embed_documents([about])[0] @ embedder.embed_queries([question])[0])
    return [Document(about, metadata={"score": cosine})]


def is_about_the_present(question: str) -> bool:
    """Whether a question names today, this year or the like: files are older."""
    lowered = question.casefold()
    return not PRESENT.isdisjoint(words_of(lowered)) or bool(_RELATIVE.search(lowered))


def _logit(features: RouteFeatures) -> float:
    return BIAS + sum(weight * feature for weight, feature in zip(WEIGHTS, features, strict=True))


def _features(
    passage: Document, weights: dict[str, float], named: frozenset[str] | set[str], present: float
) -> RouteFeatures:
    whole = f"{head(passage)} {passage.page_content}"
    stems = set(content_stems(whole))
    total = sum(weights.values())
    covered = sum(weight for name, weight in weights.items() if name in stems) / total if total else 0.0
    held = set(words_of(whole)) | numbers(whole)
    held_stems = {stem(word) for word in held}
    missing = sum(name not in held and stem(name) not in held_stems for name in named) / max(1, len(named))
    return RouteFeatures(float(passage.metadata.get("score") or 0.0), covered, missing, present)
