"""What a client sees of a kept run: the way through the graph with what happened in each node, and its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_rag.core.serialization import from_plain
from local_rag.core.usage import Call
from local_rag.core.verdicts import Graded
from local_rag.runtime.kept import KeptRun, RunStep, RunSummary
from local_rag.runtime.run_passages import RunPassages
from local_rag.runtime.trace_lines import call_line
from local_rag.server.answer_view import AnswerView, answer_view, shown
from local_rag.server.feedback_view import FeedbackView, feedback_view
from local_rag.server.file_ids import file_id
from local_rag.text.display import is_url, plural

if TYPE_CHECKING:
    from local_rag.runtime.kept import Judgement, Line

RUN_ID = r"^[2-9a-z]{4}$"
"""The ID of a run, whole, or `last`."""
LONGEST = 300
"""Characters of a setting."""


@dataclass(frozen=True, slots=True)
class RunPassageView:
    """A passage that a run retrieved, with its text of today; where there is none any more `why` says so.

    `file_id` is empty for what is no file of the index.
    """

    chunk_id: str
    file_id: str
    label: str
    page: int | None
    heading: str
    start: int
    end: int
    url: str
    score: float | None
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class RunEventView:
    """Something that happened in a node; `text` says it in a line where it is no verdict."""

    kind: str
    at: float
    query: str = ""
    passages: tuple[str, ...] = ()
    verdict: Graded | None = None
    call: Call | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class RunStepView:
    """A node at work: when it began, in seconds from the question on, and its seconds, None where it did not end."""

    node: str
    at: float
    seconds: float | None
    events: tuple[RunEventView, ...]


@dataclass(frozen=True, slots=True)
class DraftView:
    """A draft that was rejected, and why."""

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class RunView:
    """A run. `set` are the settings that were given for it, `note` says what has changed since.

    `prompts` are the digests of the prompt texts by task; `hint` is what to do about `reason`, where it failed.
    """

    run: RunSummary
    understood: str
    engine: str
    set: Mapping[str, str]
    note: str
    path: tuple[str, ...]
    steps: tuple[RunStepView, ...]
    passages: tuple[RunPassageView, ...]
    verdicts: tuple[Graded, ...]
    calls: tuple[Call, ...]
    prompts: Mapping[str, str]
    drafts: tuple[DraftView, ...]
    answer: AnswerView | None
    hint: str = ""
    feedback: FeedbackView | None = None


def run_view(run: KeptRun, feedback: Judgement | None) -> dict[str, Any]:
    """A run with the passages of its index of today, its answer as plain values."""
    passages = RunPassages.of(run)
    then = run.conditions
    view = RunView(
        run=run.summary(),
        understood=run.standalone_question if run.standalone_question != run.question else "",
        engine=str(then["engine"].get("describe", "")),
        set={name: value_text(then["settings"][name]) for name in then.get("origins", ()) if name in then["settings"]},
        note=passages.note(then["index"].get("content", "")),
        path=tuple(run.path),
        steps=tuple(_steps(run)),
        passages=tuple(passage_view(passage, passages) for passage in run.passages),
        verdicts=tuple(run.decisions),
        calls=tuple(run.calls),
        prompts=run.prompts,
        drafts=tuple(DraftView(str(draft["text"]), str(draft["why"])) for draft in run.drafts),
        answer=None,
        hint=run.hint,
        feedback=feedback_view(feedback) if feedback else None,
    )
    plain: dict[str, Any] = shown(view)
    if run.answer:
        plain["answer"] = answer_view(run.answer, passages.label)
    return plain


def passage_view(passage: Line, passages: RunPassages) -> RunPassageView:
    """A passage by its line of the record; texts are those of today."""
    text, why = passages.text(passage)
    url, source = str(passage.get("url") or ""), str(passage["source"])
    of_index = passage["origin"] == "files" and not passage.get("fallback_corpus")
    return RunPassageView(
        chunk_id=str(passage["chunk_id"]),
        file_id=file_id(source) if of_index else "",
        label=url if is_url(url) else passages.label(source),
        page=passage["page"],
        heading=str(passage["heading"]),
        start=int(passage["start"] or 0),
        end=int(passage["end"] or 0),
        url=url,
        score=passage.get("score"),
        text=text or "",
        why=why,
    )


def _steps(run: KeptRun) -> Iterator[RunStepView]:
    for step in run.steps:
        events = tuple(event for line in step.lines if (event := _event(line)))
        yield RunStepView(step.node, _began(step), step.seconds, events)


def _began(step: RunStep) -> float:
    """Seconds from the question to its first line; a node that ended knows better."""
    first, last = float(step.lines[0]["at"]), float(step.lines[-1]["at"])
    return first if step.seconds is None else min(first, max(0.0, last - step.seconds))


def _event(line: Line) -> RunEventView | None:
    kind, at = str(line["event"]), float(line["at"])
    if kind == "retrieved":
        ids = tuple(str(passage["chunk_id"]) for passage in line["documents"])
        text = f'{plural(len(ids), "passage")} for "{line["query"]}"'
        return RunEventView(kind, at, query=str(line["query"]), passages=ids, text=text)
    if kind == "graded":
        return RunEventView(kind, at, verdict=from_plain(Graded, line))
    if kind == "called":
        call = from_plain(Call, line["call"])
        digest = f", prompt {call.prompt}" if call.prompt else ""
        return RunEventView(kind, at, call=call, text=call_line(call) + digest)
    if kind == "web_query":
        return RunEventView(kind, at, query=str(line["query"]), text=f"asked {line['engine']}: {line['query']}")
    if kind == "note":
        return RunEventView(kind, at, text=str(line["text"]))
    return None


def value_text(value: object, longest: int = LONGEST) -> str:
    """A setting, or what else is recorded, for people."""
    if value is None or value in ("", [], ()):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= longest else f"{text[:longest]}…"
