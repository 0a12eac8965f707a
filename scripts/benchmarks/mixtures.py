"""Real sentences and their vectors, and passages without end that are mixed from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.texts import documents
from local_rag.text.sentences import sentences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from local_rag.core.protocols import Embedder, Vectors

REAL = 12_000
"""Passages that are embedded in earnest; at 1,000,000 each is the seed of about 80."""

QUERIES = 300
_LONGEST = 600
"""Characters of such a passage: some 130 tokens, so that all of it is read."""

_FRIENDS = 8
_DRIFT = 0.35
"""Share of a difference of two others that is added to a mixture: two of one pair then have a cosine of about 0.8,
as neighbours have in a large collection, and the directions keep the spectrum of real vectors."""


@dataclass(frozen=True)
class Seeds:
    """Real passages, each its sentences, with unit vectors (n, d) and neighbours (n, 8); and held-out queries."""

    passages: list[list[str]]
    vectors: Vectors
    friends: NDArray[np.int64]
    queries: list[str]
    query_vectors: Vectors


def seeds(data: Path, source: Path | None, embedder: Embedder) -> Seeds:
    """Read them, or make them once: minutes, nearly all of it embedding. Raises SystemExit for too little text."""
    name = source.name if source else "installed"
    words, rows = data / f"seeds-{name}.json", data / f"seeds-{name}.npz"
    if not (words.exists() and rows.exists()):
        passages, queries = _cut(documents(source))
        vectors = embedder.embed_documents([" ".join(passage) for passage in passages])
        parts = (vectors[first : first + 1000] @ vectors.T for first in range(0, len(vectors), 1000))
        friends = np.concatenate([np.argsort(-part, axis=1)[:, 1 : _FRIENDS + 1] for part in parts])
        np.savez(rows, vectors=vectors, friends=friends, queries=embedder.embed_queries(queries))
        words.write_text(json.dumps({"passages": passages, "queries": queries}), encoding="utf-8")
    known, kept = json.loads(words.read_text(encoding="utf-8")), np.load(rows)
    return Seeds(known["passages"], kept["vectors"], kept["friends"], known["queries"], kept["queries"])


def mixed_vectors(seeds: Seeds, first: int, count: int) -> tuple[Vectors, NDArray[np.int64]]:
    """(count, d) unit vectors of the passages from `first` on, and the two seeds (count, 2) of each.

    A random point between a seed and one of its neighbours, moved by a part of the difference of two others.
    """
    dice = np.random.default_rng([7, first])
    a = dice.integers(len(seeds.vectors), size=count)
    b = seeds.friends[a, dice.integers(seeds.friends.shape[1], size=count)]
    c, d = dice.integers(len(seeds.vectors), size=(2, count))
    share = dice.uniform(0.3, 1, size=(count, 1)).astype(np.float32)
    rows = share * seeds.vectors[a] + (1 - share) * seeds.vectors[b]
    rows += np.float32(_DRIFT) * (seeds.vectors[c] - seeds.vectors[d])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), np.stack([a, b], axis=1)


def mixed_texts(seeds: Seeds, pairs: NDArray[np.int64], first: int) -> list[str]:
    """The texts of the same passages: the sentences of both seeds with two of anywhere, in a random order."""
    dice = np.random.default_rng([8, first])
    others = dice.integers(len(seeds.passages), size=(len(pairs), 2)).tolist()
    found = []
    for (a, b), strangers in zip(pairs.tolist(), others, strict=True):
        chosen = seeds.passages[a] + seeds.passages[b] + [seeds.passages[other][0] for other in strangers]
        found.append(" ".join(chosen[place] for place in dice.permutation(len(chosen))))
    return found


def _cut(texts: Iterator[str]) -> tuple[list[list[str]], list[str]]:
    """Passages of whole sentences, each sentence once, and the first sentences of every 20th text as queries."""
    seen: set[str] = set()
    passages: list[list[str]] = []
    queries: list[str] = []
    for number, text in enumerate(texts):
        told = [sentence for sentence in _telling(text) if sentence not in seen]
        seen.update(told)
        if number % 20 == 19:
            queries += [one for one in told[:3] if len(one) < 120][: QUERIES - len(queries)]
        else:
            passages += _grouped(told)
        if len(passages) >= REAL and len(queries) == QUERIES:
            return passages[:REAL], queries
    if len(passages) < 1000 or len(queries) < 20:
        raise SystemExit("error: too little text to mix passages from\n  name more of it with --text")
    return passages, queries


def _telling(text: str) -> list[str]:
    found = [" ".join(span.of(text).split()) for span in sentences(text[:200_000])]
    return [one for one in found if 5 <= len(one.split()) <= 60 and len(one) <= _LONGEST]


def _grouped(told: Sequence[str]) -> list[list[str]]:
    found: list[list[str]] = []
    length = _LONGEST
    for sentence in told:
        if length + len(sentence) > _LONGEST:
            found.append([])
            length = 0
        found[-1].append(sentence)
        length += len(sentence)
    return [passage for passage in found if sum(map(len, passage)) > _LONGEST // 3]
