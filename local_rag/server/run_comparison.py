"""What a client sees of two kept runs: what differs in them, with the names of files as a person knows them."""

from __future__ import annotations

from dataclasses import dataclass

from local_rag.runtime.kept_run import KeptRun, RunSummary
from local_rag.runtime.run_difference import Change, Cost, RunDifference
from local_rag.runtime.run_passages import RunPassages
from local_rag.server.run_view import LONGEST, RunPassageView, passage_view, value_text
from local_rag.text.display import shorten


@dataclass(frozen=True, slots=True)
class ChangeView:
    """Something that differs, in the first run and in the second, as texts."""

    name: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs side by side; see `runtime.run_difference.RunDifference`. `changed` names the parts that differ."""

    first: RunSummary
    second: RunSummary
    changed: tuple[str, ...]
    conditions: tuple[ChangeView, ...]
    paths: tuple[tuple[str, ...], tuple[str, ...]]
    gone: tuple[RunPassageView, ...]
    new: tuple[RunPassageView, ...]
    common: int
    reordered: bool
    verdicts: tuple[ChangeView, ...]
    answer: tuple[ChangeView, ...]
    costs: tuple[Cost, ...]


def comparison_view(first: KeptRun, second: KeptRun, differing: RunDifference) -> RunComparison:
    """Two runs and what differs in them."""
    passages = RunPassages.of(first, second)
    verdicts = (
        ChangeView(
            f"{change.kind} {passages.label(change.source)}{passages.place(change.chunk_id)}"
            if change.source
            else change.kind,
            _verdict(change.first, change.first_score),
            _verdict(change.second, change.second_score),
        )
        for change in differing.verdicts
    )
    return RunComparison(
        first=first.summary(),
        second=second.summary(),
        changed=differing.changed,
        conditions=tuple(_change(change, passages) for change in differing.conditions),
        paths=(tuple(first.path), tuple(second.path)),
        gone=tuple(passage_view(passage, passages) for passage in differing.gone),
        new=tuple(passage_view(passage, passages) for passage in differing.new),
        common=differing.common,
        reordered=differing.reordered,
        verdicts=tuple(verdicts),
        answer=tuple(_change(change, passages, 4000) for change in differing.answer),
        costs=differing.costs,
    )


def _change(change: Change, passages: RunPassages, longest: int = LONGEST) -> ChangeView:
    """Files by their names, as a person knows them."""
    first, second = change.first, change.second
    if change.name in ("cited", "files"):
        first, second = ([*map(passages.label, side or ())] for side in (first, second))
    return ChangeView(change.name, value_text(first, longest), value_text(second, longest))


def _verdict(label: str | None, score: float | None) -> str:
    return "none" if label is None else shorten(label, LONGEST) + ("" if score is None else f" {score:.2f}")
