"""How sure a model was of a verdict: from the tokens of a reply and their alternatives, no server needed.

Ollama reports the probabilities before the grammar: the alternatives to a token may all be tokens that the schema
forbids, and then nothing is known of the labels.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ALTERNATIVES = 20
"""Alternatives that are asked for with each token: the most that Ollama lists, so a second label is seldom missed."""

_BEFORE = " \t\n\"'[{:,"
"""What may stand before a label in its own token."""
_BEHIND = " \t\n\"'.,:]}"
"""What may stand behind a whole label in its own token."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a reply as it came. `logprob` is natural, None where unknown; `others` are the tokens listed there."""

    text: str
    logprob: float | None = None
    others: tuple[tuple[str, float], ...] = ()


def label_probabilities(
    tokens: Sequence[Token], reply: str, path: Sequence[str | int], labels: Iterable[str]
) -> dict[str, float] | None:
    """Probabilities of the labels at a value of a JSON reply, those renormalised that can be seen there.

    `tokens` make up the reply, perhaps with thoughts before it; `path` leads to a value that is one of the labels. What
    is written before a value decides which token holds it. A label of several tokens is told by the first token that no
    other label shares. None where fewer than two labels can be seen: nothing is known then.
    """
    options = [label.casefold() for label in labels]
    whole = "".join(token.text for token in tokens)
    begin = whole.rfind(reply)
    if not reply or begin < 0:
        return None
    start, begun, end = begin + value_start(reply, path), "", 0
    for token in tokens:
        end += len(token.text)
        if end <= start:
            continue
        part = token.text if begun else token.text[len(token.text) - (end - start) :]
        if _label(begun + part, options):
            return _shares(token, part, begun, options)
        begun = (begun + part).casefold()
        if not all(option.startswith(begun) for option in options):
            return None
    return None


def value_start(reply: str, path: Sequence[str | int]) -> int:
    """Where the value at a path begins in a JSON text; of a string, its first letter. Raises KeyError, ValueError."""
    position = _skip(reply, 0)
    for step in path:
        position = _members(reply, position)[step]
    return position + 1 if reply[position] == '"' else position


def _members(text: str, position: int) -> dict[str | int, int]:
    """Where each value of the object or array at this position begins, or each word of the string, by its number.

    Of a name that stands twice the last counts.
    """
    if text[position] == '"':
        end = _DECODER.raw_decode(text, position)[1] - 1
        return {number: word.start() for number, word in enumerate(_WORD.finditer(text, position + 1, end))}
    if text[position] not in "{[":
        raise KeyError(f"no object and no list at {position}")
    closing, named, number = {"{": "}", "[": "]"}[text[position]], text[position] == "{", 0
    starts: dict[str | int, int] = {}
    position = _skip(text, position + 1)
    while text[position] != closing:
        key: str | int = number
        if named:
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        starts[key] = position
        position = _skip(text, _DECODER.raw_decode(text, position)[1])
        position, number = _skip(text, position + 1) if text[position] == "," else position, number + 1
    return starts


_DECODER = json.JSONDecoder()
_WORD = re.compile(r"\S+")


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _label(begun: str, options: Sequence[str]) -> str:
    """The one label that a text is, with a mark behind it at most, or that it begins as no other does; else empty."""
    begun = begun.casefold()
    for option in options:
        if begun.startswith(option) and (len(begun) == len(option) or begun[len(option)] in _BEHIND):
            return option
    fitting = [option for option in options if begun and option.startswith(begun)]
    return fitting[0] if len(fitting) == 1 else ""


def _shares(token: Token, part: str, begun: str, options: Sequence[str]) -> dict[str, float] | None:
    """The tokens at one position, summed by label: the one that was chosen, and those listed beside it."""
    if token.logprob is None:
        return None
    listed: list[tuple[str, float]] = [(part, token.logprob)]
    lead = "" if begun else _BEFORE
    listed += [(other.lstrip(lead) if lead else other, odds) for other, odds in token.others if other != token.text]
    weights: dict[str, float] = {}
    for text, logprob in listed:
        if label := _label(begun + text, options):
            weights[label] = weights.get(label, 0.0) + math.exp(min(0.0, logprob))
    total = sum(weights.values())
    return {label: weight / total for label, weight in weights.items()} if len(weights) > 1 and total else None


def tokens_of(content: str, listed: Sequence[Mapping[str, Any]] | None) -> list[Token]:
    """What one line of a stream brought: its text, and the log-probabilities beside it where the server gives them.

    Where the two do not agree (half a character, text that was held back) the text counts and the figures are dropped.
    """
    entries = listed or ()
    if not entries or "".join(entry["token"] for entry in entries) != content:
        return [Token(content)]
    return [
        Token(
            entry["token"],
            entry["logprob"],
            tuple((other["token"], other["logprob"]) for other in entry.get("top_logprobs") or ()),
        )
        for entry in entries
    ]
