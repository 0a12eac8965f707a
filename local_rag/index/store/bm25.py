"""Passages ranked by their words: BM25 of FTS5, without reading what frequent words match in a large index."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from local_rag.index.store import full_text, reads
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import WORD

if TYPE_CHECKING:
    from sqlite3 import Connection

    from local_rag.index.store.selection import Selection

Ranking = list[tuple[int, float]]

PLAIN = 20_000
"""Matches that are all ranked. FTS5 ranks about one in a microsecond."""

FIRST, MOST = 10_000, 640_000
"""Matches that are ranked at first, and at most; four times as many from step to step."""

USUAL = 1.25
"""What a term adds at most in most passages, in units of its idf; 2.2 is the limit (k1 = 1.2), with which the first
ranks are exact. nDCG@10 stays that of all matches: Cranfield .353 by words and .410 hybrid, SciFact .685 and .718.
At 1,000,000 passages (60 queries) .985 of the first ten are the same, .948 with 1.0 and .988 with 1.5."""

FEW = 20_000
"""Chosen chunks whose ids SQLite is given; of more of them the ranking of all chunks holds enough."""

LIMIT = 2.2
"""What a term adds at most to a BM25 score, in units of its idf: k1 + 1, and FTS5's k1 is 1.2."""

_MOST_TERMS = 100
"""FTS5 refuses expressions deeper than 256 (SQLITE_FTS5_MAX_EXPR_DEPTH)."""


def terms_of(query: str) -> list[str]:
    """A query as strings of FTS5: words and phrases, stop words only if there is nothing else.

    "self-rag" is looked for as a phrase and as its words. The words stay as they are written: FTS5 folds them as it
    folded the text. FTS5 strings: https://sqlite.org/fts5.html#fts5_strings
    """
    terms: list[str] = []
    for part in unicodedata.normalize("NFC", query).split():
        words = WORD.findall(part)
        if len(words) > 1 and any(word.casefold() not in STOP_WORDS for word in words):
            terms.append(" ".join(words))
        terms += words
    distinct = list(dict.fromkeys(terms))
    kept = [term for term in distinct if term.casefold() not in STOP_WORDS]
    return [f'"{term}"' for term in (kept or distinct)[:_MOST_TERMS]]


class Frequencies:
    """In how many chunks the terms of queries occur, kept until the index changes; any thread may ask."""

    def __init__(self) -> None:
        self._known: tuple[str, int, dict[str, int]] = ("", 0, {})

    def of(self, db: Connection, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        """The number of chunks, and for each term in how many it occurs."""
        generation = reads.meta(db)["generation"]
        if self._known[0] != generation:
            self._known = (generation, reads.chunk_count(db), {})
        _, chunks, known = self._known
        for term in terms:
            if term not in known:
                known[term] = full_text.matches(db, term)
        return chunks, {term: known[term] for term in terms}


def best(
    db: Connection,
    frequencies: Frequencies,
    terms: Sequence[str],
    limit: int,
    chosen: Selection | None,
    exclude: Collection[int],
    weights: Sequence[float] = full_text.WEIGHTS,
) -> Ranking:
    """(chunk, BM25) of the best chunks for any of these FTS5 strings, best first; BM25 is negative, less is better.

    A term counts in what a chunk says and in what its file is called, each with its own idf.

    MaxScore (Turtle and Flood, Information Processing & Management 31, 1995): a chunk that has only frequent terms does
    not reach the first `limit` once the sum of what they add is below the last score there. So only chunks with a rarer
    term are ranked, by all terms.
    """
    chunks, counts = frequencies.of(db, [field + term for field in full_text.fields(db) for term in terms])
    rarest = sorted(filter(counts.__getitem__, counts), key=counts.__getitem__)
    share = 1.0 if chosen is None else len(chosen.chunks(db)) / max(1, chunks)
    if not share:
        return []
    budget = FIRST if sum(counts.values()) > PLAIN else PLAIN
    if chosen is not None:
        budget = max(budget, int(2 * limit / share))  # else the first matches rarely hold enough of the chosen chunks
    adds = [USUAL * _idf(chunks, counts[term]) for term in rarest]
    needed, ranking = 0, Ranking()
    while needed < len(rarest):
        affordable = _affordable([counts[term] for term in rarest], budget)
        if affordable > needed:
            needed, ranking = affordable, _ranked(db, rarest, affordable, limit, chosen, share, exclude, weights)
        full = len(ranking) == limit
        reached = full and sum(adds[needed:]) <= -ranking[-1][1]
        if reached or (budget >= MOST and (full or chosen is None)):
            break
        budget *= 4
    return ranking


def highest(db: Connection, frequencies: Frequencies, terms: Sequence[str]) -> float:
    """What the BM25 of a text comes near to that is full of every term that the index has, as a positive number."""
    content = full_text.fields(db)[0]
    chunks, counts = frequencies.of(db, [content + term for term in terms])
    return LIMIT * sum(_idf(chunks, count) for count in counts.values() if count)


def _idf(chunks: int, count: int) -> float:
    """Inverse document frequency as FTS5 computes it; that of a term in more than half of the chunks is about 0."""
    return max(1e-6, math.log((chunks - count + 0.5) / (count + 0.5)))


def _affordable(counts: Sequence[int], budget: int) -> int:
    """How many of the rarest terms have no more matches than the budget together, at least one."""
    total = 0
    for number, count in enumerate(counts):
        total += count
        if total > budget:
            return max(1, number)
    return len(counts)


def _ranked(
    db: Connection,
    terms: Sequence[str],
    needed: int,
    limit: int,
    chosen: Selection | None,
    share: float,
    exclude: Collection[int],
    weights: Sequence[float],
) -> Ranking:
    """The best chunks with one of the first `needed` terms, by all terms.

    FTS5 can only ask for such a term by naming it twice, and then counts it twice: its share is taken off again.
    """
    rare, every = " OR ".join(terms[:needed]), " OR ".join(terms)
    if needed == len(terms):
        return _chosen(db, every, limit, chosen, share, exclude, weights)
    doubled = _chosen(db, f"({rare}) AND ({every})", 4 * limit, chosen, share, exclude, weights)
    once = full_text.scores(db, rare, [chunk for chunk, _ in doubled], weights)
    single = ((chunk, round(score - once[chunk], 12)) for chunk, score in doubled)  # equal scores stay equal
    return sorted(single, key=lambda match: (match[1], match[0]))[:limit]


def _chosen(
    db: Connection,
    query: str,
    limit: int,
    chosen: Selection | None,
    share: float,
    exclude: Collection[int],
    weights: Sequence[float],
) -> Ranking:
    """The best of the chosen chunks for an FTS5 query. SQLite is told which they are only where they are few."""
    if chosen is None or len(chosen.chunks(db)) <= FEW:
        return full_text.matching(db, query, limit, None if chosen is None else chosen.json(db), exclude, weights)
    deep = int(1.5 * limit / share)
    while True:
        ranking = full_text.matching(db, query, deep, None, exclude, weights)
        held = chosen.holds(db, [chunk for chunk, _ in ranking])
        kept = [match for match, is_chosen in zip(ranking, held, strict=True) if is_chosen]
        if len(kept) >= limit or len(ranking) < deep:
            return kept[:limit]
        deep *= 4
