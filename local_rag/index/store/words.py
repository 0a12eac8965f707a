"""The words of a query: which terms are looked for in which fields, and what each of them is worth."""

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
"""What a term adds at most to a BM25 score, in units of its idf: k1 + 1, and k1 is 1.2."""

COUNTED = 5_000
"""Matches of a term that are counted; how many more there are is estimated."""

PLAIN = 10_000
"""Matches that are all ranked. FTS5 ranks about one in a microsecond."""

RANKED_FIRST, RANKED_MOST = 5_000, 20_000
"""Matches that are ranked at first, and at most; four times as many from step to step."""

USUAL = 1.0
"""What a term adds at most in most passages, in units of its idf; with LIMIT the first ranks are exact. nDCG@10 stays
that of all matches: docs/measurements.md.
"""


LISTED = 20_000
"""Chunks up to which a filter is so narrow that all vectors, and all words, are compared for what passes it."""

_MOST_TERMS = 100
"""FTS5 refuses expressions deeper than 256 (SQLITE_FTS5_MAX_EXPR_DEPTH)."""

CONTENT, NAMES, FOLDERS = FIELDS = ("content", "names", "folders")
"""Fields in which a word is looked for by itself: a word of names is as rare as it is among names, one of the folders
that all files lie in says nothing, and in texts both stay as telling as they are there.
"""


STEMMED = "stemmed"
"""The field of the stems that the words of a text have in its language."""

Ranking = list[tuple[int, float]]
"""(chunk, BM25), best first; as FTS5 has it, less is better."""


class Term(NamedTuple):
    """A word, or several that stand together, in one field; one with a star begins so."""

    field: str
    text: str


def terms_of(query: str) -> list[str]:
    """The words and phrases of a query, stop words only if there is nothing else.

    "self-rag" is looked for as a phrase and as its words, an identifier in one piece as well; of a script without
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
    """In how many of an index's `chunks` terms occur, of a frequent one about; they hold for one generation.

    `languages` are those of its documents.
    """

    def __init__(self, chunks: int, languages: Sequence[str]) -> None:
        self.chunks, self.languages = chunks, languages
        self._known: dict[Term, int] = {}

    def of(self, terms: Sequence[Term], count: Callable[[list[Term]], dict[Term, int]]) -> dict[Term, int]:
        self._known |= count([term for term in terms if term not in self._known])
        return {term: self._known[term] for term in terms}


class Words:
    """The terms of a query that an index has, the rarest first, each with the number of chunks that it occurs in.
    A word is looked for as it is written, and by the stem that it has in each language of the index.

    `highest` is what the BM25 of a text comes near to that is full of them.
    """

    def __init__(self, query: str, frequencies: Frequencies, count: Callable[[list[Term]], dict[Term, int]]) -> None:
        terms = terms_of(query)
        forms = [[Term(STEMMED, stem) for stem in stems(query, each)[:_MOST_TERMS]] for each in frequencies.languages]
        every = [Term(field, term) for field in FIELDS for term in terms] + list(dict.fromkeys(chain(*forms)))
        self._chunks, counts = frequencies.chunks, frequencies.of(every, count)
        self.counts = {term: counts[term] for term in sorted(every, key=counts.__getitem__) if counts[term]}
        of_fields = ([counts[Term(field, term)] for field in FIELDS] for term in terms)
        rarest = (min(filter(None, known), default=0) for known in of_fields)
        of_stems = (sum(self.idf(counts[term]) for term in {*each} if counts[term]) for each in forms)
        self.highest = LIMIT * (sum(self.idf(count) for count in rarest if count) + max(of_stems, default=0)) or 1.0

    def best(self, limit: int, ranked: Callable[[int], Ranking]) -> Ranking:
        """The best chunks for any of the terms; `ranked` gives those that have one of the first terms, by all terms.

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
        """BM25 as a share of the highest possible."""
        return {chunk: -score / self.highest for chunk, score in ranking}

    def idf(self, count: int) -> float:
        """Inverse document frequency as FTS5 computes it; that of a term in more than half of the chunks is about 0."""
        return max(1e-6, math.log((self._chunks - count + 0.5) / (count + 0.5)))
