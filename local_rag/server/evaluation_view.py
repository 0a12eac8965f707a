"""What a client sees of the evaluations that are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
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

REPORT = "report.html"


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
