"""The cases of the benchmark of a question, and what each cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from local_rag.config.values import GraphName

Grading = Literal["each", "packed", "evaluator"]
OURS: tuple[Grading, ...] = ("packed", "evaluator")
GRADINGS: tuple[Grading, ...] = (*OURS, "each")


@dataclass(frozen=True)
class Case:
    """A question, and which passages the grader finds irrelevant (places from 0); `asked` counts a chat's questions."""

    graph: GraphName
    k: int
    named: str
    rejected: tuple[int, ...] = ()
    asked: int = 1


CASES = (
    Case("self-rag", 4, "all relevant"),
    Case("adaptive", 4, "all relevant"),
    Case("self-rag", 8, "all relevant"),
    Case("adaptive", 8, "all relevant"),
    Case("self-rag", 4, "the first rejected", (0,)),
    Case("self-rag", 8, "two rejected", (0, 4)),
    Case("self-rag", 8, "four rejected", (1, 3, 4, 6)),
    Case("self-rag", 8, "the last four rejected", (4, 5, 6, 7)),
    Case("self-rag", 4, "a rewrite", (0, 1, 2, 3)),
    Case("self-rag", 4, "two of a chat", (), 2),
    Case("self-rag", 8, "two of a chat", (), 2),
)


@dataclass
class Cost:
    """What one question cost: seconds, and of its calls the tokens read and written, and of what kind they were.

    `busy` are processor seconds of the server and of the evaluator: other programs on the machine do not change them
    much. `evaluated` are seconds of the evaluator. `way` is every verdict and label in turn.
    """

    seconds: float
    busy: float | None
    read: int | None
    unique: int | None
    wrote: int
    loads: list[float]
    way: list[str]
    evaluated: float = 0.0
    calls: list[tuple[str, float]] = field(default_factory=list)


Costs = dict[Grading, list[Cost]]
"""The costs of a case's questions, one after the other, by who grades."""
