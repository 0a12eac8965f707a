"""Passages that do not answer: neighbours by BM25, other passages, and questions turned unanswerable by rule."""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import nlargest

from evaluator_training.examples import UNSURE, Example, Pair, Target, absent
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import words

_OTHER: Target = (1, 0, 0)
_ABOUT: Target = (0, 1, 0)
_K1, _B = 1.5, 0.75
"""BM25 with its usual constants."""
_RAREST, _COMMON = 5, 0.03
"""Only so many of a question's rarest words count, and none that more than this share of the passages holds."""


class Neighbours:
    """The passages of a pool that share the words of a question, by BM25."""

    def __init__(self, passages: Sequence[tuple[str, str]]) -> None:
        """`passages`: (title, text)."""
        self._passages = passages
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []
        for number, (_, text) in enumerate(passages):
            counts = Counter(word for word in words(text) if word not in STOP_WORDS)
            self._lengths.append(sum(counts.values()))
            for word, count in counts.items():
                self._postings[word].append((number, count))
        self._mean = sum(self._lengths) / max(1, len(self._lengths))

    def of(self, question: str, most: int) -> list[tuple[str, str]]:
        """The best passages (title, text), best first."""
        scores: dict[int, float] = defaultdict(float)
        size = len(self._passages)
        known = {word: self._postings[word] for word in words(question) if word in self._postings}
        for postings in sorted(known.values(), key=len)[:_RAREST]:
            if len(postings) > _COMMON * size:
                break
            weight = math.log(1 + (size - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, count in postings:
                norm = _K1 * (1 - _B + _B * self._lengths[number] / self._mean)
                scores[number] += weight * count * (_K1 + 1) / (count + norm)
        return [self._passages[number] for number in nlargest(most, scores, key=scores.__getitem__)]


def wrong_passages(
    examples: Sequence[Example], neighbours: Neighbours, rng: random.Random, near: float, far: float
) -> Iterator[Example]:
    """Answerable questions with a passage that lacks their answer: with probability `near` a neighbour, `far` any."""
    answerable = [example for example in examples if example.present]
    for example in answerable:
        answer = example.answer.lower()
        if answer and rng.random() < near:
            others = [
                (title, text)
                for title, text in neighbours.of(example.question, 6)
                if text != example.text and answer not in text.lower()
            ]
            if others:
                title, text = rng.choice(others[:4])
                known = bool(title and example.title)
                same = known and title == example.title
                yield absent(example.question, text, title, _ABOUT if same else UNSURE)
        if rng.random() < far:
            other = rng.choice(answerable)
            if other.text != example.text and not (answer and answer in other.text.lower()):
                yield absent(example.question, other.text, other.title, _OTHER)


# --- questions turned unanswerable ----------------------------------------------------------------------------------

_OPPOSITES = """
first last|before after|largest smallest|biggest smallest|oldest newest|older younger|north south|northern southern
east west|eastern western|most least|highest lowest|higher lower|more less|more fewer|increase decrease
increased decreased|beginning end|began ended|started ended|start end|won lost|win lose|male female|men women
early late|earlier later|earliest latest|major minor|public private|best worst|longest shortest|allowed prohibited
accepted rejected|supported opposed|success failure|successful unsuccessful|positive negative|maximum minimum
inside outside|above below|internal external|rich poor|strong weak|same different|import export|import exported
buy sell|bought sold|gained lost|joined left|entered left|founded dissolved|built destroyed|created destroyed
opened closed|open closed|arrived departed|born died|birth death|husband wife|father mother|son daughter|king queen
common rare|often rarely|always never|all none|larger smaller|bigger smaller|faster slower|fastest slowest
old young|new old|upper lower|left right|good bad|many few|hot cold|warm cold|summer winter|day night|raise lower
""".replace("\n", "|")
_OPPOSITE: dict[str, list[str]] = defaultdict(list)
for _pair in filter(None, _OPPOSITES.split("|")):
    _one, _two = _pair.split()
    _OPPOSITE[_one].append(_two)
    _OPPOSITE[_two].append(_one)

_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,.]*\d|(?<![\w.,-])\d(?![\w.,-])")
_NAME = re.compile(r"\b[A-Z][\w’'-]+(?:\s+(?:of\s+|the\s+|de\s+)?[A-Z][\w’'-]+)*")
_AUXILIARY = re.compile(r"\b(is|are|was|were|did|does|do|has|have|had|can|could|would|should)\b")


def unanswerable(example: Example, rng: random.Random, names: Sequence[str]) -> Example | None:
    """The question with another name, year, number or opposite, or denied, so that its passage answers it no more.

    `names` are those of other passages. None where no rule applies.
    """
    rules = [_other_name, _other_number, _opposite, _opposite, _denied]
    rng.shuffle(rules)
    for rule in rules:
        question = rule(example, rng, names)
        if question and question != example.question:
            return replace(absent(question, example.text, example.title), spans=True)
    return None


def _other_name(example: Example, rng: random.Random, names: Sequence[str]) -> str:
    """A name that question and passage share becomes one that the passage lacks, or another of the passage."""
    shared = [
        match
        for match in _NAME.finditer(example.question)
        if match.start() > 0 and match.group() in example.text and match.group() not in example.answer
    ]
    if not shared:
        return ""
    match = rng.choice(shared)
    size = len(match.group().split())
    own = [name for name in sorted(set(_NAME.findall(example.text))) if name not in example.question + example.answer]
    pool = own if own and rng.random() < 0.4 else names
    alike = [name for name in rng.sample(pool, min(60, len(pool))) if len(name.split()) == size]
    alike = [name for name in alike if pool is own or name not in example.text]
    alike = [name for name in alike if name.split()[0].lower() not in STOP_WORDS]
    return _with(example.question, match, rng.choice(alike)) if alike else ""


def _other_number(example: Example, rng: random.Random, names: Sequence[str]) -> str:
    """A year or number that question and passage share becomes another one."""
    shared = [match for match in _NUMBER.finditer(example.question) if match.group() in example.text]
    if not shared:
        return ""
    match = rng.choice(shared)
    others = [
        number
        for number in sorted(set(_NUMBER.findall(example.text)))
        if len(number) == len(match.group()) and number not in example.question + example.answer
    ]
    if others and rng.random() < 0.5:
        return _with(example.question, match, rng.choice(others))
    plain = match.group().replace(",", "")
    if not plain.isdecimal():
        return ""
    value = int(plain)
    near = value + rng.choice((-1, 1)) * rng.randint(1, max(3, min(40, value // 10)))
    written = f"{near:,}" if "," in match.group() else str(near)
    return "" if near < 0 or written in example.text else _with(example.question, match, written)


def _opposite(example: Example, rng: random.Random, names: Sequence[str]) -> str:
    """A word becomes its opposite."""
    known = [match for match in re.finditer(r"[a-z]+", example.question) if match.group() in _OPPOSITE]
    if not known:
        return ""
    match = rng.choice(known)
    return _with(example.question, match, rng.choice(_OPPOSITE[match.group()]))


def _denied(example: Example, rng: random.Random, names: Sequence[str]) -> str:
    """An auxiliary verb is denied, in one of ten questions that could be: SQuAD 2.0 has its share of these."""
    match = _AUXILIARY.search(example.question)
    if match is None or rng.random() > 0.3:
        return ""
    verb = match.group()
    return _with(example.question, match, "can't" if verb == "can" else f"{verb}n't")


def _with(question: str, match: re.Match[str], written: str) -> str:
    return question[: match.start()] + written + question[match.end() :]


def names_of(examples: Sequence[Example], most: int = 20_000) -> list[str]:
    """Names of the passages, those that are in few of them."""
    counts = Counter(name for text in {e.text for e in examples} for name in set(_NAME.findall(text)))
    return sorted(name for name, count in counts.items() if count <= 20 and len(name) > 3)[
        :: max(1, len(counts) // most)
    ]


# --- support --------------------------------------------------------------------------------------------------------


def answers_as_statements(examples: Sequence[Example], rng: random.Random) -> Iterator[Pair]:
    """A question with an answer, as a statement: supported with its own, not with another, nor where it is absent."""
    for example in examples:
        if example.present and example.answer:
            if rng.random() < 0.5:
                yield Pair(f"{example.question} {example.answer}", example.text, 1)
            elif wrong := _like(example, rng):
                yield Pair(f"{example.question} {wrong}", example.text, 0)
        elif example.spans and not example.present:
            likely = rng.choice(_NAME.findall(example.text) + _NUMBER.findall(example.text) or [""])
            if likely and likely not in example.question:
                yield Pair(f"{example.question} {likely}", example.text, 0)


def _like(example: Example, rng: random.Random) -> str:
    """Another number or name of the passage, of the kind of the answer; "" where there is none."""
    pattern = _NUMBER if _NUMBER.search(example.answer) else _NAME
    others = {other for other in pattern.findall(example.text) if len(other) > 1}
    others = {other for other in others if other not in example.answer and other not in example.question}
    others = {other for other in others if example.answer not in other and other.lower() not in STOP_WORDS}
    return rng.choice(sorted(others)) if others else ""


def among_others(pair: Pair, fillers: Sequence[str], rng: random.Random) -> Pair:
    """The passage between sentences about other matters, as passages of an index have them."""
    before, after = rng.randint(0, 2), rng.randint(0, 2)
    around = rng.sample(fillers, before + after)
    return replace(pair, text=" ".join([*around[:before], pair.text, *around[before:]]))
