"""What a question costs: Self-RAG and Adaptive RAG with our calls, against the calls of the LangGraph tutorials.

All run through the same graphs, engine and server; only `grading` differs. `each` is the baseline: one grading call
per document, a hallucination grader and an answer grader. `packed` grades as many passages in one call as fit; with
`evaluator` the packaged model grades them, and what it rejects is never read.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.agreeing_evaluator import Agreeing
from benchmarks.llama_endpoint import HOST_CACHE, NAME, Endpoint
from benchmarks.llama_model import LAYERS, WIDTH, model_file
from benchmarks.ollama_relay import Relay
from benchmarks.question_cases import CASES, GRADINGS, Case, Cost, Costs, Grading
from benchmarks.question_tables import different_ways, first_table, kinds_table, second_table
from benchmarks.question_texts import QUESTIONS, Passages, Web, pieces
from benchmarks.report import Report

if TYPE_CHECKING:
    from local_rag.core.protocols import Evaluator
    from local_rag.runtime.rag import Rag

WINDOW = 8192
PATIENCE = 3600.0
"""Seconds of a question; a benchmark is never short of time."""


@dataclass(frozen=True)
class Parts:
    """What every case is asked with."""

    passages: Passages
    endpoint: Endpoint | Relay
    evaluator: Evaluator
    options: argparse.Namespace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--ollama", metavar="MODEL", help="have this model of a running Ollama generate it instead")
    parser.add_argument("--text", type=Path, metavar="FILE", help="take the passages from this text")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of llama.cpp (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each case, in turn; the fastest counts")
    parser.add_argument(
        "--only", metavar="WORD", action="append", help="cases that hold this word, e.g. 'adaptive 8'; may be repeated"
    )
    parser.add_argument(
        "--old", action="store_true", help="a server that remembers one prompt only, as Ollama before 0.30"
    )


def run(options: argparse.Namespace, data: Path) -> Report:
    """Measure."""
    for name in [name for name in os.environ if name.startswith("LOCAL_RAG_") and name != "LOCAL_RAG_CACHE_DIR"]:
        del os.environ[name]  # nobody's own settings
    os.environ |= {"LOCAL_RAG_DATA_DIR": str(data / "home"), "LOCAL_RAG_CONFIG_DIR": str(data / "home")}
    report = Report("question", "the calls and the prompts of the LangGraph tutorials (`grading: each`)")
    passages, evaluator = Passages(pieces(options.text)), _packaged_evaluator()
    wanted = options.only or [""]
    cases = [one for one in CASES if any(word in f"{one.graph} {one.k} {one.named}" for word in wanted)]
    with _endpoint(options, data) as endpoint:
        parts = Parts(passages, endpoint, evaluator, options)
        _asked(Case("plain", 1, "warm"), "packed", parts)
        measured = [_measured(case, parts) for case in cases]
    report.tables += [first_table(cases, measured), *second_table(cases, measured), kinds_table(cases, measured)]
    report.notes += [*_notes(options), *different_ways(cases, measured)]
    report.facts = {"cases": [_facts(case, costs) for case, costs in zip(cases, measured, strict=True)]}
    return report


def _packaged_evaluator() -> Evaluator:
    """The evaluator of the package, in memory already. Ends the program where it cannot be had."""
    from local_rag.config.settings import Settings
    from local_rag.runtime.opening import open_evaluator

    evaluator, why = open_evaluator(Settings.load())
    if evaluator is None:
        raise SystemExit(f"error: {why}")
    _ = evaluator.loaded
    return evaluator


def _endpoint(options: argparse.Namespace, data: Path) -> Endpoint | Relay:
    """What the product talks to: a llama.cpp of our own, or the Ollama that runs here, through a relay."""
    if not options.ollama:
        return Endpoint.start(model_file(data), options.threads, 0 if options.old else HOST_CACHE)
    from local_rag.config.settings import Settings
    from local_rag.core.address import address

    return Relay.start(address(Settings.load().values.ollama.host).url.partition("//")[2], options.ollama)


def _measured(case: Case, parts: Parts) -> Costs:
    """The fastest run of each, taken in turn."""
    best: Costs = {}
    for turn in range(parts.options.repeat):
        for grading in GRADINGS if turn % 2 == 0 else GRADINGS[::-1]:
            costs = _asked(case, grading, parts)
            if grading not in best or _seconds(costs) < _seconds(best[grading]):
                best[grading] = costs
    return best


def _seconds(costs: Sequence[Cost]) -> float:
    return sum(cost.seconds for cost in costs)


def _asked(case: Case, grading: Grading, parts: Parts) -> list[Cost]:
    from langgraph.checkpoint.memory import InMemorySaver

    passages, endpoint = parts.passages, parts.endpoint
    rejected = [passages.texts[place][:60] for place in case.rejected]
    endpoint.begin(rejected)
    evaluator = Agreeing(parts.evaluator, rejected) if grading == "evaluator" else None
    with _rag(case, grading, parts, evaluator) as rag:
        graph = rag.graph(case.graph, checkpointer=InMemorySaver() if case.asked > 1 else None)
        costs, before = [], 0
        for question in QUESTIONS[: case.asked]:
            passages.turn(case.asked > 1)
            config: Any = {"configurable": {"thread_id": "1"}}
            began = time.perf_counter()
            state = graph.invoke({"question": question}, config, context=rag.context(graph=case.graph))
            seconds = time.perf_counter() - began
            calls = endpoint.calls()
            costs.append(_cost(seconds, state, calls[before:], endpoint, evaluator))
            before = len(calls)
        return costs


def _rag(case: Case, grading: Grading, parts: Parts, evaluator: Agreeing | None) -> Rag:
    """The product, with fixed passages in place of an index. The model is in memory already."""
    from local_rag.config.models import ROLES, OllamaModelSpec
    from local_rag.config.settings import Settings
    from local_rag.engines.ollama.engine import OllamaEngine
    from local_rag.engines.ollama.server import Server
    from local_rag.runtime.engine_choice import Choice
    from local_rag.runtime.rag import Rag

    settings = Settings.load(
        k=case.k, graph=case.graph, ollama__grading=grading, ollama__idle_seconds=PATIENCE,
        limits__seconds=PATIENCE, ollama__host=parts.endpoint.host,
    )  # fmt: skip
    ollama = settings.values.ollama
    spec = OllamaModelSpec(name=parts.options.ollama or NAME)
    server = Server(ollama.host, ollama.allow_hosts)
    engine = OllamaEngine(server, dict.fromkeys(ROLES, spec), WINDOW, ollama, evaluator=evaluator)
    server.preload(spec.name, {"num_ctx": WINDOW}, ollama.keep_alive, PATIENCE)
    corpus: Any = parts.passages
    rag = Rag(settings, corpus, Choice(engine))
    rag.web = Web()
    return rag


def _cost(seconds: float, state: Any, calls: list[dict[str, Any]], endpoint: Any, evaluator: Agreeing | None) -> Cost:
    log = [call for call in state["usage"].log if call.role != "preload"]
    evaluated, busy = evaluator.spent() if evaluator else (0.0, 0.0)
    return Cost(
        seconds=seconds,
        busy=busy + sum(call["busy"] for call in calls) if calls else None,
        read=sum(call["read"] for call in calls) if calls else None,
        unique=endpoint.count(sorted(_unique(calls))) if calls else None,
        wrote=sum(call.output_tokens for call in log),
        loads=[call.load_seconds for call in log],
        way=[f"{one.kind} {one.chunk_id or ''} {one.verdict}" for one in state["decisions"]],
        evaluated=evaluated,
        calls=[(call.role, call.seconds) for call in log],
    )


def _unique(calls: Sequence[dict[str, Any]]) -> set[str]:
    """The paragraphs of all prompts, each once, whatever number a passage has."""
    texts = (re.sub(r'<passage n="\d+"', "<passage", text) for call in calls for text in call["texts"])
    return {paragraph for text in texts for paragraph in text.split("\n\n")}


def _notes(options: argparse.Namespace) -> list[str]:
    notes = [
        "processor: the same ratio in processor seconds of the server, which other programs disturb less",
        "read: tokens of the prompts that were evaluated, without those that the server had in memory; unique: every "
        "paragraph of the prompts counted once, without the marks of the chat template",
        "the web is on offer, so that Adaptive asks its router; passages have about 250 tokens",
        "the evaluator reads every passage, and then says what the case wants, as the model does",
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


def _facts(case: Case, costs: Costs) -> dict[str, Any]:
    return {"case": vars(case)} | {grading: [vars(cost) for cost in asked] for grading, asked in costs.items()}
