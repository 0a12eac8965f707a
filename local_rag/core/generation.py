"""What an engine writes, and what it is told of earlier attempts and turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from local_rag.core.usage import Usage

NOT_IN_PASSAGES = "The passages do not contain the answer."
"""The one fixed reply of every engine for "your files do not say". Code compares with it; nothing parses prose."""


Style = Literal["short", "list", "steps", "table"]
"""How an answer is set out: running text, a list, numbered steps, or a table."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What an answer is to look like: at most so many sentences (items, steps, rows), and how they are set out.

    `language` is its name in English, empty where nothing is asked for; `refusal` is the fixed reply in it.
    """

    sentences: int = 3
    style: Style = "short"
    language: str = ""
    refusal: str = NOT_IN_PASSAGES


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """A bit of an answer as it is written; the last one carries the usage of the whole.

    `restart`: what came before it broke off and is to be forgotten, the answer begins anew.
    """

    text: str
    usage: Usage | None = None
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Another query for a question, or the question made standalone; empty where the engine has none."""

    text: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Which try at an answer this is, and what was wrong with the ones before it.

    `number` counts from 1. `failed` holds (draft, why it was rejected), oldest first. `direct` asks for an answer
    without documents, which only the route `direct` does. `thoughts` led to the documents, if any: sentences of
    reasoning. `written` asks for a part of an answer alone: what comes next after this, which may be empty; None asks
    for the whole answer. It has no marks. `shape` is what the answer is to look like, or the part: its `sentences` are
    then those that the answer may still get.
    """

    number: int = 1
    failed: tuple[tuple[str, str], ...] = ()
    direct: bool = False
    thoughts: tuple[str, ...] = ()
    written: str | None = None
    shape: Shape = Shape()


@dataclass(frozen=True, slots=True)
class Turn:
    """One question of a chat and the answer it got."""

    question: str
    answer: str
