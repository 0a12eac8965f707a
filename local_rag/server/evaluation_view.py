"""What a client sees of evaluations: those that are kept, one with its tables, and the difference of two."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.evaluation import folder as run_folder
from local_rag.evaluation.corpus import FOLDER
from local_rag.runtime.written import written
from local_rag.server.errors import NotFound
from local_rag.text.display import short_path

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.evaluation.comparison import Pairing

REPORT = "report.html"
FAILURES = 50
"""Failures that are named."""


@dataclass(frozen=True, slots=True)
class RightAnswers:
    """Of so many cases with expected answers (`of`) the answers that contain one."""

    right: int
    of: int


@dataclass(frozen=True, slots=True)
class EvaluationSummary:
    """An evaluation in a list. `contained` has each graph that was asked cases with expected answers."""

    id: str
    name: str
    started: str
    finished: str
    cases: int
    graphs: tuple[str, ...]
    modes: tuple[str, ...]
    engine: str
    index: str
    report: bool
    contained: Mapping[str, RightAnswers]


@dataclass(frozen=True, slots=True)
class TableView:
    """A table of figures as texts: the first column holds names, the others numbers. `over` says of what they are.

    `meanings` are (name of a figure, what it is).
    """

    title: str
    over: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    meanings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationView:
    """An evaluation with its figures. `facts` are (name, value); `notes` are to be known before any figure."""

    evaluation: EvaluationSummary
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    tables: tuple[TableView, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """A graph, a mode of retrieval or the router in both runs. `verdicts` say in words what each figure shows."""

    table: TableView
    verdicts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Two runs over the cases that both hold, which `over` says; `only_first` and `only_second` count the others.

    `made` are (name, in the first, in the second).
    """

    first: EvaluationSummary
    second: EvaluationSummary
    over: str
    only_first: int
    only_second: int
    notes: tuple[str, ...]
    made: tuple[tuple[str, str, str], ...]
    tables: tuple[ComparedTable, ...]


def evaluations(settings: Settings) -> dict[str, Path]:
    """The folders of the runs that are kept, by their IDs, the last one first.

    Those of the data folder have the name of their folder as an ID, others a digest of their path.
    """
    own = {run.parent.name: run.parent for run in (settings.data_folder / FOLDER).glob(f"*/{run_folder.MANIFEST}")}
    known = {path.resolve() for path in own.values()}
    others = [Path(entry.path) for entry in written(settings.data_folder) if entry.kind == "run"]
    elsewhere = {
        hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:20]: path
        for path in others
        if (path / run_folder.MANIFEST).is_file() and path.resolve() not in known
    }
    return own | elsewhere


def named(settings: Settings, evaluation: str) -> Path:
    """The folder of a run by its ID. Raises NotFound."""
    folder = evaluations(settings).get(evaluation)
    if folder is None:
        raise NotFound(f"there is no evaluation {evaluation!r}", "GET /api/evaluations lists them")
    return folder


def summaries(settings: Settings) -> list[EvaluationSummary]:
    """All that can be read, the last one first."""
    read = (_summary(name, path) for name, path in evaluations(settings).items())
    return sorted(filter(None, read), key=lambda summary: summary.started, reverse=True)


def evaluation_view(name: str, path: Path) -> EvaluationView:
    """One evaluation; of one that was stopped the figures of what there is. Raises UsageError, NotFound."""
    from local_rag.evaluation.reports.facts import facts, failure_lines, missing, warnings
    from local_rag.evaluation.reports.tables import tables
    from local_rag.evaluation.summary import summary

    run, about = run_folder.RunFolder.open(path), _summary(name, path)
    if about is None:
        raise NotFound(f"the evaluation {name!r} cannot be read")
    figures = summary(run.cases, run.records, run.manifest["depth"])
    begun = (
        [] if run.manifest.get("finished") else ["It is not finished: starting it again continues where it stopped."]
    )
    return EvaluationView(
        about,
        tuple(facts(run.manifest)),
        tuple([*begun, *warnings(run.manifest, run.cases), *missing(run.manifest, figures)]),
        tuple(
            TableView(
                table.title,
                table.over,
                table.head,
                table.rows,
                tuple((column.head, column.meaning) for column in table.columns if column.meaning),
            )
            for table in (each.narrowed() for each in tables(figures))
        ),
        tuple(failure_lines(figures, FAILURES)),
    )


def comparison_view(settings: Settings, first: str, second: str) -> ComparisonView:
    """Two evaluations by their IDs. Raises NotFound, and UsageError for two that have nothing in common."""
    from local_rag.evaluation.comparison import compare

    folder_a, folder_b = named(settings, first), named(settings, second)
    comparison = compare(folder_a, folder_b)
    before, after = _summary(first, folder_a), _summary(second, folder_b)
    assert before and after, "compare has read both"
    return ComparisonView(
        before,
        after,
        comparison.over,
        comparison.only_a,
        comparison.only_b,
        tuple(comparison.notes),
        tuple((entry.name, _value(entry.a), _value(entry.b)) for entry in comparison.made),
        tuple(map(_compared, comparison.paired)),
    )


def _summary(name: str, path: Path) -> EvaluationSummary | None:
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        manifest = json.loads((path / run_folder.MANIFEST).read_text(encoding="utf-8"))
        return EvaluationSummary(
            id=name,
            name=str(manifest["name"]),
            started=str(manifest["started"]),
            finished=str(manifest.get("finished") or ""),
            cases=int(manifest["cases"]["used"]),
            graphs=tuple(manifest["graphs"]),
            modes=tuple(manifest["modes"]),
            engine=str(manifest["engine"]["describe"]),
            index=short_path(manifest["index"]["path"]),
            report=(path / REPORT).is_file(),
            contained=_contained(path),
        )
    return None


def _contained(path: Path) -> dict[str, RightAnswers]:
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        graphs = json.loads((path / "report.json").read_text(encoding="utf-8"))["summary"]["graphs"]
        answers = {graph: figures["answers"] for graph, figures in graphs.items() if figures["answers"]["cases"]}
        return {
            graph: RightAnswers(round(figures["containment"] * figures["cases"]), figures["cases"])
            for graph, figures in answers.items()
        }
    return {}


def _compared(pairing: Pairing) -> ComparedTable:
    from local_rag.evaluation.difference import HEAD, MEANINGS, cells
    from local_rag.evaluation.measures import MEASURES

    rows: Sequence[tuple[str, ...]] = [cells(figure) for figure in pairing.figures]
    meanings = [(figure.title, MEASURES[figure.measure].meaning) for figure in pairing.figures]
    over = pairing.lost and f"Left out: {pairing.lost}."
    table = TableView(pairing.title, over, HEAD, tuple(rows), (*MEANINGS, *meanings))
    return ComparedTable(table, tuple((figure.title, figure.verdict) for figure in pairing.figures))


def _value(value: object) -> str:
    return "none" if value in (None, "") else str(value)
