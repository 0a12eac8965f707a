"""Train: batches of similar length, the loss of three heads, AdamW with a learning rate that falls to 0."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from evaluator.examples import Encoded, Example, Pair, encoded, round_of
from evaluator.model import EvaluatorModel
from local_rag.engines.evaluator.inputs import Inputs

SUPPORT_SHARE = 0.7
"""The weight of a batch of pairs, because they are short and many."""
WARM_UP = 100
"""The number of steps until the highest learning rate."""
_POOL, _REPORT = 50, 50
"""The number of batches that are sorted by length together, and of steps between two lines of output."""


@dataclass(frozen=True)
class Plan:
    """Set the length and speed of the training; `examples` is the total number of examples."""

    examples: int
    rate: float = 1.5e-4
    batch: int = 32
    seed: int = 7


def train(
    model: EvaluatorModel, inputs: Inputs, known: Sequence[Example], statements: Sequence[Pair], plan: Plan
) -> list[float]:
    """Train the model on the examples, round after round, on a GPU if there is one; return the loss of each step."""
    torch.manual_seed(plan.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device).train()
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=plan.rate, betas=(0.9, 0.98), weight_decay=0.01)
    losses: list[float] = []
    seen, began = 0, time.monotonic()
    for batch in _batches(inputs, known, statements, plan):
        if seen >= plan.examples:
            break
        rate = plan.rate * min(1.0, (len(losses) + 1) / WARM_UP) * (1 - seen / plan.examples)
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = _loss(model, inputs, batch, device)
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss.detach()))
        seen += len(batch)
        if len(losses) % _REPORT == 0:
            mean = sum(losses[-_REPORT:]) / _REPORT
            print(f"{seen:,} examples, {seen / (time.monotonic() - began):.1f} a second, loss {mean:.3f}", flush=True)
    return losses


def _batches(
    inputs: Inputs, known: Sequence[Example], statements: Sequence[Pair], plan: Plan
) -> Iterator[list[Encoded]]:
    """Yield batches without end, in random order; a batch has questions or pairs, never both."""
    dice = random.Random(plan.seed)
    while True:
        ready = list(encoded(round_of(known, statements, dice), inputs))
        if not ready:
            raise SystemExit("error: no example fits the window")
        made: list[list[Encoded]] = []
        for kind in (Example, Pair):
            alike = [each for each in ready if isinstance(each.example, kind)]
            for pool in range(0, len(alike), plan.batch * _POOL):
                ordered = sorted(alike[pool : pool + plan.batch * _POOL], key=lambda each: len(each.window.ids))
                made += [ordered[n : n + plan.batch] for n in range(0, len(ordered), plan.batch)]
        dice.shuffle(made)
        yield from made


def _loss(model: EvaluatorModel, inputs: Inputs, batch: Sequence[Encoded], device: str) -> Any:
    """Return the cross-entropy of start, end and relevance, or of support; a span must be in the text, or at [CLS]."""
    windows = [each.window for each in batch]
    given = {name: torch.from_numpy(values).to(device) for name, values in inputs.batch(windows).items()}
    span, relevance, support = model(**given)
    examples = [each.example for each in batch if isinstance(each.example, Example)]
    if not examples:
        labels = [int(each.example.supported) for each in batch if isinstance(each.example, Pair)]
        return SUPPORT_SHARE * nn.functional.cross_entropy(support, torch.tensor(labels, device=device))
    allowed = torch.zeros(span.shape[:2], dtype=torch.bool)
    allowed[:, 0] = True
    for row, window in enumerate(windows):
        allowed[row, window.first : window.first + len(window.offsets)] = True
    span = span.masked_fill(~allowed.to(device).unsqueeze(-1), -1e4)
    start = torch.tensor([each.start for each in batch], device=device)
    end = torch.tensor([each.end for each in batch], device=device)
    ends = nn.functional.cross_entropy(span[..., 0], start, reduction="none")
    ends = ends + nn.functional.cross_entropy(span[..., 1], end, reduction="none")
    weight = torch.where(start > 0, 1.0, 0.5)
    target = torch.tensor([example.relevance for example in examples], device=device)
    return 0.5 * (ends * weight).mean() + 0.5 * nn.functional.cross_entropy(relevance, target)
