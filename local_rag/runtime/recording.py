"""Record a question: its events as lines of JSON, without the texts of passages.

Every line has `event`, the kind, and `at`, the seconds since the question was asked; its other keys are the fields of
that event in `core.events`. Of the state after a node, only what the node changed is stored. The draft is stored every
second while it is written, and deleted once there is an answer. Outside of a chat, a question never fails because its
record cannot be written.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core.documents import Narrowing
from local_rag.core.errors import LocalRagError, Stopped, UsageError
from local_rag.core.events import Done, Event, Note, Retrieved, Step, Token
from local_rag.core.serialization import to_plain
from local_rag.runtime.kept import Line, QuestionState
from local_rag.text.answer_language import ran_out_of_time

if TYPE_CHECKING:
    from local_rag.core.protocols import Corpus
    from local_rag.runtime.history import History
    from local_rag.runtime.rag import Rag

PASSAGE = ("chunk_id", "source", "page", "heading", "start", "end", "score", "origin")
ADDRESS = ("title", "url", "fallback_corpus")
STEP = 1.0
"""Seconds between two writes of a draft, of which a kill loses as much."""
ELSEWHERE = frozenset({"question", "turns", "decisions", "graded", "usage", "path", "answer"})
"""Keys of the state that are events of their own, or belong to the answer or the chat."""


class Recorder:
    """Write the questions of a `Rag` into the history, each event before it is passed on.

    Report only once that questions cannot be recorded.
    """

    def __init__(self, history: Callable[[], History], keep: int) -> None:
        self._history, self._keep, self._complained = history, keep, False

    def following(
        self,
        events: Generator[Event],
        question: str,
        *,
        thread: str,
        conditions: Callable[[], Line] | None,
        **about: Any,
    ) -> Generator[Event]:
        """Yield the same events, with the ID of the run in the answer of the last one.

        With `conditions` and `runs.keep` the question is recorded; without a record and a thread nothing is written.
        Raise LocalRagError if a chat cannot be written.
        """
        recorded, entry = conditions() if conditions and self._keep else None, None
        with closing(events):
            if recorded or thread:
                try:
                    history = self._history()
                    run = history.begin(question, thread=thread, conditions=recorded, keep=self._keep, **about)
                    entry = _Entry(history, run, recorded is not None)
                except LocalRagError as error:
                    if thread:
                        raise
                    yield from self._complaint(error)
            yield from self._written(events, entry, thread) if entry else events

    def _written(self, events: Generator[Event], entry: _Entry, thread: str) -> Generator[Event]:
        answered = False
        try:
            for event in events:
                answered = isinstance(event, Done)
                try:
                    entry.write(event)
                except LocalRagError as error:
                    entry.give_up(error if answered else None)
                    if answered and thread:
                        yield Note(f"this answer is not kept in the chat: {error}")
                    else:
                        yield from self._complaint(error)
                if isinstance(event, Done):
                    event = replace(event, answer=replace(event.answer, run=entry.run if entry.recorded else ""))
                yield event
        except BaseException as error:
            if not answered:
                entry.end(error)
            raise

    def _complaint(self, error: LocalRagError) -> Iterator[Note]:
        if not self._complained:
            self._complained = True
            yield Note(f"runs are not recorded: {error}")


class _Entry:
    """Write one question into the history."""

    def __init__(self, history: History, run: str, recorded: bool) -> None:
        self.run, self.recorded = run, recorded
        self._history, self._began = history, time.monotonic()
        self._state: Line = {}
        self._shown: Sequence[str] = ()
        self._draft, self._attempt, self._kept = "", (0, 0), self._began

    def write(self, event: Event) -> None:
        if isinstance(event, Done):
            state: QuestionState = "stopped" if ran_out_of_time(event.answer.reason) else "done"
            answer = event.answer
            named = {part.url or part.source for part in (*answer.cited, *answer.nearest)}
            self._history.add(self.run, None, named | {graded.source for graded in answer.decisions} - {""})
            self._history.end(self.run, state, answer.seconds, answer, shown=self._shown)
        elif isinstance(event, Token):  # another attempt replaces the earlier draft
            attempt = (event.attempt, event.candidate)
            before = "" if event.restart or attempt != self._attempt else self._draft
            self._draft, self._attempt = before + event.text, attempt
            if time.monotonic() - self._kept > STEP:
                self._keep_draft()
        else:
            self._shown = event.state.get("prompt_order", ()) if isinstance(event, Step) else self._shown
            found = event.documents if isinstance(event, Retrieved) else ()
            sources = {str(each.metadata.get("url") or each.metadata.get("source", "")) for each in found} - {""}
            line = {"event": kind(event), "at": self._seconds, **self._data(event)} if self.recorded else None
            if line or sources:
                self._history.add(self.run, line, sources)

    def end(self, error: BaseException) -> None:
        """Write that there is no answer, and why, as far as the history can be written."""
        with suppress(LocalRagError):
            self._keep_draft()
        with suppress(LocalRagError):
            self._history.end(self.run, seconds=self._seconds, **ended_by(error))

    def _keep_draft(self) -> None:
        if self._draft and self.recorded:
            self._history.add(self.run, {"event": "draft", "at": self._seconds, "text": self._draft})
        self._kept = time.monotonic()

    def give_up(self, error: LocalRagError | None) -> None:
        """Delete an incomplete record; with an `error`, end the question too, so that it does not seem to run."""
        self.recorded = False
        with suppress(LocalRagError):
            self._history.forget_record(self.run)
        if error is not None:
            self.end(error)

    @property
    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 4)

    def _data(self, event: Event) -> Line:
        if not isinstance(event, Step):
            line: Line = _shortened(to_plain(event))
            return line
        after = {name: value for name, value in sorted(event.state.items()) if name not in ELSEWHERE}
        state: Line = _shortened(to_plain(after))
        changed = {
            name: value for name, value in state.items() if name not in self._state or self._state[name] != value
        }
        self._state = state
        return {"node": event.node, "seconds": event.seconds, "state": changed}


def ended_by(error: BaseException) -> dict[str, Any]:
    """Return the arguments of `History.end` for a question that raised this error."""
    if isinstance(error, GeneratorExit | KeyboardInterrupt) or type(error) is Stopped:
        return {"state": "stopped"}
    state: QuestionState = "refused" if isinstance(error, UsageError) else "failed"
    return {"state": state, "error": str(error) or type(error).__name__, "hint": getattr(error, "hint", "")}


def kind(event: Event) -> str:
    """Return the name of an event: web_query for WebQuery."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def _shortened(value: Any) -> Any:
    """Return plain values in which every LangChain document is replaced by a passage without its text.

    A page of the web or of a fallback corpus keeps its title and address.
    """
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "Document":
        metadata = value["metadata"]
        of_index = {"index": metadata["index"]} if metadata.get("index") else {}
        address = {name: metadata[name] for name in ADDRESS if metadata.get("url") and metadata.get(name)}
        return {name: metadata.get(name) for name in PASSAGE} | of_index | address
    return {key: _shortened(item) for key, item in value.items()}


