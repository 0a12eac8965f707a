"""How well the network reads: SQuAD's F1 and exact match, how it tells answerable questions, how it sees support."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from evaluator_training.batches import collate, encode
from evaluator_training.examples import PRESENT, Example, Pair, absent
from local_rag.engines.evaluator.inputs import Inputs
from local_rag.engines.evaluator.spans import best_spans
from local_rag.evaluation.answer_metrics import exact_match, token_f1

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from local_rag.engines.evaluator.model import EvaluatorModel

QUESTIONS = 700
"""Questions of dev that are asked, and support pairs that are held out, at most; with the gold paragraph."""


@dataclass(frozen=True)
class Measured:
    """Figures in [0, 1]: of answerable questions, of the separation of answerable from other ones, of support."""

    f1: float
    exact: float
    auc: float
    balanced: float
    support: float

    @property
    def score(self) -> float:
        """What weights are chosen by."""
        return 0.4 * self.f1 + 0.4 * self.auc + 0.2 * self.support


def measure(network: EvaluatorModel, tokenizer: Tokenizer, dev: Path, pairs: Sequence[Pair], device: str) -> Measured:
    """The figures of a file in SQuAD's format, each question with its own paragraph, and of held-out pairs."""
    rng = random.Random(1)
    questions = _questions(dev)
    rng.shuffle(questions)
    questions = questions[:QUESTIONS]
    examples = [absent(question, text, "") for question, text, _ in questions]
    read = _read(network, tokenizer, examples, device)
    right = [
        (score, token_f1(text, golds), exact_match(text, golds))
        for (text, score), (*_, golds) in zip(read, questions, strict=True)
        if golds
    ]
    wrong = [score for (_, score), (*_, golds) in zip(read, questions, strict=True) if not golds]
    scores = [score for score, *_ in right]
    sample = rng.sample(list(pairs), min(QUESTIONS, len(pairs)))
    return Measured(
        round(_mean([value for _, value, _ in right]), 4),
        round(_mean([value for *_, value in right]), 4),
        round(_auc(scores, wrong), 4),
        round(_best_balanced(scores, wrong), 4),
        round(_support(network, tokenizer, sample, device), 4),
    )


def _questions(file: Path) -> list[tuple[str, str, list[str]]]:
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    return [
        (entry["question"], paragraph["context"], [] if entry.get("is_impossible") else _texts(entry))
        for article in articles
        for paragraph in article["paragraphs"]
        for entry in paragraph["qas"]
    ]


def _texts(entry: dict[str, list[dict[str, str]]]) -> list[str]:
    return [answer["text"] for answer in entry["answers"]]


def _read(
    network: EvaluatorModel, tokenizer: Tokenizer, examples: Sequence[Example], device: str
) -> list[tuple[str, float]]:
    """(best span, score) of each, as the product reads; the score is a quarter of the span's logit plus the log odds of
    "present".
    """
    inputs = Inputs(tokenizer)
    windows = [inputs.windows(example.question, "", example.text)[:1] for example in examples]
    read: dict[int, tuple[str, float]] = {}
    order = sorted((n for n in range(len(examples)) if windows[n]), key=lambda n: len(windows[n][0].ids))
    for first in range(0, len(order), 32):
        numbers = order[first : first + 32]
        batch = inputs.batch([windows[n][0] for n in numbers])
        with torch.inference_mode():
            logits = network(**{name: torch.from_numpy(values).to(device) for name, values in batch.items()})
        span, relevance = (values.float().cpu() for values in logits[:2])
        chances = relevance.softmax(-1)[:, PRESENT].clamp(1e-6, 1 - 1e-6)
        for row, number in enumerate(numbers):
            best = best_spans(windows[number][0], span[row].numpy(), examples[number].text)[0]
            read[number] = best.text, best.logit / 4 + float(torch.log(chances[row] / (1 - chances[row])))
    return [read.get(number, ("", -10.0)) for number in range(len(examples))]


def _support(network: EvaluatorModel, tokenizer: Tokenizer, pairs: Sequence[Pair], device: str) -> float:
    """Balanced accuracy of support."""
    right: Counter[int] = Counter()
    every = Counter(pair.supported for pair in pairs)
    order = sorted(pairs, key=lambda pair: len(pair.text))
    for first in range(0, len(order), 48):
        inputs = encode(tokenizer, order[first : first + 48])
        batch = collate(inputs).to(device)
        with torch.no_grad():
            labels = network(batch.ids, batch.mask, batch.types)[2].argmax(-1)
        right.update(int(label) for label, wanted in zip(labels, batch.labels, strict=True) if label == wanted)
    return _mean([right[label] / count for label, count in every.items() if count])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """How often an answerable question scores above another one."""
    if not right or not wrong:
        return 0.0
    values = torch.tensor(right).unsqueeze(1), torch.tensor(wrong).unsqueeze(0)
    return float((values[0] > values[1]).float().mean() + 0.5 * (values[0] == values[1]).float().mean())


def _best_balanced(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Balanced accuracy at the best threshold."""
    best = 0.0
    for threshold in [*right, *wrong]:
        answered = _mean([float(score >= threshold) for score in right])
        refused = _mean([float(score < threshold) for score in wrong])
        best = max(best, (answered + refused) / 2)
    return best
