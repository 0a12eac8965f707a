"""What the network is shown: rounds of examples, each drawn anew from its own seed."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator_training import negatives, passages
from evaluator_training.batches import Encoded, batches, encode
from evaluator_training.examples import Example, Pair, reading_sources, sampled, support_sources

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NEAR, FAR = 0.3, 0.1
"""Shares of answerable questions that are also shown with a BM25 neighbour, and with any other passage."""
RULED = 0.12
"""Share of answerable questions that are also shown turned unanswerable by rule."""
EMPTIED = 0.15
"""Share of answerable questions that are also shown with their passage without the sentences of the answer."""
CROPPED, HEADED = 0.5, 0.5
"""Shares of passages that are cropped, and that have a header."""
STATEMENTS = 5_000
"""Pairs "question answer" per round."""
AMONG_OTHERS = 0.35
"""Share of support pairs whose passage stands between other sentences."""
HELD_OUT_SEED = 7
"""Draws the support pairs of MNLI, SNLI, BEGIN and SciFact that are never shown: the same ones whatever the seed of a
training is, because a training can begin with the weights of another.
"""


@dataclass
class Material:
    """The question sets, and rounds of batches made from them. The same seed gives the same rounds."""

    data: Path
    tokenizer: Tokenizer
    batch: int
    seed: int
    share: float = 1.0

    @cached_property
    def support(self) -> tuple[list[Pair], list[Pair]]:
        """(pairs to learn from, pairs that are held out)."""
        rng = random.Random(HELD_OUT_SEED)
        shown, held = [], []
        for source in support_sources(self.data):
            pairs = sampled(source, self.data, rng)
            size = {"mnli_snli_dev": 1_200, "begin": 600, "scifact_pairs": 200}.get(source.name, 0)
            held += pairs[:size]
            shown += pairs[size:]
        return shown, held

    def round(self, number: int) -> list[list[Encoded]]:
        """The batches of a round."""
        rng = random.Random(self.seed * 1_000 + number)
        examples: list[Example] = []
        for source in reading_sources(self.data):
            drawn = sampled(source, self.data, rng)
            examples += drawn[: max(1, int(self.share * len(drawn)))]
        own = [example for example in examples if example.present]
        pool = sorted({(example.title, example.text) for example in examples})
        neighbours = negatives.Neighbours(pool)
        names = negatives.names_of(examples)
        wrong = list(negatives.wrong_passages(examples, neighbours, rng, NEAR, FAR))
        ruled = [negatives.unanswerable(example, rng, names) for example in own if rng.random() < RULED]
        emptied = [passages.without_answer(example, rng) for example in own if rng.random() < EMPTIED]
        ruled += emptied
        examples += wrong + [example for example in ruled if example is not None]
        stored = [passages.as_stored(example, self.tokenizer) for example in examples]
        shown = [
            passages.with_header(passages.cropped(example, rng, CROPPED), rng, HEADED)
            for example in stored
            if example is not None
        ]
        pairs = self._pairs(shown, rng)
        print(f"round {number}: {len(shown)} examples, {len(pairs)} pairs; {_classes(shown)}", flush=True)
        everything: list[Example | Pair] = [*shown, *pairs]
        encoded = [
            each for n in range(0, len(everything), 4_000) for each in encode(self.tokenizer, everything[n : n + 4_000])
        ]
        return batches(encoded, self.batch, rng)

    def _pairs(self, examples: list[Example], rng: random.Random) -> list[Pair]:
        fillers = sorted({example.text.split(". ")[0] + "." for example in examples if len(example.text) > 300})
        statements = list(negatives.answers_as_statements(rng.sample(examples, min(len(examples), 12_000)), rng))
        pairs = [
            negatives.among_others(pair, fillers, rng) if rng.random() < AMONG_OTHERS else pair
            for pair in self.support[0]
        ]
        rng.shuffle(pairs)
        share = int(self.share * len(pairs))
        return pairs[:share] + statements[: int(self.share * STATEMENTS)]


def _classes(examples: list[Example]) -> str:
    counts = Counter("present" if example.present else "absent" for example in examples)
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())
