"""Two runs compared case by case: what differs in how they were made, and in which figures, and whether by chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_rag.core.errors import UsageError
from local_rag.evaluation.cases import Case
from local_rag.evaluation.difference import Difference, corrected, difference
from local_rag.evaluation.evaluator_facts import other_evaluators
from local_rag.evaluation.folder import Key, RunFolder, key_of
from local_rag.evaluation.manifest import flat
from local_rag.evaluation.measures import MEASURES, RecordKind
from local_rag.evaluation.reports.facts import parts_embedded
from local_rag.evaluation.requirements import must_have_extra
from local_rag.text.display import joined, plural, short_path

_COMPARED = (
    "cases limit seed k depth engine evaluator gold judge index fallback_corpus settings models_yaml versions".split()
)
_LEFT_OUT = set("cases.path cases.total index.path fallback_corpus.path engine.why models_yaml.text".split())
"""Says nothing of the figures."""

_KINDS: Mapping[str, tuple[RecordKind, ...]] = {
    "graphs": ("answer", "judgement"),
    "retrieval": ("retrieval",),
    "router": ("route",),
}
"""What is paired, and the kinds of records that it has."""


@dataclass(frozen=True)
class ManifestDifference:
    """Something that differs in how two runs were made: a dotted name of run.json and both values."""

    name: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Pairing:
    """What was compared: a graph of A with one of B, or a mode of retrieval; `a` and `b` are empty for the router.

    `lost_a` counts the cases that failed or were not asked in A; they are in none of the figures. The p-values are
    corrected for the number of figures here that differ anywhere.
    """

    what: str
    a: str
    b: str
    lost_a: int
    lost_b: int
    figures: tuple[Difference, ...]

    @property
    def title(self) -> str:
        """What the figures are of: "Answers, plain", "Retrieval, hybrid" or "The router"."""
        if not self.a:
            return f"The {self.what}"
        names = self.a if self.a == self.b else f"{self.a} (A) and {self.b} (B)"
        return f"{'Answers' if self.what == 'graphs' else 'Retrieval'}, {names}"

    @property
    def lost(self) -> str:
        """How many cases are in none of the figures because they failed or were not asked; "" for none."""
        return joined(
            [
                f"{plural(count, 'case')} failed or {'was' if count == 1 else 'were'} not asked in {side}"
                for side, count in (("A", self.lost_a), ("B", self.lost_b))
                if count
            ]
        )


@dataclass(frozen=True)
class Comparison:
    """Two runs over the cases that both hold; `only_a` and `only_b` count the others. A case is the same where its
    question is. `relabelled` of the common ones have other labels in A than in B.

    `partial` says of each run whose index was embedded in part how much was, `evaluators` that the passages were not
    read by the same evaluator, if so. `alone` names graphs and modes that only one run has, and in which.
    """

    a: Path
    b: Path
    cases: int
    only_a: int
    only_b: int
    relabelled: int
    made: tuple[ManifestDifference, ...]
    partial: tuple[str, ...]
    evaluators: str
    alone: tuple[str, ...]
    seed: int
    paired: tuple[Pairing, ...]

    @property
    def over(self) -> str:
        """Which cases the figures are of, in a sentence or two."""
        if not self.only_a and not self.only_b:
            return f"Both have the same {plural(self.cases, 'case')}."
        only = ", ".join(f"{n:,} only in {side}" for side, n in (("A", self.only_a), ("B", self.only_b)) if n)
        return f"Their questions differ: {only}. Compared: the {plural(self.cases, 'case')} in both."

    @property
    def notes(self) -> Sequence[str]:
        """What else is to be known before any figure."""
        relabelled = f"{plural(self.relabelled, 'case')} with other labels in A than in B, each measured by its own."
        alone = f"Not compared: {joined(self.alone)}."
        return [
            *[relabelled] * bool(self.relabelled),
            *filter(None, (self.evaluators, *self.partial)),
            *[alone] * bool(self.alone),
        ]


@dataclass(frozen=True)
class _Run:
    """A run with its records by key, in the order in which they were asked."""

    folder: RunFolder
    records: Mapping[Key, Mapping[str, Any]]
    cases: Mapping[str, Case]

    @classmethod
    def open(cls, path: Path) -> _Run:
        folder = RunFolder.open(path)
        return cls(
            folder, {key_of(record): record for record in folder.records}, {case.id: case for case in folder.cases}
        )

    def names(self, what: str) -> list[str]:
        """The graphs or modes of which it has records."""
        return list(dict.fromkeys(name for kind, _, name in self.records if kind == _KINDS[what][0]))


def compare(
    folder_a: Path, folder_b: Path, seed: int = 0, graph_a: str | None = None, graph_b: str | None = None
) -> Comparison:
    """Pair the cases of two runs, graph by graph and mode by mode, or only those two that are named.

    A name is that of a graph or of a mode of retrieval; one alone is meant for both runs. The same folder twice
    compares two of its own. Raises UsageError for a folder without a run, and for runs with nothing to pair.
    """
    must_have_extra()
    a, b = _Run.open(folder_a), _Run.open(folder_b)
    common = _common(a, b)
    chosen = _chosen(a, b, graph_a or graph_b, graph_b or graph_a)
    pairings = [_pairing(a, b, common, *names, seed) for names in chosen]
    paired = [pairing for pairing in pairings if pairing.figures]
    if not paired:
        raise UsageError(
            f"{folder_a} and {folder_b} have no case that succeeded in both",
            hint="local-rag eval CASES --out DIR continues a run",
        )
    return Comparison(
        a=a.folder.path,
        b=b.folder.path,
        cases=len(common),
        only_a=len(a.cases) - len(common),
        only_b=len(b.cases) - len(common),
        relabelled=sum(a.cases[case] != b.cases[case] for case in common),
        partial=tuple(_partial(a, b)),
        evaluators=other_evaluators(a.folder.manifest, b.folder.manifest),
        made=tuple(_manifest_differences(a.folder.manifest, b.folder.manifest)),
        alone=() if graph_a or graph_b else tuple(_alone(a, b, chosen)),
        seed=seed,
        paired=tuple(paired),
    )


def _common(a: _Run, b: _Run) -> list[str]:
    """The ids under which both runs hold the same question. Raises UsageError where there are none."""
    common = [name for name, case in a.cases.items() if name in b.cases and b.cases[name].question == case.question]
    if not common:
        raise UsageError(
            f"the two runs have no case in common: A has {len(a.cases):,} and B {len(b.cases):,}, of other questions",
            hint="compare runs over the same cases",
        )
    return common


def _chosen(a: _Run, b: _Run, name_a: str | None, name_b: str | None) -> list[tuple[str, str, str]]:
    """What is paired: (what, its name in A, its name in B). Raises UsageError where that is nothing."""
    if name_a and name_b:
        what, other = _what(a, name_a), _what(b, name_b)
        if what != other:
            raise UsageError(
                f"{name_a} and {name_b} cannot be compared: one answers, the other only searches",
                hint="--graph-a and --graph-b name two graphs, or two modes of retrieval",
            )
        pairs = [(what, name_a, name_b)]
    else:
        pairs = [(what, *names) for what in _KINDS for names in _alike(a.names(what), b.names(what))]
    if a.folder.path.resolve() == b.folder.path.resolve() and all(in_a == in_b for _, in_a, in_b in pairs):
        raise UsageError("A and B are the same run", hint=_two_of(a))
    if not pairs:
        raise UsageError(f"the runs have no graph in common: A has {_has(a)}; B has {_has(b)}", hint=_NAMED)
    return pairs


_NAMED = "local-rag eval compare A B --graph-a NAME --graph-b NAME"


def _partial(a: _Run, b: _Run) -> Iterator[str]:
    for run, side in ((a, "A"), (b, "B")):
        yield from (f"{side}: {line}" for line in parts_embedded(run.folder.manifest))


def _alike(names_a: Sequence[str], names_b: Sequence[str]) -> list[tuple[str, str]]:
    """Names that both have; where each has a single one, these two."""
    if len(names_a) == len(names_b) == 1:
        return [(names_a[0], names_b[0])]
    return [(name, name) for name in names_a if name in names_b]


def _alone(a: _Run, b: _Run, chosen: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    for run, side, taken in ((a, "A", {pair[1] for pair in chosen}), (b, "B", {pair[2] for pair in chosen})):
        names = [name for what in ("graphs", "retrieval") for name in run.names(what)]
        yield from (f"{name} (only in {side})" for name in names if name not in taken)


def _what(run: _Run, name: str) -> str:
    for what in ("graphs", "retrieval"):
        if name in run.names(what):
            return what
    raise UsageError(f"{run.folder.path} contains no graph or mode {name!r}; it contains {_has(run)}", hint=_NAMED)


def _has(run: _Run) -> str:
    return joined([*run.names("graphs"), *run.names("retrieval")]) or "nothing yet"


def _two_of(run: _Run) -> str:
    """The command that compares two graphs or modes of one run."""
    for what in ("graphs", "retrieval"):
        if len(names := run.names(what)) > 1:
            where = short_path(run.folder.path)
            return f"local-rag eval compare {where} {where} --graph-a {names[0]} --graph-b {names[1]}"
    return "name two runs"


def _pairing(a: _Run, b: _Run, common: Sequence[str], what: str, name_a: str, name_b: str, seed: int) -> Pairing:
    """Every measure of the cases that did not fail on either side."""
    kinds = _KINDS[what]
    good: dict[str, list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]] = {kind: [] for kind in kinds}
    lost_a = lost_b = 0
    for kind in kinds:
        for case in common:
            record_a, record_b = a.records.get((kind, case, name_a)), b.records.get((kind, case, name_b))
            missing_a, missing_b = _missing(record_a), _missing(record_b)
            if record_a and record_b and not (missing_a or missing_b):
                good[kind].append((case, record_a, record_b))
            elif kind == kinds[0] and (record_a or record_b):
                lost_a += missing_a
                lost_b += missing_b
    figures = []
    for measure in MEASURES.values():
        pairs = (
            (measure.of(a.cases[case], record_a), measure.of(b.cases[case], record_b))
            for case, record_a, record_b in good.get(measure.record, ())
        )
        values = [(left, right) for left, right in pairs if left is not None and right is not None]
        if figure := difference(measure, values, seed):
            figures.append(figure)
    return Pairing(what, name_a, name_b, lost_a, lost_b, corrected(figures))


def _missing(record: Mapping[str, Any] | None) -> bool:
    return record is None or "error" in record


def _manifest_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[ManifestDifference]:
    """What differs, apart from times, paths and commands; settings go by their own names, as `config show` has them."""
    left, right = (
        {
            name.removeprefix("settings."): value
            for name, value in flat({key: manifest.get(key) for key in _COMPARED}).items()
        }
        for manifest in (a, b)
    )
    for name in dict.fromkeys([*left, *right]):
        if name not in _LEFT_OUT and left.get(name) != right.get(name):
            yield ManifestDifference(name, left.get(name), right.get(name))
