"""Verdicts: what routers and graders say, as labels, scores and ranks, and what a task costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

from local_rag.core.serialization import TuplesFromLists

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


@dataclass(frozen=True)
class Call:
    """One request to a language model, in the server's own figures; `seconds` is wall clock here.

    `prompt_tokens` counts the whole prompt, `prompt_seconds` what was really read, which a remembered prefix is not.
    `loaded`: the model had to be loaded first. `retry`: the reply before it was not usable. `role` names the prompt
    text that it was made of, or several joined by "+", and `prompt` is their digest: the first 12 hex digits of the
    SHA-256 of the system message and these texts, placeholders unfilled.
    """

    role: str
    model: str
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    load_seconds: float = 0.0
    prompt_seconds: float = 0.0
    output_seconds: float = 0.0
    loaded: bool = False
    retry: bool = False
    prompt: str = ""


@dataclass(frozen=True)
class Usage(TuplesFromLists):
    """What one task cost. `seconds` is wall clock; tokens are 0 where no language model was asked.

    `unparsed` counts verdicts that stayed unusable after the retry; `log` holds the single calls in their order;
    `notes` is what a person should know besides: a passage that did not fit, a verdict that could not be read.
    """

    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    loads: int = 0
    retries: int = 0
    unparsed: int = 0
    log: tuple[Call, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


@dataclass(frozen=True)
class Route:
    """Where the evidence for a question should come from, and how many steps it needs (Adaptive-RAG, section 3.2).

    `small_talk` has no answer in any source, so it never goes to the web, whatever the files hold.
    """

    source: Source
    complexity: Complexity = "single"
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    small_talk: bool = False


@dataclass(frozen=True)
class Need:
    """What an answer needs next: Retrieve of Self-RAG (table 1). `continue` only where passages are at hand.

    `query` is what to look for; empty: the question with what was written last.
    """

    retrieve: Retrieve
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    query: str = ""


@dataclass(frozen=True)
class Thought:
    """One sentence of reasoning towards an answer (IRCoT). `done`: the answer is there, nothing more is needed.

    `query` is what to search for next; empty where the sentence itself is the query.
    """

    text: str
    done: bool = False
    query: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Relevance:
    """The verdict on one document. `score` is in [0, 1], None where it is not known: never 0 or 1 for want of better.

    One call may grade a list: the first verdict then carries the whole usage, so that sums are right. `shown`: the
    document stood in the last prompt of the task; in those that are, a model has read them in their order.
    """

    label: RelevanceLabel
    score: float | None = None
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    shown: bool = False


@dataclass(frozen=True)
class Grade(TuplesFromLists):
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


@dataclass(frozen=True)
class Graded:
    """A verdict: one per passage (with its `chunk_id` and file), one per check, one for the label an edge takes."""

    kind: str
    verdict: str
    why: str = ""
    chunk_id: str | None = None
    score: float | None = None
    source: str = ""


SUPPORT: Mapping[str, float] = {"fully": 1.0, "partially": 0.5, "no": 0.0}
"""What a sentence's support is worth (arXiv 2310.11511, section 3.3): the weights of s(ISSUP), by the label alone."""
USEFULNESS: Mapping[int, float] = {1: -1.0, 2: -0.5, 3: 0.0, 4: 0.5, 5: 1.0}
"""The weights of ISUSE 1 to 5."""
W_REL, W_SUP, W_USE = 1.0, 1.0, 0.5
"""Weights of relevance, support and usefulness, as in the paper's experiments (appendix A.3)."""


def overall(supports: Sequence[Support]) -> Support:
    """`fully` if every sentence is, `no` if none is even in part (ISSUP of table 1).

    Sentences that could not be checked (`unparsed`) leave at most `partially` to the others.
    """
    known = [support for support in supports if support != "unparsed"]
    if supports and not known:
        return "unparsed"
    if all(support == "no" for support in known):
        return "no"
    return "fully" if all(support == "fully" for support in supports) else "partially"


def support_of(grade: Grade) -> float | None:
    """s_sup in [0, 1]: the mean of its sentences' labels, else its one label; None where a label is unparsed."""
    labels = grade.sentences or (grade.support,)
    if any(label not in SUPPORT for label in labels):
        return None
    return sum(SUPPORT[label] for label in labels) / len(labels)


def usefulness_or_worst(grade: Grade) -> float:
    """s_use in [-1, 1], by its level; an unparsed one counts as the worst."""
    return USEFULNESS.get(grade.usefulness, USEFULNESS[1])


def answered(grade: Grade) -> float | None:
    """The score in [0, 1] that a generation answers the question from the passages: support times usefulness.

    None where one of the two was not graded.
    """
    supported, useful = support_of(grade), USEFULNESS.get(grade.usefulness)
    return None if supported is None or useful is None else supported * (useful + 1) / 2


def draft_score(relevance: float, grade: Grade) -> float:
    """w_rel·s_rel + w_sup·s_sup + w_use·s_use (eq. 3), by verdicts: the probability of the draft is left out."""
    return W_REL * relevance + W_SUP * (support_of(grade) or 0.0) + W_USE * usefulness_or_worst(grade)
