"""What a question costs: Self-RAG and Adaptive RAG with our calls, against the calls of the LangGraph tutorials.

Both run through the same graphs, engine and server; only `grading` differs. `each` is the baseline: one grading call
per document, the documents in another place of every prompt, a hallucination grader and an answer grader.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchmarks.llama_endpoint import HOST_CACHE, NAME, Endpoint
from benchmarks.llama_model import LAYERS, WIDTH, model_file
from benchmarks.ollama_relay import Relay
from benchmarks.question_texts import QUESTIONS, Passages, Web, pieces
from benchmarks.report import Report, Table

if TYPE_CHECKING:
    from local_rag.runtime.rag import Rag

Grading = Literal["each", "list"]
WINDOW = 8192
PATIENCE = 3600.0
"""Seconds of a question; a benchmark is never short of time."""


@dataclass(frozen=True)
class Case:
    """A question, and which passages the grader finds irrelevant (places from 0); `asked` counts a chat's questions."""

    graph: str
    k: int
    named: str
    rejected: tuple[int, ...] = ()
    asked: int = 1


CASES = (
    Case("self-rag", 4, "all relevant"),
    Case("adaptive", 4, "all relevant"),
    Case("self-rag", 8, "all relevant"),
    Case("adaptive", 8, "all relevant"),
    Case("self-rag", 4, "the first rejected", (0,)),
    Case("self-rag", 8, "two rejected", (0, 4)),
    Case("self-rag", 4, "a rewrite", (0, 1, 2, 3)),
    Case("self-rag", 4, "two of a chat", (), 2),
    Case("self-rag", 8, "two of a chat", (), 2),
)


