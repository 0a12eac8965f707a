"""All passages of an index in an order in which its files take turns."""

from __future__ import annotations

import random
from collections.abc import Iterator

from local_rag.index.store import reads
from local_rag.index.store.schema import Passage
from local_rag.index.store.store import Store

_READ_AT_ONCE = 50
"""Passages that are read in one go."""


def passages_in_turns(store: Store, seed: int) -> Iterator[Passage]:
    """Every passage once in an order that the seed decides: the files take turns, each with its next one."""
    turns = list(store.read(reads.chunks_by_file).values())
    dice = random.Random(seed)
    dice.shuffle(turns)
    for chunks in turns:
        dice.shuffle(chunks)
    in_turns = ((turn, file, chunk) for file, chunks in enumerate(turns) for turn, chunk in enumerate(chunks))
    ordered = [chunk for _, _, chunk in sorted(in_turns)]
    for first in range(0, len(ordered), _READ_AT_ONCE):
        yield from store.read(reads.passages, ordered[first : first + _READ_AT_ONCE])
