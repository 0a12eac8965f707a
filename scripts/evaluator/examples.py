"""Read training examples from public formats: questions from SQuAD 2.0, statements with evidence from MultiNLI."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from local_rag.engines.evaluator.inputs import Inputs, Window

OTHER, ABOUT, PRESENT = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
"""The targets of relevance: another topic; the right topic without the answer (CRAG's Ambiguous); with the answer."""
UNSURE = (0.5, 0.5, 0.0)
"""The target of a passage without the answer, if it is unknown whether the topic is right."""
TITLED = 0.5
"""The share of examples that are read with the title of their article."""


@dataclass(frozen=True, slots=True)
class Example:
    """Hold a question and a passage; the answer is `text[start:end]`, and both are -1 without an answer."""

    question: str
    text: str
    title: str = ""
    start: int = -1
    end: int = -1
    relevance: tuple[float, float, float] = ABOUT


@dataclass(frozen=True, slots=True)
class Pair:
    """Hold a statement and a passage, and whether the passage supports all of the statement."""

    statement: str
    text: str
    supported: bool


@dataclass(frozen=True, slots=True)
class Encoded:
    """Hold the input of the model, and the tokens of the answer: 0 ([CLS]) without an answer."""

    window: Window
    example: Example | Pair
    start: int = 0
    end: int = 0


def questions(file: Path) -> Iterator[Example]:
    """Yield the questions of a file in the format of SQuAD 2.0 (arXiv 1806.03822), or of JSON lines.

    A JSON line has question, context, answers and is_impossible. An answer with a wrong offset is left out.
    """
    for title, text, entry in _entries(file):
        answers = entry.get("answers") or []
        if entry.get("is_impossible") or not answers:
            yield Example(entry["question"], text, title)
            continue
        answer, start = answers[0]["text"], answers[0]["answer_start"]
        if answer and text[start : start + len(answer)] == answer:
            yield Example(entry["question"], text, title, start, start + len(answer), PRESENT)


def _entries(file: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (title, passage, entry) of each question."""
    if file.suffix == ".jsonl":
        for row in _rows(file):
            yield str(row.get("title") or "").replace("_", " "), row["context"], row
        return
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for entry in paragraph["qas"]:
                yield str(article.get("title") or "").replace("_", " "), paragraph["context"], entry


def pairs(file: Path) -> Iterator[Pair]:
    """Yield the pairs of JSON lines; only entailment is support.

    A line has premise, hypothesis and label, or sentence1, sentence2 and gold_label as in MultiNLI.
    """
    for row in _rows(file):
        premise, statement = row.get("premise") or row["sentence1"], row.get("hypothesis") or row["sentence2"]
        yield Pair(statement, premise, (row.get("label") or row["gold_label"]) == "entailment")


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def round_of(known: Sequence[Example], statements: Sequence[Pair], dice: random.Random) -> list[Example | Pair]:
    """Return all examples and pairs once, and for each question with an answer one passage without it."""
    by_title: dict[str, list[Example]] = {}
    for example in known:
        by_title.setdefault(example.title, []).append(example)
    made: list[Example | Pair] = list(statements)
    for example in known:
        made.append(example if dice.random() < TITLED else replace(example, title=""))
        if example.start >= 0:
            made.append(_without_answer(example, known, by_title[example.title], dice))
    dice.shuffle(made)
    return made


def _without_answer(
    example: Example, known: Sequence[Example], article: Sequence[Example], dice: random.Random
) -> Example:
    """Return the question with its own passage minus the answer's sentence, or with one of its article, or any."""
    kind = dice.randrange(3)
    before = example.text.rfind(". ", 0, example.start) + 2 if ". " in example.text[: example.start] else 0
    after = example.text.find(". ", example.end)
    rest = example.text[:before] + (example.text[after + 2 :] if after >= 0 else "")
    answer = example.text[example.start : example.end]
    if kind == 0 and rest.strip() and answer not in rest:
        return Example(example.question, rest, example.title)
    other = dice.choice(article if kind == 1 else known)
    relevance = UNSURE if other.title == example.title else OTHER
    if answer in other.text:
        return replace(example, title="")
    return Example(example.question, other.text, other.title, relevance=relevance)


def encoded(examples: Sequence[Example | Pair], inputs: Inputs) -> Iterator[Encoded]:
    """Yield one window per example, the window of the answer if there is one; examples that do not fit are left out."""
    for example in examples:
        if isinstance(example, Pair):
            windows = inputs.windows(example.statement, "", example.text)
        else:
            windows = inputs.windows(example.question, example.title, example.text)
        if isinstance(example, Pair) or example.start < 0:
            yield from (Encoded(window, example) for window in windows[:1])
            continue
        for window in windows:
            starts = [n for n, (_, end) in enumerate(window.offsets) if end > example.start]
            ends = [n for n, (start, _) in enumerate(window.offsets) if start < example.end]
            if starts and ends and window.offsets[0][0] <= example.start and window.offsets[-1][1] >= example.end:
                yield Encoded(window, example, window.first + starts[0], window.first + ends[-1])
                break
