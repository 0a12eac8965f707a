"""Try a model: give it all tasks of an engine on a fixed example, and measure right answers and cost."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from local_rag.config.calibrated import GOOD_GRADES, keep_accuracies
from local_rag.core.documents import Catalog
from local_rag.core.errors import EngineError
from local_rag.core.progress import Display
from local_rag.core.protocols import Attempt, Turn
from local_rag.core.verdicts import Usage
from local_rag.text.display import joined, printable, short_path
from local_rag.text.words import content_stems
from local_rag.text.words import words as words_of

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.config.settings import Settings
    from local_rag.engines.language_model.engine import LanguageModelEngine

Schema = Literal["yes", "retried", "unparsed", "-"]
"""Whether a reply had the requested form at once, at the second try, or never; "-" for plain text."""

QUESTION = "When does the library open on Saturdays, and what does a lost card cost?"
PASSAGES = (
    ("opening.md", "Opening hours: on weekdays from 9:00 to 18:00. On Saturdays the library opens at 10:00."),
    ("lighthouse.md", "The lighthouse at the end of the northern pier is built of granite and 31 metres high."),
    ("fees.md", "Fees: books that are late cost 1 euro a week. A lost library card is replaced for 5 euros."),
)
"""The first and the third passage answer the question, the second does not."""
ANSWER = "On Saturdays the library opens at 10:00 [1]. A lost card costs 5 euros [3]."
"""The answer for the grader: the passages contain every word of it."""
CATALOG = Catalog(
    documents=3,
    chunks=3,
    titles=("Opening hours", "Lighthouse", "Fees"),
    terms=("library", "opening", "fees", "card", "lighthouse"),
    allowed=("vectorstore", "web_search", "direct"),
)
HISTORY = (Turn("When does the library open on Saturdays?", "At 10:00."),)
FOLLOW_UP = "And on weekdays?"

FACTS = (
    (r"\b(?:10|ten)\b", "the library opens on Saturdays"),
    (r"\b(?:5|five)\b", "a lost library card is replaced, it costs so many euros"),
)
"""The facts of the passages on the question: the number, and the words around it."""
SHARED = 2
"""The minimum number of content words that a text about the example shares with it."""
OWN = 2 / 3
"""The maximum share of its content words that are not in the example."""

GOOD = 4
"""The minimum usefulness, from 1 to 5, that the good answer should get."""

PAIRS = Path(__file__).with_name("grading_pairs.json")
WRONG: dict[str, tuple[bool, bool | None]] = {
    "neighbour": (True, False),
    "person": (False, None),
    "added": (False, None),
}
"""Whether a wrong answer of each kind is supported by the passage, and useful; None where people would differ."""


@dataclass(frozen=True)
class Tried:
    """Hold one task: the reply, the expected one, and the cost; tokens as the server counts them."""

    task: str
    said: str
    expected: str
    right: bool
    schema: Schema
    seconds: float
    prompt_tokens: int
    output_tokens: int
    usage: Usage


Kind = Literal["relevance", "support", "usefulness"]


@dataclass(frozen=True)
class Grading:
    """Hold the balanced accuracy of one kind of verdict in [0, 1], and the seconds of a call that gives it."""

    kind: Kind
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Trial:
    """Hold all tasks, and how good the model's grades are; `honoured`: every JSON reply had its form at the first
    try. `kept` is the file that holds the accuracies, empty if the server does not tell the model's version.
    """

    engine: str
    tried: tuple[Tried, ...]
    honoured: bool
    total: Usage
    grades: tuple[Grading, ...] = ()
    kept: str = ""


def run_trial(settings: Settings, engine: LanguageModelEngine, display: Display) -> Trial:
    """Run each task once, in the order in which a question needs them, then measure the grades and keep the result.

    Raise EngineError that names the task.
    """
    from langchain_core.documents import Document

    documents = [Document(text, metadata={"source": source}) for source, text in PASSAGES]
    tried = []
    with display.progress() as show:
        for number, (name, (task, expected)) in enumerate(_TASKS.items(), start=1):
            show(None, f"{number} of {len(_TASKS)}: {name}…")
            started = time.perf_counter()
            try:
                reply, right, usage = task(engine, documents)
            except EngineError as error:
                raise EngineError(f"{name}: {error}", hint=error.hint) from error
            schema = "-" if name in PLAIN_TEXT else _schema(usage)
            seconds, tokens = time.perf_counter() - started, (usage.prompt_tokens, usage.output_tokens)
            tried.append(Tried(name, printable(reply), expected, right, schema, seconds, *tokens, usage))
    total = sum((task.usage for task in tried), Usage())
    honoured = all(task.schema in ("yes", "-") for task in tried)
    grades = graded_pairs(engine, display) if honoured else ()
    accuracies: dict[str, float] = {grade.kind: grade.accuracy for grade in grades}
    kept = keep_accuracies(settings, engine.identity, accuracies) if grades else None
    return Trial(engine.describe, tuple(tried), honoured, total, grades, str(kept or ""))


def conclusion(trial: Trial) -> Iterator[str]:
    """Yield sentences on the form of the replies, how good the grades are, and what follows for `grading: auto`."""
    if not trial.honoured:
        wrong = joined([task.task for task in trial.tried if task.schema not in ("yes", "-")])
        yield (
            f"The form of a reply was not kept at once: {wrong}. Each retry costs a call, and what stays unusable "
            'counts as "not relevant" or "not supported".'
        )
        return
    yield "Every verdict had the form that was asked for."
    found = ", ".join(f"{grade.kind} {grade.accuracy:.2f} ({grade.seconds:.1f} s a call)" for grade in trial.grades)
    yield f"Balanced accuracy of its grades on forty pairs, where chance gets .50: {found}."
    if min(grade.accuracy for grade in trial.grades if grade.kind != "relevance") < GOOD_GRADES:
        yield f"Below {GOOD_GRADES:.2f}: with grading: auto, the evaluator decides about answers without this model."
    elif trial.kept:
        yield f"With grading: auto, this model checks each answer from now on (kept in {short_path(Path(trial.kept))})."
    else:
        yield "The server does not tell which version of the model it runs, so this is not kept."


def graded_pairs(engine: LanguageModelEngine, display: Display) -> tuple[Grading, ...]:
    """Measure the model's grades on forty pairs of a question with an answer, half of which are wrong.

    A wrong answer tells of a neighbouring thing, of another person or thing, or adds a fact. Each question is graded
    with the passage that answers it and with another one about the like. Raise EngineError if the server fails.
    """
    from langchain_core.documents import Document

    pairs = json.loads(PAIRS.read_text(encoding="utf-8"))
    verdicts: dict[str, list[tuple[bool, bool]]] = {"relevance": [], "support": [], "usefulness": []}
    spent = dict.fromkeys(verdicts, 0.0)
    with display.progress() as show:
        for number, pair in enumerate(pairs, start=1):
            show(None, f"grading {2 * number} of {2 * len(pairs)} pairs…")
            question, passage, near = pair["question"], Document(pair["passage"]), Document(pair["near"])
            began = time.perf_counter()
            relevance = engine.relevance(question, [passage, near])
            spent["relevance"] += time.perf_counter() - began
            verdicts["relevance"] += zip((True, False), (each.label == "relevant" for each in relevance), strict=True)
            for answer, supported, useful in ((pair["answer"], True, True), (pair["wrong"], *WRONG[pair["kind"]])):
                began = time.perf_counter()
                grade = engine.grade(question, [passage], answer)
                spent["support"] += time.perf_counter() - began
                verdicts["support"].append((supported, grade.support == "fully"))
                if useful is not None:
                    verdicts["usefulness"].append((useful, grade.usefulness >= GOOD))
    spent["usefulness"] = spent["support"]  # one call gives both
    calls = {"relevance": len(pairs)}
    return tuple(
        Grading(kind, round(balanced(verdicts[kind]), 3), round(spent[kind] / calls.get(kind, 2 * len(pairs)), 2))
        for kind in get_args(Kind)
    )


def balanced(verdicts: Sequence[tuple[bool, bool]]) -> float:
    """Return the mean of the shares of true and of false things that are judged rightly; chance gets .5.

    A share is (right + 1) / (all + 2), Laplace's rule of succession, because a few pairs show no certainty.
    """
    shares = [[judged == truth for truth, judged in verdicts if truth is wanted] for wanted in (True, False)]
    return sum((sum(share) + 1) / (len(share) + 2) for share in shares) / 2


def _schema(usage: Usage) -> Schema:
    return "unparsed" if usage.unparsed else "retried" if usage.retries else "yes"


# --- the tasks ------------------------------------------------------------------------------------------------------

_Reply = tuple[str, bool, Usage]
"""A task's result, whether it is as expected, and its cost."""