def conditions(rag: Rag, narrowing: Narrowing, **of_call: Any) -> Line:
    """Return the conditions of a question: everything that a person needs to ask it again from anywhere."""
    from local_rag import __version__
    from local_rag.config.settings import names

    settings, embedder = rag.settings, rag.embedder
    fallback_corpus = rag.fallback_corpus_of(of_call["graph"])
    return {
        **of_call,
        "within": [_from_anywhere(name) for name in narrowing.within],
        "narrowing": {name: value for name, value in narrowing.conditions.items() if name != "within"},
        "version": __version__,
        "index": {
            "name": settings.values.index if rag.folder else "",
            "path": rag.folder,
            "content": _content(rag.corpus),
            "others": list(rag.folders[1:]),
        },
        "fallback_corpus": _content(fallback_corpus.index) if fallback_corpus else "",
        "engine": {
            "name": rag.engine.name,
            "describe": rag.engine.describe,
            "fingerprint": rag.engine.fingerprint,
        },
        "embedder": {"name": embedder.name, "fingerprint": embedder.fingerprint} if embedder else None,
        "thresholds": rag.thresholds.model_dump(),
        "settings": {name: settings.get(name) for name in names()},
        "origins": {name: origin for name, origin in settings.origin.items() if origin != "default"},
    }


def _from_anywhere(name: str) -> str:
    """Return the whole path of an existing file, and anything else, such as a pattern, unchanged."""
    with suppress(OSError, RuntimeError, ValueError):  # too long, an unknown home folder, a zero byte
        if (path := Path(name).expanduser()).exists():
            return str(path.resolve())
    return name


def _content(index: Corpus) -> str:
    """Return the index's digest, which changes with any passage, or "" if it gives none."""
    with suppress(LocalRagError):
        return index.content()
    return ""
