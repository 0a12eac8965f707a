"""Examples -> token numbers -> tensors, in batches of like length."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from evaluator_training.examples import Example, Pair, Target

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LONGEST = 320
"""Tokens of an input, special ones included."""
_POOL = 50
"""Batches that are sorted by length together."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The token numbers of an input; `second` is where its passage begins.

    `start` and `end` are the first and last token of the answer, 0 ([CLS]) where there is none. `text` is the first
    token of the passage after its header.
    """

    ids: tuple[int, ...]
    second: int
    text: int
    start: int
    end: int
    example: Example | Pair


@dataclass(frozen=True, slots=True)
class Batch:
    """(n, tokens) each; of support pairs `labels` (n,), of examples the rest."""

    ids: Any
    mask: Any
    types: Any
    allowed: Any
    start: Any
    end: Any
    relevance: Any
    spans: Any
    labels: Any

    def to(self, device: str) -> Batch:
        """The batch on a device."""
        values = (getattr(self, name) for name in self.__slots__)
        return Batch(*(None if value is None else value.to(device) for value in values))


def encode(tokenizer: Tokenizer, examples: Sequence[Example | Pair]) -> list[Encoded]:
    """The inputs; without those whose answer lies beyond the window, or whose question fills it."""
    pairs = [_input(example) for example in examples]
    encodings = tokenizer.encode_batch([(first, f"{header}{text}") for first, header, text in pairs])
    encoded = []
    for example, (_, header, _), encoding in zip(examples, pairs, encodings, strict=True):
        sequence, offsets = encoding.sequence_ids, encoding.offsets
        last = len(sequence) - 1
        second = next((n for n, part in enumerate(sequence) if part == 1), last)
        if second > LONGEST // 2 or second == last:
            continue
        text = next((n for n in range(second, last) if offsets[n][0] >= len(header)), second)
        start = end = 0
        if isinstance(example, Example) and example.start >= 0:
            first, beyond = example.start + len(header), example.end + len(header)
            start = next((n for n in range(second, last) if offsets[n][1] > first), 0)
            end = next((n for n in range(last - 1, second - 1, -1) if offsets[n][0] < beyond), 0)
            if not start <= end < LONGEST - 1 or not start:
                continue
        ids = encoding.ids if len(encoding.ids) <= LONGEST else [*encoding.ids[: LONGEST - 1], encoding.ids[-1]]
        encoded.append(Encoded(tuple(ids), second, text, start, end, example))
    return encoded


def _input(example: Example | Pair) -> tuple[str, str, str]:
    """(question or statement, header, passage)."""
    if isinstance(example, Pair):
        return example.statement, "", example.text
    return example.question, f"{example.title}. " if example.title else "", example.text


def batches(encoded: Sequence[Encoded], size: int, rng: random.Random) -> list[list[Encoded]]:
    """All inputs in batches of like length, in random order; support pairs and examples never in one batch."""
    made = []
    for kind in (Example, Pair):
        inputs = [each for each in encoded if isinstance(each.example, kind)]
        rng.shuffle(inputs)
        for pool in range(0, len(inputs), size * _POOL):
            alike = sorted(inputs[pool : pool + size * _POOL], key=lambda each: len(each.ids))
            made += [alike[n : n + size] for n in range(0, len(alike), size)]
    rng.shuffle(made)
    return made


def collate(inputs: Sequence[Encoded]) -> Batch:
    """The tensors of a batch."""
    shape = len(inputs), max(len(each.ids) for each in inputs)
    ids, mask, types = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    allowed = torch.zeros(shape, dtype=torch.bool)
    allowed[:, 0] = True
    for row, each in enumerate(inputs):
        ids[row, : len(each.ids)] = torch.tensor(each.ids)
        mask[row, : len(each.ids)] = 1
        types[row, each.second : len(each.ids)] = 1
        allowed[row, each.text : len(each.ids) - 1] = True
    first = [each.example for each in inputs]
    if isinstance(first[0], Pair):
        labels = torch.tensor([pair.supported for pair in first if isinstance(pair, Pair)])
        return Batch(ids, mask, types, allowed, None, None, None, None, labels)
    examples = [example for example in first if isinstance(example, Example)]
    relevance: list[Target] = [example.relevance for example in examples]
    return Batch(
        ids,
        mask,
        types,
        allowed,
        torch.tensor([each.start for each in inputs]),
        torch.tensor([each.end for each in inputs]),
        torch.tensor(relevance, dtype=torch.float32),
        torch.tensor([float(example.spans) for example in examples]),
        None,
    )
