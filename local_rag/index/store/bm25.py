"""Passages ranked by words: BM25 of FTS5, without reading what frequent words match in a large index."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from local_rag.index.store import reads

if TYPE_CHECKING:
    from local_rag.index.store.writes import Sql

Ranked = list[tuple[int, float]]

_PLAIN = 20_000
"""Matches that are all ranked. FTS5 ranks about one in a microsecond."""

_FIRST = 10_000
_MOST = 640_000
"""Matches that are ranked at first, and at most; four times as many from step to step."""

_USUAL = 1.25
"""What a term adds at most in most passages, in units of its idf: 1 for one occurrence in one of average length; 2.2 is
the limit (k1 = 1.2), with which the first ranks would be exact. With these budgets as shares of 1,000,000 passages
nDCG@10 stays that of all matches: Cranfield .353 by words and .410 hybrid, SciFact .685 and .718. At 1,000,000 passages
(60 queries, scripts/bench.py search) .985 of the first ten are the same, .948 with 1.0 and .988 with 1.5."""


class Frequencies:
    """In how many chunks the terms of queries occur, kept until the index changes; any thread may ask."""

    def __init__(self) -> None:
        self._known: tuple[str, int, dict[str, int]] = ("", 0, {})

    def of(self, db: Sql, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        """The number of chunks, and for each term in how many it occurs."""
        generation = reads.meta(db)["generation"]
        known = self._known
        if known[0] != generation:
            known = self._known = (generation, reads.counts(db)[2], {})
        for term in terms:
            if term not in known[2]:
                known[2][term] = reads.matches(db, term)
        return known[1], {term: known[2][term] for term in terms}


def best(
    db: Sql,
    frequencies: Frequencies,
    terms: Sequence[str],
    limit: int,
    files: Collection[int] | None,
    exclude: Collection[int],
) -> Ranked:
    """(chunk, BM25) of the best chunks for any of these FTS5 strings, best first; BM25 is negative, less is better.

    MaxScore (Turtle and Flood, Information Processing & Management 31, 1995): a chunk that has only frequent terms does
    not reach the first `limit` once the sum of what they add is below the last score there. So only chunks with a rarer
    term are ranked, by all terms.
    """
    chunks, counts = frequencies.of(db, terms)
    known = sorted((term for term in terms if counts[term]), key=lambda term: counts[term])
    budget = _FIRST if sum(counts.values()) > _PLAIN else _PLAIN
    adds = [_USUAL * max(1e-6, math.log((chunks - counts[term] + 0.5) / (counts[term] + 0.5))) for term in known]
    if known and files is not None:  # the bound is that of the whole index: few files may hold only frequent terms
        return _ranked(db, known, len(known), limit, files, exclude)
    needed, found = 0, Ranked()
    while needed < len(known):
        more = _affordable(known, counts, budget)
        if more > needed:
            needed, found = more, _ranked(db, known, more, limit, files, exclude)
        reached = len(found) == limit and sum(adds[needed:]) <= -found[-1][1]
        if reached or budget >= _MOST:
            break
        budget *= 4
    return found


def _affordable(known: Sequence[str], counts: dict[str, int], most: int) -> int:
    """How many of the rarest terms have no more matches together, at least one."""
    total = 0
    for number, term in enumerate(known):
        total += counts[term]
        if total > most:
            return max(1, number)
    return len(known)


def _ranked(
    db: Sql,
    known: Sequence[str],
    needed: int,
    limit: int,
    files: Collection[int] | None,
    exclude: Collection[int],
) -> Ranked:
    """The best chunks with one of the first `needed` terms, by all terms.

    FTS5 can only ask for such a term by naming it twice, and then counts it twice: its share is taken off again.
    """
    rare, every = " OR ".join(known[:needed]), " OR ".join(known)
    if needed == len(known):
        return reads.matching(db, every, limit, files, exclude)
    doubled = reads.matching(db, f"({rare}) AND ({every})", 4 * limit, files, exclude)
    once = reads.scores(db, rare, [chunk for chunk, _ in doubled])
    single = ((chunk, round(score - once[chunk], 12)) for chunk, score in doubled)  # equal scores stay equal
    return sorted(single, key=lambda row: (row[1], row[0]))[:limit]
