"""One question as it runs: a graph driven on a thread of its own, its events, and the answer at its end.

The threads of a question, and why each is there:

- `local-rag-question` drives the graph, so that Ctrl-C and a closed iterator reach a question while a node works;
- LangGraph's pool runs the nodes, one at a time, because several stream modes are asked for;
- `local-rag-preload` (Ollama, once per model) lets the server load the first model during retrieval: seconds;
- `local-rag-call` (Ollama, one at a time) reads a reply, so that a call can be aborted between two tokens;
- `local-rag-evaluator` (once) loads the evaluator while the embedder loads: tenths of a second;
- for pages of the web a few readers, and a thread per connection, which are left behind when a page hangs.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from local_rag.core.answer import Answer, Certainty, Citation, Highlight, Sentence, Status
from local_rag.core.cancel import Cancel
from local_rag.core.errors import LocalRagError, Stopped
from local_rag.core.events import Done, Event, Note, Started, Step
from local_rag.core.verdicts import Grade, Graded, Usage
from local_rag.runtime.opening import loading
from local_rag.text import answer_values, citations
from local_rag.text.answer_texts import AnswerTexts, fallback_note
from local_rag.text.display import joined
from local_rag.text.document_questions import question_to_read
from local_rag.text.marks import claims
from local_rag.text.metadata import chunk_id
from local_rag.text.names import head
from local_rag.text.questions import lacking, named

if TYPE_CHECKING:
    from langchain_core.callbacks import Callbacks
    from langgraph.graph.state import CompiledStateGraph

    from local_rag.core.protocols import Evaluator
    from local_rag.graphs.deps import Deps
    from local_rag.graphs.state import Question, Result, State
    from local_rag.index.embed.embedder import SentenceTransformerEmbedder

CLOSING = 0.5
"""Seconds that a stopped question is waited for; one that is still busy then, loading a model, is left behind."""

POLL = 0.2
"""Seconds between two looks for Ctrl-C, which cannot interrupt a blocking queue on Windows."""

TITLES = 5
"""Titles by which an abstention says what the index is about."""

LIKELY, LIKELY_USEFULNESS = 0.5, 4
"""The chance that an answer is right, or its usefulness, from which it is "probably" right where it is not sure."""


@dataclass
class Run:
    """One question on a thread of its own, so that Ctrl-C and a closed iterator reach it while a node works.

    The thread has an empty context: what the host program has set, its tracing for one, is neither used nor touched.
    """

    graph: CompiledStateGraph[State, Deps, Question, Result]
    name: str
    question: str
    deps: Deps
    running: set[Cancel]
    embedder: SentenceTransformerEmbedder | None = None
    evaluator: Evaluator | None = None
    thread: str = ""
    callbacks: Callbacks = None
    state: State = field(default_factory=lambda: cast("State", {}))
    out: queue.SimpleQueue[Event | BaseException | None] = field(default_factory=queue.SimpleQueue)

    def events(self) -> Generator[Event]:
        started = time.monotonic()
        thread = threading.Thread(
            target=contextvars.Context().run, args=(self._work,), name="local-rag-question", daemon=True
        )
        self.running.add(self.deps.cancel)
        thread.start()
        try:
            while (event := self._next()) is not None:
                if isinstance(event, BaseException):
                    raise event
                yield event
            answer = self._answer(time.monotonic() - started)
            if note := self._what_lacks(answer):
                yield Note(note)
            yield Done(answer)
        finally:
            self.deps.cancel.stop()
            thread.join(CLOSING)
            self.running.discard(self.deps.cancel)

    def _next(self) -> Event | BaseException | None:
        """The next event, None for the end. A node that works on after it was stopped is not waited for."""
        while True:
            with suppress(queue.Empty):
                return self.out.get(timeout=POLL)
            if self.deps.cancel.stopped:
                return Stopped("stopped")

    def _work(self) -> None:
        from langsmith import tracing_context

        try:
            if note := fallback_note(self.deps.answer.language):
                self.out.put(Note(note))
            self._load()
            with tracing_context(enabled=False):  # LangSmith sees no question, whatever the environment says
                self._drive()
            self.out.put(None)
        except BaseException as error:
            self.out.put(error)

    def _load(self) -> None:
        """Load the embedder before the first node, so that a person sees what the pause is for; all else meanwhile."""
        self.deps.engine.prepare()
        if self.evaluator is not None:
            self.evaluator.prepare()
        if self.embedder is not None and not self.embedder.ready:
            self.out.put(Started("load", loading(self.embedder.name)))
            self.embedder.load()
            self.deps.cancel.restart()

    def _drive(self) -> None:
        from local_rag.graphs.state import after

        starts: dict[str, float] = {}
        parts: Iterator[Any] = self.graph.stream(
            {"question": self.question},
            {"callbacks": self.callbacks},
            context=self.deps,
            stream_mode=["tasks", "custom"],
            version="v2",
        )
        for part in parts:
            kind, data = part["type"], part["data"]
            if kind == "custom":
                self.out.put(data)
            elif "result" in data:
                self.state = after(self.state, data["result"])
                self.out.put(Step(data["name"], time.monotonic() - starts[data["id"]], dict(self.state)))
            else:
                starts[data["id"]] = time.monotonic()

    def _answer(self, seconds: float) -> Answer:
        from local_rag.graphs.answering import checked_answer, texts_of

        state = self.state
        status: Status = state.get("status", "abstained")
        certainty, reason = _certainty(status, state.get("grade")), state.get("reason", "")
        silent = status == "abstained"
        texts = texts_of({**state, "question": self.question}, self.deps)
        checked = checked_answer(state, texts)
        decisions = state.get("decisions", [])
        if certainty and any(cited.ocr is not None and cited.ocr < SURE_OCR for cited in checked.citations):
            status, certainty = "partial" if status == "grounded" else status, _LESS[certainty]
            reason = "; ".join(filter(None, (reason, texts.unsure_ocr)))
        searched = state.get("tries", {}).get("web_searches", 0) > 0
        conflicts = tuple(state.get("conflicts") or ())
        highlights = answer_values.highlights_of(checked.text, conflicts)
        highlights = highlights or (() if silent else self._highlights(checked.text))
        return Answer(
            question=self.question,
            text=checked.text,
            status=status,
            certainty=certainty,
            reason=reason,
            citations=checked.citations,
            dropped_citations=state.get("dropped", 0),
            nearest=self._nearest(decisions, texts) if silent else (),
            used_web=searched and not self.deps.fallback_corpus,
            graph=self.name,
            engine=self.deps.engine.name,
            path=tuple(state.get("path", ())),
            decisions=tuple(decisions),
            tries={kind: count for kind, count in state.get("tries", {}).items()},
            usage=state.get("usage", Usage()),
            seconds=seconds,
            sentences=() if silent else _sentences(checked.text, state.get("grade")),
            removed=tuple(state.get("removed", ())),
            about=self.deps.index.catalog().titles[:TITLES] if silent else (),
            thread=self.thread,
            asked=state.get("asked", ""),
            language=texts.code,
            fallback_corpus=self.deps.fallback_corpus if searched else "",
            short=" ".join(checked.text[highlights[0].start : highlights[0].end].split()) if highlights else "",
            highlights=highlights,
            conflicts=conflicts,
        )

    def _what_lacks(self, answer: Answer) -> str:
        """A warning of what a model wrote: names and numbers of a question in English that no cited passage mentions.

        The extractive engine looks for them itself, and says so in the reason.
        """
        if not self.deps.engine.writes or not answer.citations or answer.language != "en":
            return ""
        cited = {citation.chunk_id for citation in answer.citations}
        texts = [f"{head(d)} {d.page_content}" for d in self.state.get("documents", []) if chunk_id(d) in cited]
        lacks = lacking(named(answer.asked or self.question), " ".join(texts))
        return (
            f"no cited passage mentions {joined(map(repr, lacks), 'or')}: the answer may be about something else"
            if lacks
            else ""
        )

    def _highlights(self, text: str) -> tuple[Highlight, ...]:
        """The answering words, where an evaluator has read the passages; what it has read costs nothing again."""
        evaluator = self.deps.evaluator
        passages = self.state.get("documents", [])
        if evaluator is None or not passages:
            return ()
        try:
            with self.deps.scope():
                question = question_to_read(self.state.get("asked") or self.question, passages)
                readings = evaluator.read(question, passages)
        except LocalRagError:  # the answer stands without them: out of time, or the engine has said what is amiss
            return ()
        return answer_values.highlights(text, [passage.page_content for passage in passages], readings)

    def _nearest(self, decisions: list[Graded], texts: AnswerTexts) -> tuple[Citation, ...]:
        graded = [decision for decision in decisions if decision.kind == "relevance"]
        whys = {decision.chunk_id: decision.why for decision in graded if decision.chunk_id and decision.why}
        question = self.state.get("asked") or self.question
        return citations.nearest(self.state.get("nearest", []), question, whys, texts)


SURE_OCR = 0.95
"""Confidence of OCR below which a line is not taken for certain: docs/measurements.md."""

_LESS: Mapping[Certainty, Certainty] = {"sure": "probably", "probably": "in doubt", "in doubt": "in doubt"}


def _certainty(status: Status, grade: Grade | None) -> Certainty:
    """How far to rely on an answer, by its status and its grade: a score, or a usefulness where there is none."""
    if status in ("grounded", "abstained", "direct"):
        return "sure" if status == "grounded" else ""
    if grade is None or grade.support != "fully":
        return "in doubt"
    likely = grade.usefulness >= LIKELY_USEFULNESS if grade.score is None else grade.score >= LIKELY
    return "probably" if status == "partial" and likely else "in doubt"


def _sentences(text: str, grade: Grade | None) -> tuple[Sentence, ...]:
    """The sentences of an answer with what the grader said of each; none where it did not look at them one by one."""
    sentences = claims(text)
    if grade is None or len(sentences) != len(grade.sentences):
        return ()
    pairs = zip(sentences, grade.sentences, strict=True)
    return tuple(Sentence(claim.text, claim.span.start, claim.span.end, support) for claim, support in pairs)
