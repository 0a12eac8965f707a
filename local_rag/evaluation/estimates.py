"""Figures of one graph of a run, each with the interval in which it lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.measures import MEASURES
from local_rag.evaluation.statistics import balanced_interval, bootstrap_interval, mean

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case
    from local_rag.evaluation.folder import RunFolder

BALANCED = "balanced"
"""Balanced accuracy: no mean over cases, but of the share answered and the share refused."""

FIGURES = (BALANCED, *("answered refused short_f1 containment citation_precision grading seconds".split()))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure over so many cases, with its 95 % interval by bootstrap; no limits below two cases."""

    value: float
    low: float | None
    high: float | None
    cases: int


def estimates(
    folder: RunFolder, graph: str, seed: int = 0, only: Iterable[str] | None = None, names: Sequence[str] = FIGURES
) -> dict[str, Estimate]:
    """The figures that apply, over the cases that did not fail, or over those of the ids in `only`."""
    pairs = answered_pairs(folder, graph, only)
    made = {name: _estimate(name, pairs, seed) for name in names}
    return {name: estimate for name, estimate in made.items() if estimate is not None}


def difference_between(a: tuple[RunFolder, str], b: tuple[RunFolder, str], name: str, seed: int = 0) -> Estimate | None:
    """How much more B reaches than A, each a run and a graph of it, over the cases that both answered without failure.

    None where the figure applies to no case.
    """
    records_b = {case.id: record for case, record in answered_pairs(*b)}
    both = [(case, record, records_b[case.id]) for case, record in answered_pairs(*a) if case.id in records_b]
    groups = [
        [after - before for before, after in pairs if before is not None and after is not None]
        for of in (MEASURES[part].of for part in (("answered", "refused") if name == BALANCED else (name,)))
        for pairs in [[(of(case, record), of(case, other)) for case, record, other in both]]
    ]
    if not all(groups):
        return None
    value = sum(sum(group) / len(group) for group in groups) / len(groups)
    return _of(value, balanced_interval(groups, seed), sum(map(len, groups)))


def answered_pairs(
    folder: RunFolder, graph: str, only: Iterable[str] | None = None
) -> list[tuple[Case, Mapping[str, Any]]]:
    """The cases that a graph was asked, each with its record, without failures."""
    wanted = None if only is None else set(only)
    pairs: list[tuple[Case, Mapping[str, Any]]] = []
    for case in folder.cases:
        key = ("answer", case.id, graph)
        if (wanted is None or case.id in wanted) and folder.has(key):
            pairs.append((case, folder.record(key)))
    return pairs


def _estimate(name: str, pairs: Sequence[tuple[Case, Mapping[str, Any]]], seed: int) -> Estimate | None:
    if name != BALANCED:
        values = _values(name, pairs)
        return _of(mean(values), bootstrap_interval(values, seed), len(values)) if values else None
    groups = [_values("answered", pairs), _values("refused", pairs)]
    if not all(groups):
        return None
    means = [sum(group) / len(group) for group in groups]
    return _of(sum(means) / 2, balanced_interval(groups, seed), sum(map(len, groups)))


def _values(name: str, pairs: Sequence[tuple[Case, Mapping[str, Any]]]) -> list[float]:
    of = MEASURES[name].of
    return [value for case, record in pairs if (value := of(case, record)) is not None]


def _of(value: float | None, interval: tuple[float, float] | None, cases: int) -> Estimate:
    low, high = interval or (None, None)
    return Estimate(value or 0.0, low, high, cases)
