"""Verdicts: what routers and graders say, as labels and scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from local_rag.core.usage import Usage

Source = Literal["vectorstore", "web_search", "direct"]
Complexity = Literal["direct", "single", "multi"]
RelevanceLabel = Literal["relevant", "irrelevant", "unparsed"]
Support = Literal["fully", "partially", "no", "unparsed"]
Target = Literal["vectorstore", "web"]
Retrieve = Literal["yes", "no", "continue"]
"""Self-RAG's decision before each part of an answer (arXiv 2310.11511, table 1): look something up; nothing more is
needed; go on with the passages at hand."""
Check = Literal["both", "support", "usefulness"]
"""What of a generation is graded: the tutorials' hallucination grader, their answer grader, or both at once."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where the evidence for a question should come from, and how many steps it needs (Adaptive-RAG, section 3.2).

    `small_talk` has no answer in any source, so it never goes to the web, whatever the files hold.
    """

    source: Source
    complexity: Complexity = "single"
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    small_talk: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """What an answer needs next: Retrieve of Self-RAG (table 1). `continue` only where passages are at hand.

    `query` is what to look for; empty: the question with what was written last.
    """

    retrieve: Retrieve
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    query: str = ""


@dataclass(frozen=True, slots=True)
class Thought:
    """One sentence of reasoning towards an answer (IRCoT). `done`: the answer is there, nothing more is needed.

    `query` is what to search for next; empty where the sentence itself is the query.
    """

    text: str
    done: bool = False
    query: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Relevance:
    """The verdict on one document. `score` is in [0, 1], None where it is not known: never 0 or 1 for want of better.

    One call may grade a list: the first verdict then carries the whole usage, so that sums are right.
    """

    label: RelevanceLabel
    score: float | None = None
    why: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict on one generation: ISSUP and ISUSE of Self-RAG (table 1).

    `sentences` has one support for each of `text.claims(generation)`, or is empty. `usefulness` is 1 (worst) to 5, or
    0 where the verdict could not be parsed or was not asked for. `score` in [0, 1] is the chance that the generation
    answers the question from the documents, None where the engine has no opinion.
    """

    support: Support
    usefulness: int
    sentences: tuple[Support, ...] = ()
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    score: float | None = None

    def __post_init__(self) -> None:
        """A list, as a checkpoint gives it back, becomes a tuple."""
        object.__setattr__(self, "sentences", tuple(self.sentences))


@dataclass(frozen=True, slots=True)
class Graded:
    """A verdict: one per passage (with its `chunk_id` and file), one per check, one for the label an edge takes."""

    kind: str
    verdict: str
    why: str = ""
    chunk_id: str | None = None
    score: float | None = None
    source: str = ""
