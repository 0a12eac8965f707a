"""One question through all tasks of an engine, on a fixed example: does this model do, and what does it cost?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from local_rag.config.settings import Settings
from local_rag.core.documents import Catalog
from local_rag.core.errors import EngineError
from local_rag.core.generation import Attempt, Turn
from local_rag.core.usage import Usage
from local_rag.runtime.engine_choice import open_ollama
from local_rag.terminal.show import columns_of, table_lines, wrapped, write, write_json
from local_rag.text.display import joined, plural, printable, shorten
from local_rag.text.marks import marks

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from rich.console import Console

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
"""What is given to the grader: every word of it stands in the passages."""
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
    """One task: what was said, what should have been, and what it cost. Tokens as the server counts them."""

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
    """All of them. `honoured`: every reply that had to be JSON had its form at the first try."""

    engine: str
    tried: tuple[Tried, ...]
    honoured: bool
    total: Usage


@dataclass(frozen=True)
class _Said:
    """What a task gave back; `expected` is for people, `form` whether the reply had one."""

    said: str
    expected: str
    right: bool
    form: bool
    usage: Usage


def try_model(settings: Settings, console: Console, *, json: bool = False) -> int:
    """Each task once, with the model in force; 0 if every verdict had its form at the first try, else 1.

    Raises what `open_ollama` raises, and EngineError where a task failed.
    """
    with closing(open_ollama(settings)) as engine:
        if not json:
            write(printable(engine.describe))
        with _saying(console) as say:
            tried = tuple(run_tasks(engine, say))
        trial = Trial(
            engine.describe, tried, all(one.schema in ("yes", "-") for one in tried), _sum(one.usage for one in tried)
        )
    if json:
        write_json(trial)
    else:
        import sys

        for line in trial_lines(trial, columns_of(sys.stdout)):
            write(line)
    return 0 if trial.honoured else 1


def run_tasks(engine: OllamaEngine, say: Callable[[str], None]) -> Iterator[Tried]:
    """The tasks in the order of a question's way; `say` is told before each. Raises EngineError, naming the task."""
    for number, (name, work) in enumerate(_TASKS, start=1):
        say(f"{number} of {len(_TASKS)}: {name}…")
        started = time.perf_counter()
        try:
            said = work(engine, _documents())
        except EngineError as error:
            raise EngineError(f"{name}: {error}", hint=error.hint) from error
        usage = said.usage
        yield Tried(
            task=name,
            said=printable(said.said),
            expected=said.expected,
            right=said.right,
            schema="-" if not said.form else "unparsed" if usage.unparsed else "retried" if usage.retries else "yes",
            seconds=time.perf_counter() - started,
            prompt_tokens=usage.prompt_tokens,
            output_tokens=usage.output_tokens,
            usage=usage,
        )


def _documents() -> list[Document]:
    from langchain_core.documents import Document

    return [Document(text, metadata={"source": source}) for source, text in PASSAGES]


# --- the tasks ------------------------------------------------------------------------------------------------------


def _route(engine: OllamaEngine, _: Sequence[Document]) -> _Said:
    route = engine.route(QUESTION, CATALOG)
    return _Said(route.source, "vectorstore", route.source == "vectorstore" and not route.why, True, route.usage)


def _need(engine: OllamaEngine, _: Sequence[Document]) -> _Said:
    need = engine.needs_retrieval(QUESTION, CATALOG)
    said = "?" if need.usage.unparsed else "yes" if need.needed else "no"
    return _Said(said, "yes", said == "yes", True, need.usage)


def _relevance(engine: OllamaEngine, documents: Sequence[Document]) -> _Said:
    verdicts = engine.relevance(QUESTION, documents)
    labels = [verdict.label for verdict in verdicts]
    wanted = ["relevant", "irrelevant", "relevant"]
    usage = _sum(verdict.usage for verdict in verdicts)
    words = {"relevant": "yes", "irrelevant": "no", "unparsed": "?"}
    return _Said(", ".join(words[label] for label in labels), "yes, no, yes", labels == wanted, True, usage)


def _answer(engine: OllamaEngine, documents: Sequence[Document]) -> _Said:
    text, usage = "", Usage()
    for piece in engine.answer(QUESTION, documents, Attempt()):
        text = piece.text if piece.restart else text + piece.text
        usage = piece.usage or usage
    cited = {number for _, numbers in marks(text) for number in numbers}
    right = "10" in text and "5" in text and cited == {1, 3}
    return _Said(text, "10:00 and 5 euros, citing [1] and [3]", right, False, usage)


