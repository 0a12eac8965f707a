"""Training examples, read from the folders of question sets that the model card lists."""

from __future__ import annotations

import csv
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

OTHER, ABOUT, PRESENT = range(3)
"""The classes of relevance: about something else; right matter, answer absent (CRAG's Ambiguous); answer present."""

Target = tuple[float, float, float]
_TARGETS: dict[int, Target] = {OTHER: (1, 0, 0), ABOUT: (0, 1, 0), PRESENT: (0, 0, 1)}
UNSURE: Target = (0.5, 0.5, 0)
"""The answer is absent, and whether the matter is the right one is not known."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question and a passage. The answer is `text[start:end]`; both are -1 where there is none, or none is literal.

    `relevance` holds the probabilities of the three classes. `spans`: whether start and end are to be learned.
    """

    question: str
    text: str
    title: str
    start: int
    end: int
    relevance: Target
    spans: bool = True

    @property
    def present(self) -> bool:
        return self.relevance[PRESENT] == 1

    @property
    def answer(self) -> str:
        return self.text[self.start : self.end] if self.start >= 0 else ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A statement and a passage: `supported` is 1 where the passage supports all of it, else 0."""

    statement: str
    text: str
    supported: int


def absent(question: str, text: str, title: str, relevance: Target = _TARGETS[ABOUT]) -> Example:
    """An example whose passage does not hold the answer."""
    return Example(question, text, title, -1, -1, relevance)


def squad(file: Path) -> Iterator[Example]:
    """Every question of a file in the format of SQuAD 2.0 (arXiv 1806.03822), with its own paragraph."""
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        title = article.get("title") or ""
        title = "" if title.startswith("_") else title.replace("_", " ")
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            for entry in paragraph["qas"]:
                answers = entry.get("answers") or []
                if entry.get("is_impossible") or not answers:
                    yield absent(entry["question"], text, title)
                else:
                    yield from _with_span(entry["question"], text, title, answers)


def reader(file: Path, titled: bool = False, most: int = 0) -> Iterator[Example]:
    """Lines of {question, context, answers, is_impossible}; `most` examples of one context, 0 for all.

    A question without a literal answer is present without a span.
    """
    per_context: Counter[str] = Counter()
    for row in _rows(file):
        text = row["context"]
        per_context[text] += 1
        if most and per_context[text] > most:
            continue
        title = str(row.get("title") or "").replace("_", " ") if titled else ""
        if row.get("is_impossible"):
            yield absent(row["question"], text, title)
        elif row.get("answers"):
            yield from _with_span(row["question"], text, title, row["answers"])
        else:
            yield Example(row["question"], text, title, -1, -1, _TARGETS[PRESENT], spans=False)


def _with_span(question: str, text: str, title: str, answers: Sequence[dict[str, Any]]) -> Iterator[Example]:
    """The example with the answer that most people gave; none where its offset is wrong."""
    likely, _ = Counter((answer["text"], answer["answer_start"]) for answer in answers).most_common(1)[0]
    answer, start = likely
    if answer.strip() and start is not None and start >= 0 and text[start : start + len(answer)] == answer:
        yield Example(question, text, title, start, start + len(answer), _TARGETS[PRESENT])


def boolq(file: Path) -> Iterator[Example]:
    """Yes/no questions: the passage decides them, and no span is the answer."""
    for row in _rows(file):
        yield Example(row["question"], row["passage"], row["title"], -1, -1, _TARGETS[PRESENT], spans=False)


def bioasq(file: Path) -> Iterator[Example]:
    """Questions with one of the snippets that experts marked."""
    for row in _rows(file):
        snippets = [snippet for snippet in row["snippets"] if len(snippet) > 40]
        if snippets:
            text = max(snippets[:3], key=len)
            yield Example(row["question"], text, "", -1, -1, _TARGETS[PRESENT], spans=False)


def sentences_of_sections(file: Path) -> Iterator[Example]:
    """SelQA: the neighbourhood of a sentence that answers, and one of the same section that does not."""
    for row in _rows(file):
        candidates, answers = row["candidates"], row["answers"]
        for answer in answers[:1]:
            first = max(0, answer - 2)
            text = " ".join(candidates[first : answer + 3])
            yield Example(row["question"], text, row["article"], -1, -1, _TARGETS[PRESENT], spans=False)
        far = [n for n in range(len(candidates)) if all(abs(n - answer) > 3 for answer in answers)]
        if far:
            middle = far[len(far) // 2]
            near = [n for n in range(middle - 2, middle + 3) if n in far]
            yield absent(row["question"], " ".join(candidates[n] for n in near), row["article"])


def single_sentences(file: Path) -> Iterator[Example]:
    """SQuAD's questions with the sentence that holds the answer."""
    for row in _rows(file):
        yield Example(row["question"], row["sentence"], "", -1, -1, _TARGETS[PRESENT], spans=False)


