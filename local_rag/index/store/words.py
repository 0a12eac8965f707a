"""The words of a query: the terms that are looked for in each field, and the weight of each term."""

from __future__ import annotations

import math
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from local_rag.text.identifiers import asked_for, is_unspaced
from local_rag.text.languages import stems
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import WORD

LIMIT = 2.2
"""The most that a term adds to a BM25 score, in units of its idf: k1 + 1, with k1 = 1.2."""

COUNTED = 5_000
"""Matches of a term that are counted; the number of further matches is estimated."""

PLAIN = 10_000
"""Matches up to which all are ranked. FTS5 ranks about one in a microsecond."""

RANKED_FIRST, RANKED_MOST = 5_000, 20_000
"""Matches that are ranked at first, and at most; four times as many from step to step."""

USUAL = 1.0
"""The most that a term adds in most passages, in units of its idf; with LIMIT the first ranks would be exact. nDCG@10
stays that of all matches: docs/measurements.md.
"""


NARROW = 20_000
"""Chunks up to which a filter is narrow, so that all vectors and words of what passes it are compared."""

_MOST_TERMS = 100
"""The most terms of a query: FTS5 refuses expressions deeper than 256 (SQLITE_FTS5_MAX_EXPR_DEPTH)."""

CONTENT, NAMES, FOLDERS = FIELDS = ("content", "names", "folders")
"""The fields in which a word is looked for by itself. A word of a name is as rare as it is among names, a word of the
folders that all files lie in says nothing, and in texts both are as telling as they are there.
"""


STEMMED = "stemmed"
"""The field of the stems that the words of a text have in its language."""

Ranking = list[tuple[int, float]]
"""(chunk, BM25), best first; as in FTS5, less is better."""


class Term(NamedTuple):
    """A word, or several that stand together, in one field; a text that ends in a star is a prefix."""

    field: str
    text: str


def terms_of(query: str) -> list[str]:
    """Return the words and phrases of a query; stop words only if there is nothing else.

    "self-rag" is looked for as a phrase and as its words, an identifier in one piece as well; in a script without
    blanks two signs in a row are a word. The words stay as they are written: a store folds them as it folded the text.
    """
    terms = [f"{identifier}*" for identifier in asked_for(query)]
    for part in unicodedata.normalize("NFC", query).split():
        found = [word.removesuffix("'s").removesuffix("’s") for word in WORD.findall(part)]
        if len(found) > 1 and is_unspaced(part):
            terms += map(" ".join, pairwise(found))
            continue
        if len(found) > 1 and any(word.casefold() not in STOP_WORDS for word in found):
            terms.append(" ".join(found))
        terms += found
    distinct = list(dict.fromkeys(terms))
    return ([term for term in distinct if term.casefold() not in STOP_WORDS] or distinct)[:_MOST_TERMS]


class Frequencies:
    """The numbers of chunks in which terms occur, estimated for a frequent term; they hold for one generation.

    `chunks` is the number of all chunks, `languages` are those of the documents; `count` counts terms.
    """

    def __init__(self, chunks: int, languages: Sequence[str], count: Callable[[list[Term]], dict[Term, int]]) -> None:
        self.chunks, self.languages, self._count = chunks, languages, count
        self._known: dict[Term, int] = {}

    def of(self, terms: Sequence[Term]) -> dict[Term, int]:
        """Return the numbers of these terms, counting those that are not known yet."""
        self._known |= self._count([term for term in terms if term not in self._known])
        return {term: self._known[term] for term in terms}


class Words:
    """The terms of a query that occur in an index, the rarest first, each with its number of chunks.

    A word is looked for as it is written, and by the stem that it has in each language of the index. `highest` is about
    the BM25 of a text that is full of the terms.
    """

    def __init__(self, query: str, frequencies: Frequencies) -> None:
        terms = terms_of(query)
        forms = [[Term(STEMMED, stem) for stem in stems(query, each)[:_MOST_TERMS]] for each in frequencies.languages]
        every = [Term(field, term) for field in FIELDS for term in terms] + list(dict.fromkeys(chain(*forms)))
        self._chunks, counts = frequencies.chunks, frequencies.of(every)
        self.counts = {term: counts[term] for term in sorted(every, key=counts.__getitem__) if counts[term]}
        of_fields = ([counts[Term(field, term)] for field in FIELDS] for term in terms)
        rarest = (min(filter(None, known), default=0) for known in of_fields)
        of_stems = (sum(self.idf(counts[term]) for term in {*each} if counts[term]) for each in forms)
        self.highest = LIMIT * (sum(self.idf(count) for count in rarest if count) + max(of_stems, default=0)) or 1.0

    def best(self, limit: int, ranked: Callable[[int], Ranking]) -> Ranking:
        """Return the best chunks for any of the terms; `ranked` returns the chunks with one of the first n terms, by
        all terms.

        A chunk that has only frequent terms does not reach the first `limit` once the sum of what they add is below the
        last score there: MaxScore (Turtle and Flood, Information Processing & Management 31, 1995).
        """
        counts = list(self.counts.values())
        adds = [USUAL * self.idf(count) for count in counts]
        budget = RANKED_FIRST if sum(counts) > PLAIN else PLAIN
        needed, ranking = 0, Ranking()
        while needed < len(counts):
            affordable = max(1, bisect_right(list(accumulate(counts)), budget))
            if affordable > needed:
                needed, ranking = affordable, ranked(affordable)
            full = len(ranking) == limit
            if budget >= RANKED_MOST or (full and sum(adds[needed:]) <= -ranking[-1][1]):
                break
            budget *= 4
        return ranking

    def shares(self, ranking: Ranking) -> dict[int, float]:
        """Return the BM25 of each chunk as a share of the highest possible."""
        return {chunk: -score / self.highest for chunk, score in ranking}

    def idf(self, count: int) -> float:
        """Return the inverse document frequency as FTS5 computes it; that of a term in more than half of the chunks is
        about 0.
        """
        return max(1e-6, math.log((self._chunks - count + 0.5) / (count + 0.5)))
