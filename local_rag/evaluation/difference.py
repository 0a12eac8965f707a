"""One measure of two runs compared: how much they differ, whether that may be chance, and a verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from local_rag.evaluation.measures import MEASURES, Measure
from local_rag.evaluation.statistics import bootstrap_interval, holm, mcnemar, mean, sign_flip
from local_rag.text.display import plural

SURE = 0.05
"""The p-value, after correction, below which a difference is called one."""
HEAD = ("", "cases", "A", "B", "B - A", "95 % interval", "corrected p")
MEANINGS = (
    (HEAD[5], "where B - A lies with a probability of 95 %, had other cases of the same kind been asked"),
    (HEAD[6], "how likely so large a difference is by chance alone; below 0.05 it is called a difference"),
)


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
    differences = [b - a for a, b in pairs]
    differ = sum(value != 0 for value in differences)
    interval = bootstrap_interval(differences, seed)
    only_a = sum(value < 0 for value in differences) if measure.binary else None
    only_b = sum(value > 0 for value in differences) if measure.binary else None
    p = None
    if differ:
        p = sign_flip(differences, seed) if only_a is None or only_b is None else mcnemar(only_a, only_b)
    return Difference(
        measure=measure.name,
        title=measure.title,
        cases=len(pairs),
        differ=differ,
        mean_a=mean([a for a, _ in pairs]) or 0.0,
        mean_b=mean([b for _, b in pairs]) or 0.0,
        difference=mean(differences) or 0.0,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        only_a=only_a,
        only_b=only_b,
        p=p,
    )


def cells(figure: Difference) -> tuple[str, ...]:
    """A difference as a row of the table under `HEAD`."""
    measure = MEASURES[figure.measure]
    limits = [amount(measure, limit, "+") for limit in (figure.low, figure.high) if limit is not None]
    return (
        figure.title,
        f"{figure.cases:,}",
        amount(measure, figure.mean_a),
        amount(measure, figure.mean_b),
        amount(measure, figure.difference, "+") if figure.differ else "same",
        " to ".join(limits) if figure.differ and limits else "-",
        "-" if figure.adjusted is None else p_text(figure.adjusted).removeprefix("p ").removeprefix("= "),
    )


def corrected(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """The differences with p-values corrected for their number, each with its verdict in words.

    A figure that is the same in every case was not tested and does not count.
    """
    adjusted = iter(holm([figure.p for figure in differences if figure.p is not None]))
    tested = sum(figure.p is not None for figure in differences)
    figures = (figure if figure.p is None else replace(figure, adjusted=next(adjusted)) for figure in differences)
    return tuple(replace(figure, verdict=verdict_of(MEASURES[figure.measure], figure, tested)) for figure in figures)


def verdict_of(measure: Measure, figure: Difference, tested: int) -> str:
    """What a person should take from a difference; `tested` is the number of figures that it was corrected for."""
    cases = plural(figure.cases, "case")
    if figure.p is None or figure.adjusted is None:
        return f"the same in {'all ' if figure.cases > 1 else ''}{cases}"
    ground = _counts(measure, figure) or f": {p_text(figure.p)}"
    if figure.p >= SURE:
        return f"no difference can be told with {cases}{ground}"
    if figure.adjusted >= SURE:
        return f"{_better(measure, figure)}{ground}; but one of {plural(tested, 'figure')} may look so by chance"
    return f"{_better(measure, figure)}{_counts(measure, figure)}"


def _better(measure: Measure, figure: Difference) -> str:
    """B is better by 0.04 (0.01 to 0.07); for a cost that is not sure, A may need 2.1 s less (0.3 s to 3.9 s)."""
    sure = figure.adjusted is not None and figure.adjusted < SURE
    winner = "B" if (figure.difference > 0) == (measure.better == "more") else "A"
    sign = 1 if figure.difference > 0 else -1
    limits = sorted({sign * limit for limit in (figure.low, figure.high) if limit is not None})
    spread = f" ({' to '.join(amount(measure, limit) for limit in limits)})" if len(limits) == 2 else ""
    size = amount(measure, abs(figure.difference))
    if measure.better == "less":
        return f"{winner} {'needs' if sure else 'may need'} {size} less{spread}"
    return f"{winner} {'is' if sure else 'may be'} better by {size}{spread}"


def _counts(measure: Measure, figure: Difference) -> str:
    """The two counts behind McNemar's test, with its p-value."""
    if figure.only_a is None or figure.only_b is None or figure.p is None:
        return ""
    a, b = plural(figure.only_a, "case"), f"{figure.only_b:,}"
    return f": A {measure.did} in {a} where B did not, B in {b} where A did not, {p_text(figure.p)}"


def p_text(p: float) -> str:
    """A p-value as it is written: p = 0.034."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def amount(measure: Measure, value: float, sign: str = "") -> str:
    """A value of a measure in its own unit; with the sign "+" both signs are written."""
    digits, unit = {"share": 3, "number": 2, "tokens": 0, "seconds": 2}[measure.kind], ""
    if measure.kind == "seconds":
        value, digits, unit = (value * 1000, 1, " ms") if abs(value) < 0.1 else (value, digits, " s")
    return f"{round(value, digits) + 0.0:{sign},.{digits}f}{unit}"  # + 0.0: there is no -0.000
