"""One question through all tasks of an engine, on a fixed example: does this model do, and what does it cost?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from local_rag.core.documents import Catalog
from local_rag.core.errors import EngineError
from local_rag.core.generation import Attempt, Turn
from local_rag.core.progress import Display
from local_rag.core.usage import Usage
from local_rag.text.display import printable
from local_rag.text.marks import marks

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.engines.ollama.engine import OllamaEngine

Schema = Literal["yes", "retried", "unparsed", "-"]
"""Whether a reply had the form that was asked for: at once, at the second try, never; "-" for plain text."""

QUESTION = "When does the library open on Saturdays, and what does a lost card cost?"
PASSAGES = (
    ("opening.md", "Opening hours: on weekdays from 9:00 to 18:00. On Saturdays the library opens at 10:00."),
    ("lighthouse.md", "The lighthouse at the end of the northern pier is built of granite and 31 metres high."),
    ("fees.md", "Fees: books that are late cost 1 euro a week. A lost library card is replaced for 5 euros."),
)
"""The first and the third answer the question, the second does not."""
ANSWER = "On Saturdays the library opens at 10:00 [1]. A lost card costs 5 euros [3]."
"""What the grader is given: every word of it is in the passages."""
CATALOG = Catalog(
    documents=3,
    chunks=3,
    titles=("Opening hours", "Lighthouse", "Fees"),
    terms=("library", "opening", "fees", "card", "lighthouse"),
    allowed=("vectorstore", "web_search", "direct"),
)
HISTORY = (Turn("When does the library open on Saturdays?", "At 10:00."),)
FOLLOW_UP = "And on weekdays?"

GOOD = 4
"""The least usefulness of 1 to 5 that the good answer should get."""


@dataclass(frozen=True)
class Tried:
    """One task: the reply, what it should have been, and what it cost. Tokens as the server counts them."""

    task: str
    said: str
    expected: str
    right: bool
    schema: Schema
    seconds: float
    prompt_tokens: int
    output_tokens: int
    usage: Usage


@dataclass(frozen=True)
class Trial:
    """All tasks. `honoured`: every reply that had to be JSON had its form at the first try."""

    engine: str
    tried: tuple[Tried, ...]
    honoured: bool
    total: Usage


@dataclass(frozen=True)
class _Reply:
    """What a task returned; `expected` is for people, `form` whether the reply had to be JSON."""

    text: str
    expected: str
    right: bool
    form: bool
    usage: Usage


def run_trial(engine: OllamaEngine, display: Display) -> Trial:
    """Each task once, in the order in which a question needs them. Raises EngineError, naming the task."""
    tried = []
    with display.progress() as show:
        for number, (name, task) in enumerate(_TASKS, start=1):
            show(None, f"{number} of {len(_TASKS)}: {name}…")
            started = time.perf_counter()
            try:
                reply = task(engine, _documents())
            except EngineError as error:
                raise EngineError(f"{name}: {error}", hint=error.hint) from error
            tried.append(_tried(name, reply, time.perf_counter() - started))
    total = _sum(task.usage for task in tried)
    return Trial(engine.describe, tuple(tried), all(task.schema in ("yes", "-") for task in tried), total)


def _tried(name: str, reply: _Reply, seconds: float) -> Tried:
    usage = reply.usage
    return Tried(
        task=name,
        said=printable(reply.text),
        expected=reply.expected,
        right=reply.right,
        schema="-" if not reply.form else "unparsed" if usage.unparsed else "retried" if usage.retries else "yes",
        seconds=seconds,
        prompt_tokens=usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        usage=usage,
    )


def _documents() -> list[Document]:
    from langchain_core.documents import Document

    return [Document(text, metadata={"source": source}) for source, text in PASSAGES]


# --- the tasks ------------------------------------------------------------------------------------------------------


def _route(engine: OllamaEngine, _: Sequence[Document]) -> _Reply:
    route = engine.route(QUESTION, CATALOG)
    return _Reply(route.source, "vectorstore", route.source == "vectorstore" and not route.why, True, route.usage)


def _need(engine: OllamaEngine, _: Sequence[Document]) -> _Reply:
    need = engine.needs_retrieval(QUESTION, CATALOG)
    reply = "?" if need.usage.unparsed else "yes" if need.needed else "no"
    return _Reply(reply, "yes", reply == "yes", True, need.usage)


def _relevance(engine: OllamaEngine, documents: Sequence[Document]) -> _Reply:
    verdicts = engine.relevance(QUESTION, documents)
    labels = [verdict.label for verdict in verdicts]
    wanted = ["relevant", "irrelevant", "relevant"]
    usage = _sum(verdict.usage for verdict in verdicts)
    words = {"relevant": "yes", "irrelevant": "no", "unparsed": "?"}
    return _Reply(", ".join(words[label] for label in labels), "yes, no, yes", labels == wanted, True, usage)


def _answer(engine: OllamaEngine, documents: Sequence[Document]) -> _Reply:
    text, usage = "", Usage()
    for delta in engine.answer(QUESTION, documents, Attempt()):
        text = delta.text if delta.restart else text + delta.text
        usage = delta.usage or usage
    cited = {number for _, numbers in marks(text) for number in numbers}
    right = "10" in text and "5" in text and cited == {1, 3}
    return _Reply(text, "10:00 and 5 euros, citing [1] and [3]", right, False, usage)


def _grade(engine: OllamaEngine, documents: Sequence[Document]) -> _Reply:
    grade = engine.grade(QUESTION, documents, ANSWER)
    right = grade.support == "fully" and grade.usefulness >= GOOD
    reply = f"{grade.support}, {grade.usefulness} of 5" if grade.usefulness else grade.support
    return _Reply(reply, f"fully, at least {GOOD} of 5", right, True, grade.usage)


def _reason(engine: OllamaEngine, documents: Sequence[Document]) -> _Reply:
    thought = engine.reason(QUESTION, documents, ())
    return _Reply(
        thought.text,
        "a sentence with 10:00 or 5 euros",
        "10" in thought.text or "5" in thought.text,
        True,
        thought.usage,
    )


def _rewrite(engine: OllamaEngine, _: Sequence[Document]) -> _Reply:
    query = engine.rewrite(QUESTION, [QUESTION], "vectorstore")
    return _Reply(query.text, "another query", bool(query.text), False, query.usage)


def _standalone(engine: OllamaEngine, _: Sequence[Document]) -> _Reply:
    whole = engine.standalone(FOLLOW_UP, HISTORY)
    words = whole.text.casefold()
    return _Reply(
        whole.text, "names the library and weekdays", "library" in words and "week" in words, False, whole.usage
    )


_TASKS: tuple[tuple[str, Callable[[OllamaEngine, Sequence[Document]], _Reply]], ...] = (
    ("route", _route),
    ("need", _need),
    ("relevance", _relevance),
    ("answer", _answer),
    ("grade", _grade),
    ("reason", _reason),
    ("rewrite", _rewrite),
    ("standalone", _standalone),
)


def _sum(usages: Iterable[Usage]) -> Usage:
    return sum(usages, Usage())
