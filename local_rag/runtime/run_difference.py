"""What two runs differ in: conditions, path, passages, verdicts, answer, time and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from local_rag.config.settings import NO_MATTER
from local_rag.core.narrowing import OPTIONS
from local_rag.runtime.kept_run import KeptRun
from local_rag.runtime.trace_file import Line

Part = Literal["path", "passages", "verdicts", "answer"]

OF_A_CHAT = frozenset({"standalone_question", "remember"})
"""The nodes that make a follow-up whole and write a turn down; the verdict of the first has its name."""
ELSEWHERE = ("index", "also", "graph", "k")
"""Settings that stand among the conditions of the question itself."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something in the first run and in the second, None where it is not there."""

    name: str
    first: Any
    second: Any


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """A verdict that is another one, or none, in the second run; on a passage with its `chunk_id`."""

    kind: str
    first: str | None
    second: str | None
    chunk_id: str = ""
    source: str = ""
    first_score: float | None = None
    second_score: float | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds, calls or tokens of both runs, and the second divided by the first; None where that is 0."""

    name: str
    first: float
    second: float
    ratio: float | None


@dataclass(frozen=True, slots=True)
class RunDifference:
    """Two runs side by side. What is empty does not differ; `costs` has every figure, equal or not.

    `gone` are the passages that only the first run retrieved, `new` those of the second alone, without their texts;
    `common` counts the others.
    """

    first: str
    second: str
    conditions: tuple[Change, ...]
    path: tuple[tuple[str, ...], tuple[str, ...]] | None
    gone: tuple[Line, ...]
    new: tuple[Line, ...]
    common: int
    reordered: bool
    verdicts: tuple[VerdictChange, ...]
    answer: tuple[Change, ...]
    costs: tuple[Cost, ...]

    @property
    def changed(self) -> tuple[Part, ...]:
        """Which parts of the runs differ; the conditions, the time and the costs are none of them."""
        differing: dict[Part, bool] = {
            "path": self.path is not None,
            "passages": bool(self.gone or self.new or self.reordered),
            "verdicts": bool(self.verdicts),
            "answer": bool(self.answer),
        }
        return tuple(part for part, differs in differing.items() if differs)


def difference(first: KeptRun, second: KeptRun) -> RunDifference:
    """What the second run differs in from the first. Scores alone are no difference: a verdict is its label.

    Where only one of them is of a chat, what a chat adds to a run is none either.
    """
    apart = OF_A_CHAT if bool(first.thread) != bool(second.thread) else frozenset()
    paths = [tuple(node for node in run.path if node not in apart) for run in (first, second)]
    passages = [{str(passage["chunk_id"]): passage for passage in run.passages} for run in (first, second)]
    before, after = passages
    common = [key for key in before if key in after]
    return RunDifference(
        first=first.id,
        second=second.id,
        conditions=tuple(_changes(_conditions(first), _conditions(second))),
        path=None if paths[0] == paths[1] else (paths[0], paths[1]),
        gone=tuple(passage for key, passage in before.items() if key not in after),
        new=tuple(passage for key, passage in after.items() if key not in before),
        common=len(common),
        reordered=common != [key for key in after if key in before],
        verdicts=tuple(_verdicts(first, second, apart)),
        answer=tuple(_changes(_answer(first), _answer(second))),
        costs=tuple(_costs(first, second)),
    )


def _changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys([*first, *second]):
        if first.get(name) != second.get(name):
            yield Change(name, first.get(name), second.get(name))


def _conditions(run: KeptRun) -> dict[str, Any]:
    """What a run was asked under, flat, the most telling first."""
    then = run.conditions
    settings = {
        name: value
        for name, value in then["settings"].items()
        if not name.startswith(NO_MATTER) and name not in ELSEWHERE
    }
    return {
        "question": run.question,
        "index": ", ".join([then["index"]["path"], *run.others]),
        "index content": then["index"].get("content", ""),
        "fallback corpus content": then.get("fallback_corpus", ""),
        "graph": run.graph,
        "engine": then["engine"]["fingerprint"],
        "embedder": (then.get("embedder") or {}).get("fingerprint"),
        "k": then["k"],
        "files": then["within"],
        **{OPTIONS[name]: value for name, value in then.get("narrowing", {}).items() if name in OPTIONS},
        **{f"threshold of {name}": value for name, value in then["thresholds"].items()},
        **settings,
        **{f"prompt {task}": digest for task, digest in run.prompts.items()},
        "local-rag": then["version"],
    }


def _answer(run: KeptRun) -> dict[str, Any]:
    answer = run.answer
    cited = sorted({(citation.url or citation.source) for citation in answer.citations}) if answer else []
    said = [position.text for conflict in (answer.conflicts if answer else ()) for position in conflict.positions]
    text = answer.text if answer else None
    return {"status": run.status, "reason": run.reason, "text": text, "cited": cited, "files disagree": said}


def _verdicts(first: KeptRun, second: KeptRun, apart: frozenset[str]) -> Iterator[VerdictChange]:
    """Verdicts belong together by kind, passage, and which of its kind it is: a node may be gone through again."""
    before, after = _numbered(first), _numbered(second)
    for key in dict.fromkeys([*before, *after]):
        if key[0] in apart:
            continue
        pair = before.get(key), after.get(key)
        labels = [graded.verdict if graded else None for graded in pair]
        if labels[0] != labels[1]:
            scores = [graded.score if graded else None for graded in pair]
            source = next(graded.source for graded in pair if graded)
            yield VerdictChange(key[0], labels[0], labels[1], key[1], source, *scores)


def _numbered(run: KeptRun) -> dict[tuple[str, str, int], Any]:
    counted: Counter[tuple[str, str]] = Counter()
    numbered = {}
    for graded in run.decisions:
        key = (graded.kind, graded.chunk_id or "")
        counted[key] += 1
        numbered[*key, counted[key]] = graded
    return numbered


def _costs(first: KeptRun, second: KeptRun) -> Iterator[Cost]:
    before, after = _figures(first), _figures(second)
    for name in dict.fromkeys([*before, *after]):
        was, now = before.get(name, 0), after.get(name, 0)
        yield Cost(name, was, now, now / was if was else None)


def _figures(run: KeptRun) -> dict[str, float]:
    """Calls and tokens, seconds in all, and those of each node, all its turns together."""
    figures: dict[str, float] = {
        "calls": len(run.calls),
        "prompt tokens": sum(call.prompt_tokens for call in run.calls),
        "output tokens": sum(call.output_tokens for call in run.calls),
        "seconds": run.seconds,
    }
    for line in run.lines:
        if line["event"] == "step":
            name = f"seconds of {line['node']}"
            figures[name] = figures.get(name, 0.0) + float(line["seconds"])
    return figures