@dataclass
class Cost:
    """What one question cost: seconds, and of its calls the tokens read and written, and of what kind they were.

    `busy` are processor seconds of the server: other programs on the machine do not change them much. `way` is every
    verdict and label in turn.
    """

    seconds: float
    busy: float | None
    read: int | None
    unique: int | None
    wrote: int
    loads: list[float]
    way: list[str]
    calls: list[tuple[str, float]] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--ollama", metavar="MODEL", help="have this model of a running Ollama generate it instead")
    parser.add_argument("--text", type=Path, metavar="FILE", help="take the passages from this text")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of llama.cpp (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each case, in turn; the fastest counts")
    parser.add_argument("--only", metavar="WORD", default="", help="cases that hold this word, e.g. 'adaptive 8'")
    parser.add_argument(
        "--old", action="store_true", help="a server that remembers one prompt only, as Ollama before 0.30"
    )


def run(options: argparse.Namespace, data: Path) -> Report:
    """Measure."""
    for name in [name for name in os.environ if name.startswith("LOCAL_RAG_")]:
        del os.environ[name]  # nobody's own settings
    os.environ |= {"LOCAL_RAG_DATA_DIR": str(data / "home"), "LOCAL_RAG_CONFIG_DIR": str(data / "home")}
    report = Report("question", "the calls and the prompts of the LangGraph tutorials (`grading: each`)")
    passages = Passages(pieces(options.text))
    cases = [one for one in CASES if options.only in f"{one.graph} {one.k} {one.named}"]
    with _endpoint(options, data) as endpoint:
        _asked(Case("plain", 1, "warm"), "list", passages, endpoint, options)
        found = [_both(case, passages, endpoint, options) for case in cases]
    report.tables += [_table(cases, found), *_second_table(cases, found), _kinds(cases, found)]
    report.notes += [*_notes(options), *_different(cases, found)]
    report.facts = {"cases": [_facts(case, both) for case, both in zip(cases, found, strict=True)]}
    return report


def _endpoint(options: argparse.Namespace, data: Path) -> Endpoint | Relay:
    """What the product talks to: a llama.cpp of our own, or the Ollama that runs here, through a relay."""
    if not options.ollama:
        return Endpoint.start(model_file(data), options.threads, 0 if options.old else HOST_CACHE)
    from local_rag.config.settings import Settings
    from local_rag.core.address import address

    return Relay.start(address(Settings.load().values.ollama.host).url.partition("//")[2], options.ollama)


Both = dict[Grading, list[Cost]]
"""The costs of a case's questions, one after the other."""


def _both(case: Case, passages: Passages, endpoint: Endpoint | Relay, options: argparse.Namespace) -> Both:
    """The fastest run of each, taken in turn."""
    best: Both = {}
    for turn in range(options.repeat):
        order: tuple[Grading, ...] = ("list", "each") if turn % 2 == 0 else ("each", "list")
        for grading in order:
            costs = _asked(case, grading, passages, endpoint, options)
            if grading not in best or _seconds(costs) < _seconds(best[grading]):
                best[grading] = costs
    return best


def _seconds(costs: Sequence[Cost]) -> float:
    return sum(cost.seconds for cost in costs)


def _asked(
    case: Case, grading: Grading, passages: Passages, endpoint: Endpoint | Relay, options: argparse.Namespace
) -> list[Cost]:
    from langgraph.checkpoint.memory import InMemorySaver

    endpoint.begin([passages.texts[place][:60] for place in case.rejected])
    with _rag(case, grading, passages, endpoint, options) as rag:
        graph = rag.graph(case.graph, checkpointer=InMemorySaver() if case.asked > 1 else None)
        costs, before = [], 0
        for question in QUESTIONS[: case.asked]:
            passages.turn(case.asked > 1)
            config: Any = {"configurable": {"thread_id": "1"}}
            began = time.perf_counter()
            state = graph.invoke({"question": question}, config, context=rag.context(graph=case.graph))
            seconds = time.perf_counter() - began
            calls = endpoint.calls()
            costs.append(_cost(seconds, state, calls[before:], endpoint))
            before = len(calls)
        return costs


def _rag(
    case: Case, grading: Grading, passages: Passages, endpoint: Endpoint | Relay, options: argparse.Namespace
) -> Rag:
    """The product, with fixed passages in place of an index. The model is in memory already."""
    from local_rag.config.models import ROLES, OllamaModelSpec
    from local_rag.config.settings import Settings
    from local_rag.engines.ollama.engine import OllamaEngine
    from local_rag.engines.ollama.server import Server
    from local_rag.runtime.engine_choice import Choice
    from local_rag.runtime.rag import Rag

    settings = Settings.load(
        k=case.k, graph=case.graph, ollama__grading=grading, ollama__idle_seconds=PATIENCE,
        limits__seconds=PATIENCE, ollama__host=endpoint.host,
    )  # fmt: skip
    ollama = settings.values.ollama
    spec = OllamaModelSpec(name=options.ollama or NAME)
    server = Server(ollama.host, ollama.allow_hosts)
    engine = OllamaEngine.open(server, dict.fromkeys(ROLES, spec), WINDOW, ollama)
    server.preload(spec.name, {"num_ctx": WINDOW}, ollama.keep_alive, PATIENCE)
    corpus: Any = passages
    rag = Rag(settings, corpus, Choice(engine))
    rag.web = Web()
    return rag


def _cost(seconds: float, state: Any, calls: list[dict[str, Any]], endpoint: Any) -> Cost:
    log = [call for call in state["usage"].log if call.role != "preload"]
    return Cost(
        seconds=seconds,
        busy=sum(call["busy"] for call in calls) if calls else None,
        read=sum(call["read"] for call in calls) if calls else None,
        unique=endpoint.count(sorted(_unique(calls))) if calls else None,
        wrote=sum(call.output_tokens for call in log),
        loads=[call.load_seconds for call in log],
        way=[f"{one.kind} {one.chunk_id or ''} {one.verdict}" for one in state["decisions"]],
        calls=[(call.role, call.seconds) for call in log],
    )


def _unique(calls: Sequence[dict[str, Any]]) -> set[str]:
    """The paragraphs of all prompts, each once, whatever number a passage has."""
    texts = (re.sub(r'<passage n="\d+"', "<passage", text) for call in calls for text in call["texts"])
    return {paragraph for text in texts for paragraph in text.split("\n\n")}


def _table(cases: Sequence[Case], found: Sequence[Both]) -> Table:
    rows = []
    for case, both in zip(cases, found, strict=True):
        ours, theirs = both["list"][0], both["each"][0]
        rows.append([f"{case.graph}, {case.k}, {case.named}", *_compared(ours, theirs)])
    columns = ["graph, documents", "ours s", "baseline s", "ours/baseline", "processor", *_FIGURES]
    return Table("One question", columns, rows)


_FIGURES = ["calls", "of", "read", "of", "read/unique", "written", "of", "load ms"]


def _compared(ours: Cost, theirs: Cost) -> list[str | float | int | None]:
    return [
        ours.seconds, theirs.seconds, ours.seconds / theirs.seconds,
        ours.busy / theirs.busy if ours.busy and theirs.busy else None,
        len(ours.calls), len(theirs.calls), ours.read, theirs.read,
        ours.read / ours.unique if ours.read and ours.unique else None,
        ours.wrote, theirs.wrote, max(ours.loads) * 1000,
    ]  # fmt: skip


def _second_table(cases: Sequence[Case], found: Sequence[Both]) -> list[Table]:
    """A second question of a chat over the same passages: against the first, and against the baseline's second."""
    rows = []
    for case, both in zip(cases, found, strict=True):
        if case.asked > 1:
            (first, second), (_, theirs) = both["list"], both["each"]
            busy = second.busy / first.busy if first.busy and second.busy else None
            share = [second.seconds / first.seconds, busy, first.read, second.read]
            rows.append([f"{case.graph}, {case.k}", *share, second.seconds / theirs.seconds])
    columns = ["graph, documents", "second/first", "processor", "read, first", "read, second", "second: ours/baseline"]
    return [Table("A second question of a chat over the same passages", columns, rows)] if rows else []


def _kinds(cases: Sequence[Case], found: Sequence[Both]) -> Table:
    """Seconds per call, by what is asked."""
    spent: dict[str, dict[Grading, list[float]]] = defaultdict(lambda: {"list": [], "each": []})
    for case, both in zip(cases, found, strict=True):
        for grading, costs in both.items():
            for kind, seconds in costs[0].calls:
                spent[f"{case.k} documents: {kind}"][grading].append(seconds)
    rows = [
        [kind, _mean(one["list"]), len(one["list"]), _mean(one["each"]), len(one["each"])]
        for kind, one in sorted(spent.items())
    ]
    return Table("Seconds per call", ["call", "ours", "calls", "baseline", "calls"], rows)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _notes(options: argparse.Namespace) -> list[str]:
    notes = [
        "processor: the same ratio in processor seconds of the server, which other programs disturb less",
        "read: tokens of the prompts that were evaluated, without those that the server had in memory; unique: every "
        "paragraph of the prompts counted once, without the marks of the chat template",
        "the web is on offer, so that Adaptive asks its router; passages have about 250 tokens",
    ]
    if options.ollama:
        return [
            *notes,
            "real weights: the model generates fixed verdicts and answers under schemas with a single value, and is "
            "unloaded before each run; which tokens of a prompt it had in memory is not known",
        ]
    memory = "one prompt only" if options.old else "earlier prompts, too"
    return [
        *notes,
        f"llama.cpp, {options.threads} threads, a random Llama of {LAYERS} layers, width {WIDTH}, Q8_0; the server "
        f"remembers {memory}",
        "verdicts and answers are fixed and generated token by token under a grammar: both read and write what a "
        "model would that agrees with them",
    ]


def _different(cases: Sequence[Case], found: Sequence[Both]) -> list[str]:
    """The cases whose figures compare two different things."""
    ways = [{tuple(" / ".join(cost.way) for cost in costs) for costs in both.values()} for both in found]
    named = [f"{case.graph}, {case.k}, {case.named}" for case, way in zip(cases, ways, strict=True) if len(way) > 1]
    return [f"DIFFERENT WAYS, so the figures say nothing: {'; '.join(named)}"] if named else []


def _facts(case: Case, both: Both) -> dict[str, Any]:
    return {"case": vars(case)} | {grading: [vars(cost) for cost in costs] for grading, costs in both.items()}
