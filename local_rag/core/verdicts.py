"""Define the verdicts of routers and graders, and the usage of a task."""

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
"""The decision of Self-RAG before each part of an answer (arXiv 2310.11511, table 1).

"yes": retrieve passages. "no": nothing more is needed. "continue": go on with the passages that are there.
"""
Check = Literal["both", "support", "usefulness"]
"""What to grade of a generation: its support (the tutorials' hallucination grader), its usefulness (their answer
grader), or both.
"""


@dataclass(frozen=True)
class Call:
    """Record one request to a language model in the server's own figures; `seconds` is measured here.

    `prompt_tokens` counts the whole prompt, `prompt_seconds` only the time for the part that was read, because the
    server may remember a prefix. `loaded`: the model had to be loaded first. `retry`: the reply before this one was
    unusable. `role` names the prompt text, or several joined by "+". `prompt` identifies them: the first 12 hex digits
    of the SHA-256 of the system message and these texts, with placeholders unfilled.
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
    """Record the cost of one task in calls, tokens and seconds of wall clock; tokens are 0 without a language model.

    `unparsed` counts verdicts that were still unusable after the retry. `log` holds the calls in their order. `notes`
    holds messages for a person, such as a passage that did not fit or a verdict that could not be read.
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
    """Name the source of the evidence for a question and the number of steps it needs (Adaptive-RAG, section 3.2).

    `small_talk` has no answer in any source, so it is never sent to the web, whatever the files contain.
    """

    source: Source
    complexity: Complexity = "single"
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    small_talk: bool = False


@dataclass(frozen=True)
class Need:
    """State what an answer needs next: Retrieve of Self-RAG (table 1); `continue` only if there are passages.

    `query` is the search query; if it is empty, the question and the text written last are the query.
    """

    retrieve: Retrieve
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    query: str = ""


@dataclass(frozen=True)
class Thought:
    """Hold one sentence of reasoning towards an answer (IRCoT); with `done` the answer needs nothing more.

    `query` is the next search query; if it is empty, the sentence itself is the query.
    """

    text: str
    done: bool = False
    query: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Relevance:
    """Hold the verdict on one document; `score` is in [0, 1], or None if it is unknown.

    One call may grade a list; its first verdict then carries the whole usage, so that sums are right. `shown`: the
    document was in the last prompt of the task. A model has read the documents with `shown` in their order.
    """

    label: RelevanceLabel
    score: float | None = None
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    shown: bool = False


@dataclass(frozen=True)
class Grade(TuplesFromLists):
    """Hold the verdict on one generation: ISSUP and ISUSE of Self-RAG (table 1).

    `sentences` has one support for each of `text.claims(generation)`, or is empty. `usefulness` is 1 (worst) to 5, or 0
    if the verdict could not be parsed or was not requested. `score` in [0, 1] is the probability that the generation
    answers the question from the documents, or None if the engine gives none. `assessed`: the evaluator and code gave
    the verdict, not a language model.
    """

    support: Support
    usefulness: int
    sentences: tuple[Support, ...] = ()
    why: str = ""
    usage: Usage = field(default_factory=Usage)
    score: float | None = None
    assessed: bool = False

    @property
    def sure(self) -> bool:
        """Whether the evaluator is sure of the answer and finds each of its sentences in the passages."""
        return self.assessed and self.support == "fully" and self.usefulness == max(USEFULNESS)


@dataclass(frozen=True)
class Graded:
    """Report one verdict: on a passage (with its `chunk_id` and file), of a check, or the label of an edge."""

    kind: str
    verdict: str
    why: str = ""
    chunk_id: str | None = None
    score: float | None = None
    source: str = ""


SUPPORT: Mapping[str, float] = {"fully": 1.0, "partially": 0.5, "no": 0.0}
"""The weight of a sentence's support in s(ISSUP), by its label (arXiv 2310.11511, section 3.3)."""
USEFULNESS: Mapping[int, float] = {1: -1.0, 2: -0.5, 3: 0.0, 4: 0.5, 5: 1.0}
"""The weights of ISUSE 1 to 5."""
W_REL, W_SUP, W_USE = 1.0, 1.0, 0.5
"""The weights of relevance, support and usefulness, as in the paper's experiments (appendix A.3)."""


def overall(supports: Sequence[Support]) -> Support:
    """Return the support of a whole answer: `fully` if all sentences have it, `no` if no sentence has any (table 1).

    If a sentence could not be checked (`unparsed`), the result is at most `partially`.
    """
    known = [support for support in supports if support != "unparsed"]
    if supports and not known:
        return "unparsed"
    if all(support == "no" for support in known):
        return "no"
    return "fully" if all(support == "fully" for support in supports) else "partially"


def support_of(grade: Grade) -> float | None:
    """Return s_sup in [0, 1]: the mean of the sentences' labels, else the one label; None if a label is unparsed."""
    labels = grade.sentences or (grade.support,)
    if any(label not in SUPPORT for label in labels):
        return None
    return sum(SUPPORT[label] for label in labels) / len(labels)


def usefulness_or_worst(grade: Grade) -> float:
    """Return s_use in [-1, 1] by the level of usefulness; an unparsed level counts as the worst."""
    return USEFULNESS.get(grade.usefulness, USEFULNESS[1])


def answered(grade: Grade) -> float | None:
    """Return the score in [0, 1] that a generation answers the question from the passages: support times usefulness.

    It is None if one of the two was not graded.
    """
    supported, useful = support_of(grade), USEFULNESS.get(grade.usefulness)
    return None if supported is None or useful is None else supported * (useful + 1) / 2


def draft_score(relevance: float, grade: Grade) -> float:
    """Return w_rel·s_rel + w_sup·s_sup + w_use·s_use (eq. 3) from verdicts; the draft's probability is left out."""
    return W_REL * relevance + W_SUP * (support_of(grade) or 0.0) + W_USE * usefulness_or_worst(grade)
