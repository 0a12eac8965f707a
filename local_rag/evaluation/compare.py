"""Compare two runs case by case: their conditions, their figures, and whether differences may be chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from local_rag.core.errors import UsageError
from local_rag.evaluation.curves import Pair
from local_rag.evaluation.figures import FIGURES, KINDS, Figure, good_pairs
from local_rag.evaluation.folder import RunFolder
from local_rag.evaluation.manifest import conditions
from local_rag.evaluation.report import FORMS, NONE, share
from local_rag.evaluation.statistics import bootstrap_interval, holm, mcnemar, mean, sign_flip
from local_rag.text.display import joined, plural, short_path

SURE = 0.05
"""The corrected p-value below which a difference is reported as one."""

HEAD = ("", "cases", "A", "B", "B - A", "95 % interval", "ahead", "p", "")
HOW = (
    "ahead: in how many cases A does better, and B. p: how likely so large a difference is by chance alone, by exact "
    "McNemar where a case is right or wrong, else by randomisation, corrected for the number of figures that differ in "
    f"its table (Holm); a difference is called one below {SURE:g}. Intervals: bootstrap, 95 %."
)

_NAMED = "local-rag eval compare A B --graph-a NAME --graph-b NAME"


@dataclass(frozen=True)
class Difference:
    """Compare a figure over the `cases` to which it applies in both runs.

    `difference` is the mean of B - A, `low` to `high` its 95 % interval (None for a single case). `ahead_a` and
    `ahead_b` count the cases in which that run does better. `p` is the probability of so large a difference if A and B
    were equally good, None if nothing differs; `corrected` allows for the number of figures tested.
    """

    group: str
    name: str
    cases: int
    mean_a: float
    mean_b: float
    difference: float
    low: float | None
    high: float | None
    ahead_a: int
    ahead_b: int
    p: float | None
    corrected: float | None = None

    @property
    def verdict(self) -> str:
        """Return what a person should conclude from the difference."""
        if self.corrected is None or self.corrected >= SURE:
            return "may be chance"
        return f"{'B' if (self.difference > 0) == (self.figure.better == 'more') else 'A'} is better"

    @property
    def title(self) -> str:
        return f"{self.group}: {self.name}"

    @property
    def figure(self) -> Figure:
        """Return the figure that is compared."""
        return next(figure for figure in FIGURES if (figure.group, figure.name) == (self.group, self.name))


@dataclass(frozen=True)
class Pairing:
    """Compare a graph of A with one of B, or two modes of retrieval, or the router.

    `lost_a` counts the cases that failed or were not asked in A; no figure includes them.
    """

    kind: str
    a: str
    b: str
    lost_a: int
    lost_b: int
    figures: tuple[Difference, ...]

    @property
    def title(self) -> str:
        """Return the names and how many cases are left out: "plain (A) and crag (B)"."""
        names = self.a if self.a == self.b else f"{self.a} (A) and {self.b} (B)"
        both = (("A", self.lost_a), ("B", self.lost_b))
        lost = [f"{plural(count, 'case')} failed or not asked in {side}" for side, count in both if count]
        what = {"retrieval": "Retrieval, ", "route": "Router, expected "}.get(self.kind, "")
        return f"{what}{names}{f' (left out: {joined(lost)})' if lost else ''}"


@dataclass(frozen=True)
class Comparison:
    """Compare two runs over their common cases, which have the same question.

    `only_a` and `only_b` count the other cases; `relabelled` counts common cases whose labels differ. `made` has the
    conditions that differ, both values by dotted names of run.json.
    """

    a: Path
    b: Path
    cases: int
    only_a: int
    only_b: int
    relabelled: int
    made: dict[str, tuple[Any, Any]]
    paired: tuple[Pairing, ...]

    @property
    def notes(self) -> Iterator[str]:
        """Yield which cases the figures cover, and what else a person should know first."""
        only = ", ".join(f"{n:,} only in {side}" for side, n in (("A", self.only_a), ("B", self.only_b)) if n)
        yield f"Compared: {plural(self.cases, 'case')}{f'; left out: {only}' if only else ', the same in both'}."
        if self.relabelled:
            yield f"{plural(self.relabelled, 'case')} with other labels in A than in B, each measured by its own."


def compare(
    folder_a: Path, folder_b: Path, seed: int = 0, graph_a: str | None = None, graph_b: str | None = None
) -> Comparison:
    """Pair the cases of two runs, graph by graph and mode by mode, or only the two that are named.

    A name is that of a graph or of a mode of retrieval; a single name holds for both runs. The same folder twice
    compares two graphs of one run. Raise UsageError for a folder without a run, and for runs with nothing to pair.
    """
    a, b = RunFolder.open(folder_a), RunFolder.open(folder_b)
    cases_a, cases_b = ({case.id: case for case in run.cases} for run in (a, b))
    common = [name for name, case in cases_a.items() if name in cases_b and cases_b[name].question == case.question]
    if not common:
        raise UsageError(
            f"the two runs have no case in common: A has {len(cases_a):,} and B {len(cases_b):,}, of other questions",
            hint="compare runs over the same cases",
        )
    shared = set(common)
    in_a, in_b = (good_pairs([case for case in run.cases if case.id in shared], run.records) for run in (a, b))
    chosen = _chosen(in_a, in_b, graph_a or graph_b, graph_b or graph_a)
    if a.path.resolve() == b.path.resolve() and all(first == second for _, first, second in chosen):
        raise UsageError("A and B are the same run", hint=_NAMED)
    paired = [_pairing(in_a, in_b, *names, seed) for names in chosen]
    if not any(pairing.figures for pairing in paired):
        raise UsageError(
            f"{short_path(a.path)} and {short_path(b.path)} have no case that succeeded in both",
            hint="local-rag eval CASES --out DIR continues a run",
        )
    before, after = (conditions(run.manifest) | {"judge": run.manifest["judge"]} for run in (a, b))
    return Comparison(
        a=a.path,
        b=b.path,
        cases=len(common),
        only_a=len(cases_a) - len(common),
        only_b=len(cases_b) - len(common),
        relabelled=sum(cases_a[case] != cases_b[case] for case in common),
        made={
            name: (before.get(name), after.get(name))
            for name in dict.fromkeys([*before, *after])
            if before.get(name) != after.get(name)
        },
        paired=tuple(pairing for pairing in paired if pairing.figures),
    )


Run = Mapping[tuple[str, str], Sequence[Pair]]


def _chosen(a: Run, b: Run, name_a: str | None, name_b: str | None) -> list[tuple[str, str, str]]:
    """Return the pairs: (kind of record, its name in A, its name in B); raise UsageError if there are none."""
    kinds = ("answer", "retrieval", "route")
    if name_a and name_b:
        pairs = [(kind, name_a, name_b) for kind in kinds if (kind, name_a) in a and (kind, name_b) in b]
    else:
        pairs = [(kind, *both) for kind in kinds for both in _alike(_names(a, kind), _names(b, kind))]
    if not pairs:
        has = [joined(_names(run, "answer") + _names(run, "retrieval")) or "nothing yet" for run in (a, b)]
        problem = f"{name_a} and {name_b} cannot be compared" if name_a else "the runs have no graph in common"
        raise UsageError(f"{problem}: A has {has[0]}; B has {has[1]}", hint=_NAMED)
    return pairs


def _alike(names_a: Sequence[str], names_b: Sequence[str]) -> list[tuple[str, str]]:
    """Return the names that both runs have, or the two names if each run has only one."""
    if len(names_a) == len(names_b) == 1:
        return [(names_a[0], names_b[0])]
    return [(name, name) for name in names_a if name in names_b]


def _names(run: Run, kind: str) -> list[str]:
    return [where for of, where in run if of == kind]


def _pairing(a: Run, b: Run, kind: str, name_a: str, name_b: str, seed: int) -> Pairing:
    """Compare every figure over the cases that failed on neither side."""
    differences: list[Difference] = []
    for figure in FIGURES:
        of = KINDS.get(figure.group, "answer")
        if of == kind or (of, kind) == ("judgement", "answer"):
            in_a, in_b = a.get((of, name_a), ()), b.get((of, name_b), ())
            both = {case.id for case, _ in in_a} & {case.id for case, _ in in_b}
            left, right = (figure.values([pair for pair in side if pair[0].id in both]) for side in (in_a, in_b))
            pairs = [(value, right[case]) for case, value in left.items() if case in right]
            if figure.better and pairs:
                differences.append(_difference(figure, pairs, seed))
    corrected = iter(holm([figure.p for figure in differences if figure.p is not None]))
    figures = [each if each.p is None else replace(each, corrected=next(corrected)) for each in differences]
    asked_a, asked_b = ({case.id for case, _ in side} for side in (a[kind, name_a], b[kind, name_b]))
    return Pairing(kind, name_a, name_b, len(asked_b - asked_a), len(asked_a - asked_b), tuple(figures))


def _difference(figure: Figure, pairs: Sequence[tuple[float, float]], seed: int) -> Difference:
    """Compare the (A, B) values of a figure, without correction."""
    differences = [b - a for a, b in pairs]
    more = sum(value > 0 for value in differences)
    less = sum(value < 0 for value in differences)
    ahead = (less, more) if figure.better == "more" else (more, less)
    binary = {value for pair in pairs for value in pair} <= {0.0, 1.0}
    interval = bootstrap_interval(differences, seed)
    return Difference(
        group=figure.group,
        name=figure.name,
        cases=len(pairs),
        mean_a=mean([a for a, _ in pairs]) or 0.0,
        mean_b=mean([b for _, b in pairs]) or 0.0,
        difference=mean(differences) or 0.0,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        ahead_a=ahead[0],
        ahead_b=ahead[1],
        p=None if not more + less else mcnemar(more, less) if binary else sign_flip(differences, seed),
    )


def cells(each: Difference) -> tuple[str, ...]:
    """Return a difference as a row of the table under `HEAD`."""
    write = FORMS[each.figure.form]
    limits = [value for value in (each.difference, each.low, each.high) if value is not None]
    signed = [f"{'+' if value > 0 else ''}{write(value)}" for value in limits]
    return (
        each.title,
        f"{each.cases:,}",
        write(each.mean_a),
        write(each.mean_b),
        signed[0],
        " to ".join(signed[1:]) or NONE,
        f"{each.ahead_a:,} : {each.ahead_b:,}",
        "< .001" if (each.corrected or 0.0) < 0.001 else share(each.corrected),
        each.verdict,
    )
