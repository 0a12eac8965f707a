"""One figure of two runs, case by case: how much they differ, whether that may be chance, and that in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from local_rag.evaluation.measures import MEASURES, Measure
from local_rag.evaluation.statistics import bootstrap_interval, holm, mcnemar, mean, sign_flip
from local_rag.text.display import plural

SURE = 0.05
"""The p-value, after correction, below which a difference is called one."""


@dataclass(frozen=True)
class Difference:
    """A measure over the `cases` that it applies to in both runs; `differ` of them are not the same.

    `difference` is the mean of B - A, with its 95 % interval (None for a single case). `only_a` and `only_b` count the
    cases in which only one has a 1, None unless the measure is binary. `p` is the chance of so large a difference if A
    and B were equally good, None where nothing differs; `adjusted` is corrected for the number of figures tested.
    """

    measure: str
    title: str
    cases: int
    differ: int
    mean_a: float
    mean_b: float
    difference: float
    low: float | None
    high: float | None
    only_a: int | None = None
    only_b: int | None = None
    p: float | None = None
    adjusted: float | None = None
    verdict: str = ""


def difference(measure: Measure, pairs: Sequence[tuple[float, float]], seed: int) -> Difference | None:
    """The (A, B) values of a measure compared, not yet corrected and without words; None without any."""
    if not pairs:
        return None
    both = [b - a for a, b in pairs]
    differ = sum(one != 0 for one in both)
    interval = bootstrap_interval(both, seed)
    only_a, only_b = (sum(one < 0 for one in both), sum(one > 0 for one in both)) if measure.binary else (None, None)
    p = None
    if differ:
        p = sign_flip(both, seed) if only_a is None or only_b is None else mcnemar(only_a, only_b)
    return Difference(
        measure=measure.name,
        title=measure.title,
        cases=len(pairs),
        differ=differ,
        mean_a=mean([a for a, _ in pairs]) or 0.0,
        mean_b=mean([b for _, b in pairs]) or 0.0,
        difference=mean(both) or 0.0,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        only_a=only_a,
        only_b=only_b,
        p=p,
    )


def worded(found: Sequence[Difference]) -> tuple[Difference, ...]:
    """The same with p-values corrected for their number, and in words.

    What is the same in every case could not have come out as a difference, and does not count among those tested.
    """
    tested = [(place, one.p) for place, one in enumerate(found) if one.p is not None]
    adjusted = dict(zip((place for place, _ in tested), holm([p for _, p in tested]), strict=True))
    corrected = (replace(one, adjusted=adjusted.get(place)) for place, one in enumerate(found))
    return tuple(replace(one, verdict=in_words(MEASURES[one.measure], one, len(tested))) for one in corrected)


def in_words(measure: Measure, found: Difference, tested: int) -> str:
    """What a person should take from it; `tested` is the number of figures that it was corrected for."""
    counts = _counts(measure, found)
    if found.p is None or found.adjusted is None:
        return f"the same in {'all ' if found.cases > 1 else ''}{plural(found.cases, 'case')}"
    if found.p >= SURE:
        return f"no difference can be told with {plural(found.cases, 'case')}{counts or f': {told(found.p)}'}"
    if found.adjusted >= SURE:
        doubt = f"but one of {plural(tested, 'figure')} may look so by chance"
        return f"{_better(measure, found)}{counts or f': {told(found.p)}'}; {doubt}"
    return f"{_better(measure, found)}{counts}"


def _better(measure: Measure, found: Difference) -> str:
    """B is better by 0.04 (0.01 to 0.07); for a cost that is not sure, A may need 2.1 s less (0.3 s to 3.9 s)."""
    sure = found.adjusted is not None and found.adjusted < SURE
    winner = "B" if (found.difference > 0) == (measure.better == "more") else "A"
    limits = sorted(one if found.difference > 0 else -one for one in (found.low, found.high) if one is not None)
    spread = f" ({' to '.join(amount(measure, one) for one in limits)})" if len(set(limits)) == 2 else ""
    much = amount(measure, abs(found.difference))
    if measure.better == "less":
        return f"{winner} {'needs' if sure else 'may need'} {much} less{spread}"
    return f"{winner} {'is' if sure else 'may be'} better by {much}{spread}"


def _counts(measure: Measure, found: Difference) -> str:
    """The two counts behind McNemar's test, with its p-value."""
    if found.only_a is None or found.only_b is None or found.p is None:
        return ""
    a, b = plural(found.only_a, "case"), f"{found.only_b:,}"
    return f": A {measure.did} in {a} where B did not, B in {b} where A did not, {told(found.p)}"


def told(p: float) -> str:
    """A p-value as it is written: p = 0.034."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def amount(measure: Measure, value: float, sign: str = "") -> str:
    """A value of a measure in its own unit; with the sign "+" both signs are written."""
    digits, unit = {"share": 3, "number": 2, "tokens": 0, "seconds": 2}[measure.kind], ""
    if measure.kind == "seconds":
        value, digits, unit = (value * 1000, 1, " ms") if abs(value) < 0.1 else (value, digits, " s")
    return f"{round(value, digits) + 0.0:{sign},.{digits}f}{unit}"  # + 0.0: there is no -0.000