def pairs(file: Path) -> Iterator[Pair]:
    """Lines of {premise, hypothesis, label}; only entailment is support."""
    for row in _rows(file):
        premise, statement = untokenized(row["premise"]), untokenized(row["hypothesis"])
        yield Pair(statement, premise, int(row["label"] == "entailment"))


def attribution(file: Path) -> Iterator[Pair]:
    """BEGIN (arXiv 2105.00071): whether a reply says no more than its knowledge."""
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row.get("begin_label") and row.get("response") and row.get("knowledge"):
                supported = int(row["begin_label"].lower() == "fully attributable")
                yield Pair(untokenized(row["response"]), untokenized(row["knowledge"]), supported)


_TOKENIZED: tuple[tuple[str, str], ...] = (
    (r"-LRB-\s*", "("),
    (r"\s*-RRB-", ")"),
    (r"``\s*", '"'),
    (r"\s*''", '"'),
    (r"\s+([.,;:!?%)\]])", r"\1"),
    (r"([(\[])\s+", r"\1"),
    (r"\s+(n't|'s|'re|'ve|'ll|'d)\b", r"\1"),
    (r"\s+--\s+", " – "),
)


def untokenized(text: str) -> str:
    """The text as people write it: no blank before a full stop, no ASCII names of brackets."""
    for pattern, written in _TOKENIZED:
        text = re.sub(pattern, written, text)
    return text


@dataclass(frozen=True, slots=True)
class Source:
    """One question set: how it is read, and how many of its examples one round takes at most (0: all)."""

    name: str
    read: Callable[[Path], Iterable[Any]]
    most: int = 0


def reading_sources(data: Path) -> list[Source]:
    """The sets for reading and relevance."""
    train = data / "train"
    plain: list[tuple[str, int, dict[str, Any]]] = [
        ("squadshifts_new_wiki", 0, {"titled": True}),
        ("squadshifts_reddit", 4_000, {}),
        ("squadshifts_amazon", 3_000, {}),
        ("nq_short", 0, {}),
        ("nq_swap", 1_200, {}),
        ("hotpotqa_mrqa", 1_500, {}),
        ("musique_golden", 800, {}),
        ("fairytaleqa", 4_000, {}),
        ("qamr", 2_000, {"most": 4}),
    ]

    def lines(name: str, **options: Any) -> Callable[[Path], Iterable[Example]]:
        return lambda _: reader(train / name / "data.jsonl", **options)

    def one(name: str, read: Callable[[Path], Iterable[Example]]) -> Callable[[Path], Iterable[Example]]:
        return lambda _: read(train / name / "data.jsonl")

    return [
        Source("squad2_rebuilt", lambda _: squad(train / "squad2_rebuilt" / "train.json")),
        *(Source(name, lines(name, **options), most) for name, most, options in plain),
        Source("boolq_dev", one("boolq_dev", boolq), 1_600),
        Source("bioasq_golden", one("bioasq_golden", bioasq), 1_000),
        Source("selqa", one("selqa", sentences_of_sections), 2_500),
        Source("squad_sentences", one("squad_sentences", single_sentences), 2_500),
    ]


def support_sources(data: Path) -> list[Source]:
    """The sets for the support of statements."""
    train = data / "train"
    names = (
        ("fever_dev_sr", 9_000),
        ("fever_symmetric", 0),
        ("fool_me_twice", 0),
        ("conjnli_adv15k", 5_000),
        ("cad_snli", 2_500),
        ("med", 2_000),
        ("mnli_snli_dev", 5_000),
        ("scifact_pairs", 0),
    )

    def lines(name: str) -> Callable[[Path], Iterable[Pair]]:
        return lambda _: pairs(train / name / "pairs.jsonl")

    def begin(_: Path) -> Iterable[Pair]:
        return (pair for file in sorted((train / "begin").glob("*.tsv")) for pair in attribution(file))

    return [*(Source(name, lines(name), most) for name, most in names), Source("begin", begin, 4_000)]


def sampled(source: Source, data: Path, rng: random.Random) -> list[Any]:
    """At most `source.most` of its examples, drawn without repetition."""
    every = list(source.read(data))
    rng.shuffle(every)
    return every[: source.most] if source.most else every


def shortened(example: Example, start: int, end: int) -> Example:
    """The example with the code points [start, end) of its passage, which hold the answer."""
    text = example.text[start:end]
    if example.start < 0:
        return replace(example, text=text)
    return replace(example, text=text, start=example.start - start, end=example.end - start)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)