def _route(engine: LanguageModelEngine, _: Sequence[Document]) -> _Reply:
    route = engine.route(QUESTION, CATALOG)
    return route.source, route.source == "vectorstore" and not route.why, route.usage


def _need(engine: LanguageModelEngine, _: Sequence[Document]) -> _Reply:
    need = engine.needs_retrieval(QUESTION, CATALOG)
    reply = "?" if need.usage.unparsed else need.retrieve
    return reply, reply == "yes", need.usage


def _relevance(engine: LanguageModelEngine, documents: Sequence[Document]) -> _Reply:
    verdicts = engine.relevance(QUESTION, documents)
    words = {"relevant": "yes", "irrelevant": "no", "unparsed": "?"}
    reply = ", ".join(words[verdict.label] for verdict in verdicts)
    return reply, reply == "yes, no, yes", sum((verdict.usage for verdict in verdicts), Usage())


def _answer(engine: LanguageModelEngine, documents: Sequence[Document]) -> _Reply:
    text, usage = "", Usage()
    for delta in engine.answer(QUESTION, documents, Attempt()):
        text = delta.text if delta.restart else text + delta.text
        usage = delta.usage or usage
    return text, "10" in text and "5" in text, usage


def _grade(engine: LanguageModelEngine, documents: Sequence[Document]) -> _Reply:
    grade = engine.grade(QUESTION, documents, ANSWER)
    reply = f"{grade.support}, {grade.usefulness} of 5" if grade.usefulness else grade.support
    return reply, grade.support == "fully" and grade.usefulness >= GOOD, grade.usage


