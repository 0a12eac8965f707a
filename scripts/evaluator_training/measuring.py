"""How well the network reads: SQuAD's F1 and exact match, how it tells answerable questions, how it sees support."""

from __future__ import annotations

import json
import random
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from evaluator_training.batches import collate, encode
from evaluator_training.examples import PRESENT, Example, Pair, absent

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from local_rag.engines.evaluator.model import EvaluatorModel

QUESTIONS = 500
"""Questions of dev that are asked, and support pairs that are held out, at most; with the gold paragraph."""
LONGEST_ANSWER = 24
"""Tokens of a short answer at most."""


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
        (score, f1(text, golds), exact(text, golds))
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
    """(best span, score) of each; the score is a quarter of the span's logit plus the log odds of "present"."""
    read: dict[int, tuple[str, float]] = {}
    order = sorted(range(len(examples)), key=lambda number: len(examples[number].text))
    for first in range(0, len(order), 32):
        numbers = order[first : first + 32]
        inputs = encode(tokenizer, [examples[number] for number in numbers])
        if len(inputs) < len(numbers):  # a question that fills the window
            continue
        batch = collate(inputs).to(device)
        with torch.no_grad():
            span, relevance, _ = network(batch.ids, batch.mask, batch.types)
        chances = relevance.softmax(-1)[:, PRESENT].clamp(1e-6, 1 - 1e-6)
        odds = torch.log(chances / (1 - chances))
        for row, number in enumerate(numbers):
            start, end, logit = best_span(span[row], batch.allowed[row])
            offsets = tokenizer.encode(examples[number].question, examples[number].text).offsets
            text = examples[number].text[offsets[start][0] : offsets[end][1]]
            read[number] = text, logit / 4 + float(odds[row])
    return [read.get(number, ("", -10.0)) for number in range(len(examples))]


def best_span(span: Any, allowed: Any) -> tuple[int, int, float]:
    """(first token, last token, logit over that of no answer) of the best span; (tokens, 2) and (tokens,)."""
    inside = allowed.clone()
    inside[0] = False
    masked = span.masked_fill(~inside.unsqueeze(-1), -1e4)
    scores = masked[:, 0].unsqueeze(1) + masked[:, 1].unsqueeze(0)
    lengths = torch.ones_like(scores).triu().tril(LONGEST_ANSWER - 1).bool()
    scores = scores.masked_fill(~lengths, -1e9)
    place = int(scores.argmax())
    start, end = divmod(place, len(scores))
    return start, end, float(scores[start, end] - span[0].sum())


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


def normal(text: str) -> list[str]:
    """The words of an answer as SQuAD's script compares them: lower case, without punctuation and articles."""
    plain = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def f1(text: str, golds: Sequence[str]) -> float:
    """Token F1 with the best of the right answers (SQuAD, arXiv 1606.05250, section 6.1)."""
    best = 0.0
    for gold in golds:
        given, wanted = Counter(normal(text)), Counter(normal(gold))
        common = sum((given & wanted).values())
        best = max(best, 2 * common / (given.total() + wanted.total()) if common else 0.0)
    return best


def exact(text: str, golds: Sequence[str]) -> float:
    """1 if the answer is one of the right ones."""
    return float(any(normal(text) == normal(gold) for gold in golds))


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
