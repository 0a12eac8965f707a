"""Ask our graphs and the tutorials' loop the questions of one folder, and table what came out side by side.

The folder holds `cases.jsonl`, with a question, its collection (a folder beside it) and `keys` on each line: strings of
the right answer, `|` between alternatives, none where the files do not say.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

from benchmarks.commands import index
from benchmarks.report import Cell, Table

GRAPHS: tuple[Literal["plain", "self-rag", "crag", "adaptive"], ...] = ("plain", "self-rag", "crag", "adaptive")
MOST = 0.75
"""Share of its keys that a right list or summary holds; every other answer holds all."""
COLUMNS = ("right", "partly", "wrong", "refused", "not there: refused", "not there: in doubt", "sure", "sure: right")


class Reply(NamedTuple):
    """What came of a question. `certainty` is empty for an abstention; a loop that gives none is never sure."""

    text: str
    certainty: str
    calls: int
    tokens: int


def table(folder: Path, data: Path, model: str | None, most: int) -> Table:
    """Ask at most so many questions of each collection that is there."""
    cases = [json.loads(line) for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines() if line]
    counts: dict[str, Counter[str]] = {}
    costs: dict[str, list[tuple[float, int, int]]] = {}
    for collection in dict.fromkeys(case["collection"] for case in cases):
        if not (folder / collection).is_dir():
            continue
        of_it = [case for case in cases if case["collection"] == collection]
        with ExitStack() as stack:
            for name, ask in _ways(index(data, folder / collection), model, stack):
                for case in of_it[:: max(1, len(of_it) // most)][:most]:
                    began = time.perf_counter()
                    reply = ask(case["question"])
                    costs.setdefault(name, []).append((time.perf_counter() - began, reply.calls, reply.tokens))
                    counts.setdefault(name, Counter()).update(_scored(case, reply))
    rows: list[list[Cell]] = [
        [name, *(of[column] for column in COLUMNS), *(sum(cost) / len(cost) for cost in zip(*costs[name], strict=True))]
        for name, of in counts.items()
    ]
    asked = sum(next(iter(counts.values()), Counter[str]())[column] for column in COLUMNS[:6])
    return Table(f"{asked} questions of {folder.name}", ["", *COLUMNS, "seconds", "calls", "tokens"], rows)


def _ways(place: Path, model: str | None, stack: ExitStack) -> Sequence[tuple[str, Callable[[str], Reply]]]:
    from benchmarks.loop import Tutorial
    from local_rag import Rag

    engine: dict[str, Any] = {"engine": "extractive"} if model is None else {"engine": "ollama", "model": model}
    rag = stack.enter_context(Rag.open(index=str(place), **engine))

    def ours(graph: Any) -> Callable[[str], Reply]:
        def ask(question: str) -> Reply:
            answer = rag.ask(question, graph=graph, record=False)
            usage = answer.usage
            return Reply(answer.text, answer.certainty, usage.calls, usage.prompt_tokens + usage.output_tokens)

        return ask

    ways: list[tuple[str, Callable[[str], Reply]]] = [(graph, ours(graph)) for graph in GRAPHS]
    if model is not None:
        loop = Tutorial(rag.corpus, model, rag.settings.values.k)

        def asked(question: str) -> Reply:
            text, calls, tokens = loop.ask(question)
            refused = not text or "not know" in text.casefold() or "don't know" in text.casefold()
            return Reply(text, "" if refused else "unsaid", calls, tokens)

        ways.insert(0, ("the tutorials' Self-RAG loop", asked))
    return ways


def _scored(case: dict[str, Any], reply: Reply) -> list[str]:
    """Return the columns that count this reply."""
    if not case["keys"]:
        kinds = {"": ["not there: refused"], "in doubt": ["not there: in doubt"]}
        return kinds.get(reply.certainty, ["not there: shown"]) + ["sure"] * (reply.certainty == "sure")
    text = " ".join(reply.text.casefold().split())
    held = sum(any(part.casefold() in text for part in key.split("|")) for key in case["keys"]) / len(case["keys"])
    least = MOST if case.get("kind") in ("list", "summary") else 1
    verdict = "refused" if not reply.certainty else "right" if held >= least else "partly" if held else "wrong"
    return [
        verdict,
        *["sure"] * (reply.certainty == "sure"),
        *["sure: right"] * (reply.certainty == "sure" and verdict == "right"),
    ]