def _reason(engine: LanguageModelEngine, documents: Sequence[Document]) -> _Reply:
    thought = engine.reason(QUESTION, documents, ())
    right = any(re.search(number, thought.text, re.I) and is_about(thought.text, words) for number, words in FACTS)
    return thought.text, right, thought.usage


def _rewrite(engine: LanguageModelEngine, _: Sequence[Document]) -> _Reply:
    query = engine.rewrite(QUESTION, [QUESTION], "vectorstore")
    return query.text, words_of(query.text) != words_of(QUESTION) and is_about(query.text, QUESTION), query.usage


def _standalone(engine: LanguageModelEngine, _: Sequence[Document]) -> _Reply:
    whole = engine.standalone(FOLLOW_UP, HISTORY)
    words = whole.text.casefold()
    return whole.text, "library" in words and "week" in words, whole.usage


def is_about(text: str, matter: str) -> bool:
    """Return whether a text shares words with a matter, unlike noise: some of them, and few others.

    Words of the example do not count as others.
    """
    own = set(content_stems(text))
    example = set(content_stems(" ".join([QUESTION, *(passage for _, passage in PASSAGES)])))
    return len(own & set(content_stems(matter))) >= SHARED and len(own - example) <= OWN * len(own)


_TASKS: dict[str, tuple[Callable[[LanguageModelEngine, Sequence[Document]], _Reply], str]] = {
    "route": (_route, "vectorstore"),
    "need": (_need, "yes"),
    "relevance": (_relevance, "yes, no, yes"),
    "answer": (_answer, "10:00 and 5 euros"),
    "grade": (_grade, f"fully, at least {GOOD} of 5"),
    "reason": (_reason, "a sentence on Saturdays and 10:00, or on lost cards and 5 euros"),
    "rewrite": (_rewrite, "another query that shares words with the question"),
    "standalone": (_standalone, "names the library and weekdays"),
}
"""Each task with the expected reply, in the order in which a question needs them."""

PLAIN_TEXT = ("answer", "rewrite", "standalone")
"""The tasks whose reply is text; the other replies are JSON."""
