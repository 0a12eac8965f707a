"""The documents that a name may mean: those whose file's name or title has its words, looked up in the full text.

However large the index is, a bounded number of names is read.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_rag.index.name_match import MONTHS, PREFIX, Entry, entries_of
from local_rag.index.store import names

if TYPE_CHECKING:
    from local_rag.index.store.store import Store

READ = 200
"""Names that are read, of those that hold the rarest words."""

_WORDS = 50
"""Words of a question that are looked up; in a longer one the others count little."""

_LEAST = 0.1
"""Weight of a word that most names hold."""

_SPLIT = 3
"""Letters that each part of a word has at least where the name may write it as two words: homeoffice, home-office."""

_DIGITS = 5
"""Digits of a number with leading zeros."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The names that come into question, and the weight of each word of the question by its place.

    The weight is the inverse document frequency among names, ln((N + 1) / (n + 0.5)).
    """

    entries: tuple[Entry, ...]
    weights: dict[int, float]


def candidates(store: Store, spoken: Sequence[str], *, exact: bool = False) -> Candidates:
    """Those that hold some of these words; `exact`: no word counts for another that only begins like it."""
    looked_up: dict[int, names.Holding] = {}
    known: dict[str, names.Holding] = {}
    queries = [_query(spoken, place, exact) for place in range(min(len(spoken), _WORDS))]
    for place, query in enumerate(queries):
        if query not in known:
            known[query] = store.read(names.holding, query, spoken[place])
        looked_up[place] = known[query]
    total = store.read(names.count)
    weights = dict.fromkeys(range(len(spoken)), _LEAST)
    scores: dict[int, float] = defaultdict(float)
    for place, holding in looked_up.items():
        weights[place] = max(_LEAST, math.log((max(total, holding.count) + 1) / (holding.count + 0.5)))
        for document in holding.documents:
            scores[document] += weights[place]
    for place in range(1, len(queries)):  # of two frequent words not all that hold both are among those
        if not (looked_up[place - 1].complete or looked_up[place].complete):
            both = store.read(names.holding, f"({queries[place - 1]}) AND ({queries[place]})", "")
            for document in both.documents:
                scores[document] = max(scores[document], weights[place - 1] + weights[place])
    return Candidates(tuple(entries_of(store.read(names.best, scores, READ))), weights)


def _query(spoken: Sequence[str], place: int, exact: bool) -> str:
    """The word at a place as an FTS5 query, in all forms in which a name may have it."""
    word = spoken[place]
    if word.isdecimal():
        bare = word.lstrip("0") or "0"
        forms = [bare.zfill(digits) for digits in range(len(bare), max(len(bare), _DIGITS) + 1)]
    else:
        forms = [word, word.replace("ss", "ß")]  # FTS5 does not fold it
        forms += [f"{word[:at]} {word[at:]}" for at in range(_SPLIT, len(word) - _SPLIT + 1)]
    if word in MONTHS:
        forms.append(f"{MONTHS[word]:02}")
    forms += ["".join(spoken[first : first + 2]) for first in (place - 1, place) if 0 <= first < len(spoken) - 1]
    query = " OR ".join(f'"{form}"' for form in dict.fromkeys(forms))
    is_short = exact or word.isdecimal() or len(word) < PREFIX
    return query if is_short else f'{query} OR "{word[:PREFIX]}"*'
