"""Embed real sentences, and mix any number of passages from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.texts import documents
from local_rag.text.sentences import sentences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from local_rag.core.protocols import Embedder, Vectors

REAL, QUERIES = 12_000, 60
"""The number of passages that are embedded, each the seed of about 80 of 1,000,000; and the number of queries."""

SENTENCES = 4
"""The number of sentences of a passage."""

FRIENDS, DRIFT = 8, 0.35
"""The number of neighbours, and the share of a difference of two others that is added to a mixture.

Two mixtures of one pair then have a cosine of about 0.8, as neighbours have in a large collection, and the directions
keep the spectrum of real vectors.
"""

BATCH = 5_000


@dataclass(frozen=True)
class Seeds:
    """Hold real passages as lists of sentences, and held-out queries.

    The passages have unit vectors (n, d) and neighbours (n, 8).
    """

    passages: list[list[str]]
    vectors: Vectors
    friends: NDArray[np.int64]
    queries: list[str]
    query_vectors: Vectors


def seeds(data: Path, source: Path | None, embedder: Embedder) -> Seeds:
    """Read the seeds, or make them once, which takes minutes for embedding; raise SystemExit for too little text."""
    name = source.name if source else "installed"
    words, rows = data / f"seeds-{name}.json", data / f"seeds-{name}.npz"
    if not (words.exists() and rows.exists()):
        passages, queries = _cut(documents(source))
        vectors = embedder.embed_documents([" ".join(passage) for passage in passages])
        parts = (vectors[first : first + 1000] @ vectors.T for first in range(0, len(vectors), 1000))
        friends = np.concatenate([np.argsort(-part, axis=1)[:, 1 : FRIENDS + 1] for part in parts])
        np.savez(rows, vectors=vectors, friends=friends, queries=embedder.embed_queries(queries))
        words.write_text(json.dumps([passages, queries]), encoding="utf-8")
    (passages, queries), kept = json.loads(words.read_text(encoding="utf-8")), np.load(rows)
    return Seeds(passages, kept["vectors"], kept["friends"], queries, kept["queries"])


def mixed(known: Seeds, size: int) -> Iterator[tuple[int, Vectors, list[str]]]:
    """Yield (first, unit vectors, texts) of a collection; a smaller collection is the beginning of a larger one.

    A vector is a random point between a seed and one of its neighbours, moved by a part of the difference of two
    others. Its text has the sentences of both, and one of each of the others, in a random order.
    """
    for first in range(0, size, BATCH):
        dice = np.random.default_rng([7, first])
        a, c, d = dice.integers(len(known.vectors), size=(3, BATCH))
        b = known.friends[a, dice.integers(FRIENDS, size=BATCH)]
        share = dice.uniform(0.3, 1, size=(BATCH, 1)).astype(np.float32)
        rows = share * known.vectors[a] + (1 - share) * known.vectors[b]
        rows += np.float32(DRIFT) * (known.vectors[c] - known.vectors[d])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        texts = []
        for places in zip(a, b, c, d, strict=True):
            near, other, *strangers = (known.passages[place] for place in places)
            told = [*near, *other, *(passage[0] for passage in strangers)]
            texts.append(" ".join(told[place] for place in dice.permutation(len(told))))
        count = min(BATCH, size - first)
        yield first, rows[:count], texts[:count]


def _cut(texts: Iterator[str]) -> tuple[list[list[str]], list[str]]:
    """Return passages of whole sentences, each sentence once, and the first sentences of every 20th text as queries."""
    seen: set[str] = set()
    passages: list[list[str]] = []
    queries: list[str] = []
    for number, text in enumerate(texts):
        found = (" ".join(span.of(text).split()) for span in sentences(text[:200_000]))
        told = [one for one in dict.fromkeys(found) if 5 <= len(one.split()) <= 40 and one not in seen]
        seen.update(told)
        if number % 20 == 19:
            queries += [one for one in told[:3] if len(one) < 120]
        else:
            passages += [told[first : first + SENTENCES] for first in range(0, len(told), SENTENCES)]
        if len(passages) >= REAL and len(queries) >= QUERIES:
            break
    if len(passages) < 1000 or len(queries) < 20:
        raise SystemExit("error: too little text to mix passages from\n  name more of it with --text")
    return passages[:REAL], queries[:QUERIES]
