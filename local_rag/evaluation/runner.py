"""Ask each case once per graph and keep all results; a stopped run continues where it stopped."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, cast

from local_rag.core.cancel import Cancel, check, current, scope
from local_rag.core.errors import DeadlineExceeded, EngineError, LocalRagError, Stopped
from local_rag.core.events import Done, Event
from local_rag.core.progress import ShowProgress, time_left
from local_rag.core.verdicts import Source
from local_rag.evaluation.figures import is_right
from local_rag.evaluation.folder import Key, Record, RunFolder
from local_rag.evaluation.matching import ranking
from local_rag.evaluation.records import answer_record
from local_rag.text.answer_language import is_engine_failure, ran_out_of_time
from local_rag.text.display import plural

if TYPE_CHECKING:
    from local_rag.engines.language_model.judge import Judge
    from local_rag.evaluation.cases import Case
    from local_rag.index.search import Mode
    from local_rag.runtime.rag import Rag

DEPTH, SHOWN = 100, 10
"""The number of units in a ranking, and the number of them stored with their location."""

PER_UNIT = 3
"""The number of passages to search per unit of a ranking, because several passages find the same file."""

MOST_PASSAGES = 20_000
"""The maximum number of passages to search if a few long files take all ranks."""

IN_A_ROW = 5
"""The number of failures in a row that ends a run, because a server that is gone will not answer later either."""

NO_ANSWER = "there is no answer to judge"

OFFERED: tuple[Source, ...] = ("vectorstore", "web_search")
"""The sources that the router may choose; it only names one, and nothing is sent."""


@dataclass(frozen=True)
class Plan:
    """Hold what to ask: graphs, modes of retrieval, and the number of cases, drawn by the seed.

    `corpus`: search an index of the set's own documents. `out` is the folder of the run; None means a new one in the
    data folder. `command` started the run.
    """

    graphs: tuple[str, ...]
    modes: tuple[Mode, ...]
    limit: int | None = None
    seed: int = 0
    judge: str | None = None
    corpus: bool = False
    out: Path | None = None
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """Hold one thing to ask: a kind of record about a case, and its graph or mode of retrieval."""

    kind: str
    case: Case
    where: str = ""

    @property
    def key(self) -> Key:
        return self.kind, self.case.id, self.where

    @property
    def doing(self) -> str:
        """Return the text to show a person while the step runs."""
        return {"retrieval": f"retrieval, {self.where}", "route": "router", "answer": self.where}.get(
            self.kind, f"{self.where}, judge"
        )


@dataclass(frozen=True)
class Runner:
    """Ask everything that the folder does not contain yet."""

    rag: Rag
    folder: RunFolder
    plan: Plan
    judge: Judge | None = None

    def steps(self) -> list[Step]:
        """Return all steps in order: retrieval, the router, graph after graph, and finally the judge.

        A graph asks all cases before the next graph begins: a server remembers the prompts of the last question, and
        one graph's work must not make the next one cheaper. The judge's model is loaded once.
        """
        graphs, cases = self.plan.graphs, self.folder.cases
        routed = [case for case in cases if "adaptive" in graphs and case.route in OFFERED]
        judged = [case for case in cases if self.judge is not None and case.answers]
        return [
            *(Step("retrieval", case, mode) for mode in self.plan.modes for case in cases if case.relevant),
            *(Step("route", case) for case in routed),
            *(Step("answer", case, graph) for graph in graphs for case in cases),
            *(Step("judgement", case, graph) for graph in graphs for case in judged),
        ]

    def run(self, show: ShowProgress = lambda share, line: None) -> None:
        """Run the remaining steps in order; those that failed before come after the others.

        Raise EngineError after several failures in a row, and Stopped; the records so far are kept.
        """
        steps = self.steps()
        todo = [step for step in steps if not self.folder.has(step.key)]
        again = {step.key for step in todo if self.folder.knows(step.key)}
        todo.sort(key=lambda step: (step.kind == "judgement", step.key in again))
        if todo:
            self.rag.index.search("warming up", 1)  # load weights and vectors before the first measurement
        spent: dict[str, list[float]] = {}
        failures = in_a_row = 0
        for done, step in enumerate(todo, start=len(steps) - len(todo)):
            check()
            left = _left(todo[done - len(steps) :], spent)
            parts = (
                f"{done:,} of {plural(len(steps), 'step')}",
                step.doing,
                f"{failures} failed" if failures else "",
                "" if left is None else time_left(left),
            )
            show(done / len(steps), ", ".join(filter(None, parts)))
            started = time.monotonic()
            record = self._record(step)
            spent.setdefault(step.doing, []).append(time.monotonic() - started)
            self.folder.add(record)
            failed = "error" in record
            failures += failed
            if not failed:
                in_a_row = 0
            elif step.key not in again and record["error"] != NO_ANSWER:
                in_a_row += 1
            if in_a_row == IN_A_ROW:
                raise EngineError(
                    f"{IN_A_ROW} questions in a row failed, the last one with {record['error']}",
                    hint="the same command tries them again; local-rag doctor looks for the reason",
                )

    @cached_property
    def _single(self) -> frozenset[str]:
        """Return the files of the index, and of the fallback corpus, that are a single passage."""
        searched = [self.rag.index, *([self.rag.fallback_corpus.index] if self.rag.fallback_corpus else [])]
        return frozenset(file.path for index in searched for file in index.files() if file.chunks == 1)

    def _record(self, step: Step) -> Record:
        """Return the record of a step; a failure is a record too."""
        ask = {"retrieval": self._rank, "route": self._route, "answer": self._answer, "judgement": self._judge}
        about = {"kind": step.kind, "case": step.case.id}
        if step.where:
            about["mode" if step.kind == "retrieval" else "graph"] = step.where
        try:
            return about | ask[step.kind](step.case, step.where)
        except Exception as error:  # one failing case must not stop the others
            if isinstance(error, Stopped) and not isinstance(error, DeadlineExceeded):
                raise
            return about | {"error": " ".join(f"{type(error).__name__}: {error}".split())}

    def _rank(self, case: Case, mode: str) -> Record:
        started = time.perf_counter()
        limit, seconds = DEPTH * PER_UNIT, 0.0
        while True:
            passages = self.rag.index.search(case.question, limit, mode=cast("Mode", mode), repeats=True)
            seconds = seconds or time.perf_counter() - started
            ranked = ranking(case, passages)
            if len(ranked.units) >= DEPTH or len(passages) < limit or limit >= MOST_PASSAGES:
                break
            limit *= 4
        return {
            "units": list(ranked.units[:DEPTH]),
            "gains": ranked.gains,
            "shown": list(ranked.shown[:SHOWN]),
            "seconds": round(seconds, 4),
        }

    def _route(self, case: Case, where: str) -> Record:
        """Return what the router chooses if the web is offered; None if its verdict cannot be read."""
        from local_rag.graphs.nodes.routing import ask_router

        started = time.perf_counter()
        deps = self.rag.context(cancel=current())
        with scope(deps.cancel):
            route = ask_router(case.question, deps, OFFERED)
        return {
            "expected": case.route,
            "source": None if route.usage.unparsed else route.source,
            "why": route.why,
            "seconds": round(time.perf_counter() - started, 4),
        }

    def _answer(self, case: Case, graph: str) -> Record:
        events: list[Event] = []
        stream = self.rag.stream(case.question, graph=graph, record=False, cancel=current())
        with closing(cast("Generator[Event, None, None]", stream)) as happening:
            events.extend(happening)
        done = events[-1]
        if not isinstance(done, Done):
            raise LocalRagError("the graph ended without an answer")
        record = answer_record(case, done.answer, events, self._single)
        late = done.answer.status == "abstained" and ran_out_of_time(done.answer.reason)
        if late or is_engine_failure(done.answer.reason):
            record["error"] = done.answer.reason
        return record

    def _judge(self, case: Case, graph: str) -> Record:
        assert self.judge
        answered = self.folder.record(("answer", case.id, graph))
        if "error" in answered:
            return {"error": NO_ANSWER}
        if answered["answer"]["status"] == "abstained":
            return {"verdict": "abstained"}
        started = time.perf_counter()
        with scope(Cancel(self.rag.settings.values.limits.seconds, current())):
            judgement = self.judge.judge(case.question, case.answers, answered["answer"]["text"])
        return {
            "verdict": judgement.verdict,
            "right": is_right(case, answered),
            "why": judgement.why,
            "seconds": round(time.perf_counter() - started, 4),
            "calls": judgement.usage.calls,
            "prompt_tokens": judgement.usage.prompt_tokens,
            "output_tokens": judgement.usage.output_tokens,
        }


def _left(todo: Sequence[Step], spent: Mapping[str, Sequence[float]]) -> float | None:
    """Estimate the seconds left from the mean time of each kind of step; None before the first step.

    A kind without a time yet counts as the slowest known one.
    """
    means = {doing: mean(seconds) for doing, seconds in spent.items()}
    return sum(means.get(step.doing, max(means.values())) for step in todo) if means else None