def _grade(engine: OllamaEngine, documents: Sequence[Document]) -> _Said:
    grade = engine.grade(QUESTION, documents, ANSWER)
    right = grade.support == "fully" and grade.usefulness >= GOOD
    said = f"{grade.support}, {grade.usefulness} of 5" if grade.usefulness else grade.support
    return _Said(said, f"fully, at least {GOOD} of 5", right, True, grade.usage)


def _reason(engine: OllamaEngine, documents: Sequence[Document]) -> _Said:
    thought = engine.reason(QUESTION, documents, ())
    return _Said(
        thought.text,
        "a sentence with 10:00 or 5 euros",
        "10" in thought.text or "5" in thought.text,
        True,
        thought.usage,
    )


def _rewrite(engine: OllamaEngine, _: Sequence[Document]) -> _Said:
    query = engine.rewrite(QUESTION, [QUESTION], "vectorstore")
    return _Said(query.text, "another query", bool(query.text), False, query.usage)


def _standalone(engine: OllamaEngine, _: Sequence[Document]) -> _Said:
    whole = engine.standalone(FOLLOW_UP, HISTORY)
    words = whole.text.casefold()
    return _Said(
        whole.text, "names the library and weekdays", "library" in words and "week" in words, False, whole.usage
    )


_TASKS: tuple[tuple[str, Callable[[OllamaEngine, Sequence[Document]], _Said]], ...] = (
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


# --- what a person sees ---------------------------------------------------------------------------------------------

SHORTEST, LONGEST = 16, 60
"""Characters of a reply in the table."""


def trial_lines(trial: Trial, width: int | None = None) -> Iterator[str]:
    """A row for each task in `width` columns, what went wrong below it, and the costs."""
    head = ("task", "as expected", "seconds", "tokens", "schema", "reply")
    rows = [[*_cells(one), one.said] for one in trial.tried]
    total = trial.total
    rows.append(
        [
            "total",
            f"{sum(one.right for one in trial.tried)} of {len(trial.tried)}",
            *_costs(total, _spent(trial)),
            "",
            "",
        ]
    )
    used = sum(max(map(len, column)) + 2 for column in list(zip(head, *rows, strict=True))[:-1])
    room = LONGEST if width is None else max(SHORTEST, width - used)
    yield ""
    yield from table_lines(head, [[*row[:-1], shorten(row[-1], room)] for row in rows])
    yield ""
    for one in trial.tried:
        if not one.right:
            was = shorten(one.said, 200) or "nothing"
            yield from wrapped(f"{one.task}: expected {one.expected}; it was: {was}", width, "  ")
    for note in _notes(trial):
        yield from wrapped(note, width, "  ")


def _cells(one: Tried) -> list[str]:
    return [one.task, "yes" if one.right else "NO", *_costs(one.usage, one.seconds), one.schema]


def _costs(usage: Usage, seconds: float) -> tuple[str, str]:
    return f"{seconds:.2f}", f"{usage.prompt_tokens:,} + {usage.output_tokens:,}"


def _spent(trial: Trial) -> float:
    return sum(one.seconds for one in trial.tried)


def _notes(trial: Trial) -> Iterator[str]:
    if loading := sum(call.load_seconds for call in trial.total.log if call.loaded):
        times = plural(trial.total.loads, "time")
        yield f"{loading:.1f} of the {_spent(trial):.1f} s went into loading the model ({times})."
    yield from (f"note: {printable(note)}" for note in trial.total.notes)
    if trial.honoured:
        yield "Every verdict had the form that was asked for."
        return
    wrong = [one.task for one in trial.tried if one.schema not in ("yes", "-")]
    yield (
        f"The form of a reply was not kept at once: {joined(wrong)}. Each retry costs a call, and what stays unusable "
        'counts as "not relevant" or "not supported".'
    )
    yield "  -> local-rag models   lists others; a newer Ollama may help as well"


@contextmanager
def _saying(console: Console) -> Iterator[Callable[[str], None]]:
    """A line that is wiped in a terminal, a line per task elsewhere."""
    if console.is_terminal:
        with console.status("") as status:
            yield lambda line: status.update(printable(line))
    else:
        yield lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True)
