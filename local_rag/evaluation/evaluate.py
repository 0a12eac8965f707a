"""Run an evaluation: ask every case that the run folder does not contain yet, and write the reports.

Nothing leaves this machine: the web is off, whatever the settings say, and a fallback corpus takes its place.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core.errors import EngineError, ModelMissing, UsageError
from local_rag.core.private_files import make_folder
from local_rag.core.progress import Display
from local_rag.core.serialization import to_json
from local_rag.evaluation import page
from local_rag.evaluation.cases import SHAPE, Case
from local_rag.evaluation.figures import summary
from local_rag.evaluation.folder import FIGURES, FOLDER, MANIFEST, REPORT, RunFolder, held, write_text
from local_rag.evaluation.manifest import differences, manifest_of, name_of
from local_rag.evaluation.matching import lookup
from local_rag.evaluation.runner import Plan, Runner
from local_rag.evaluation.sets import CaseSet, indexed_corpus, sampled
from local_rag.runtime.opening import loading, part_embedded
from local_rag.runtime.rag import Rag
from local_rag.runtime.written import enter
from local_rag.text.display import plural, printable, short_path, shorten

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.engines.language_model.judge import Judge


@dataclass(frozen=True)
class Evaluation:
    """Hold a run with its figures; `error` is what ended it early."""

    folder: RunFolder
    summary: dict[str, Any]
    error: EngineError | None = None

    @property
    def failed(self) -> bool:
        """Return whether every question failed."""
        records = self.folder.records
        return bool(records) and all("error" in record for record in records)


def evaluate(settings: Settings, cases: CaseSet, plan: Plan, display: Display) -> Evaluation:
    """Ask every case, or those that are left, and write the reports.

    Raise UsageError for cases that cannot be used, for a folder with another run, and for a run that another process
    continues.
    """
    if plan.corpus:
        settings = indexed_corpus(cases, settings, display)
    used = sampled(cases.cases, plan.limit, plan.seed)
    if not plan.graphs and not any(case.relevant for case in used):
        raise UsageError("no case names anything relevant, so there is nothing to rank", hint=SHAPE)
    with Rag.open(settings, display=display) as rag:
        for line in (rag.choice.lines[0], *rag.choice.note.splitlines(), *_void(rag)) if plan.graphs else ():
            display.say(line)
        indexes = [rag.index, *([rag.fallback_corpus.index] if rag.fallback_corpus else [])]
        if plan.graphs or set(plan.modes) != {"words"}:
            for index in indexes:
                why = "so the figures would not be those of the whole index"
                part_embedded(rag.settings, index.status(), why)
        manifest = manifest_of(cases, used, plan, rag)
        path = _place(manifest, used, plan.out, settings)
        with held(path):
            folder = _begun(path, manifest)
            for line in _unknown_files(used, [file.path for index in indexes for file in index.files()]):
                display.say(line)
            if rag.embedder is not None:  # its weights are no part of the first search
                if not rag.embedder.ready:
                    display.say(f"{loading(rag.embedder.name)}…")
                rag.embedder.load()
            enter(settings.data_folder, "run", path, index=rag.index.path, others=rag.folders[1:])
            error = _run(rag, folder, plan, display)
            if error is None:
                folder.finish(finished=time.strftime("%Y-%m-%dT%H:%M:%S%z"))
            return Evaluation(folder, write_reports(folder), error)


def _void(rag: Rag) -> Iterator[str]:
    if void := rag.void_calibration:
        yield f"note: {void.line}"


def _place(manifest: dict[str, Any], used: Sequence[Case], out: Path | None, settings: Settings) -> Path:
    """Return the folder of this run, which is created unless it contains a run."""
    runs = settings.data_folder / FOLDER
    if out is None:
        make_folder(runs)
    path = (out or runs / name_of(manifest)).expanduser()
    if not (path / MANIFEST).is_file():
        RunFolder.create(path, manifest, used)
    return path


def _begun(path: Path, manifest: dict[str, Any]) -> RunFolder:
    """Open the run of a folder to continue it; raise UsageError for another run.

    Graphs, modes and a judge may be added.
    """
    folder = RunFolder.open(path)
    if different := differences(folder.manifest, manifest):
        more = f", and {len(different) - 3} more" if len(different) > 3 else ""
        raise UsageError(
            f"{short_path(path)} holds another run: it differs in {', '.join(different[:3])}{more}",
            hint="choose another --out, or leave it out",
        )
    added = {name: list(dict.fromkeys([*folder.manifest[name], *manifest[name]])) for name in ("graphs", "modes")}
    folder.finish(finished=None, judge=manifest["judge"] or folder.manifest["judge"], **added)
    return folder


def _run(rag: Rag, folder: RunFolder, plan: Plan, display: Display) -> EngineError | None:
    """Ask what is left, and return the error that ended the run early, if any."""
    judge = _judge_of(rag.settings, plan.judge) if plan.judge else None
    try:
        with display.progress() as show:
            Runner(rag, folder, plan, judge).run(show)
    except EngineError as error:
        return error
    finally:
        engines = [rag.engine, *([judge.engine] if judge else [])]
        for note in dict.fromkeys(note for engine in engines for note in getattr(engine, "notes", ())):
            display.say(f"note: {note}")
        if judge is not None:
            judge.engine.close()
    return None


def _judge_of(settings: Settings, model: str) -> Judge:
    """Return the judge; raise ModelMissing with the option that names its model."""
    from local_rag.engines.language_model.judge import Judge
    from local_rag.runtime.engine_choice import open_ollama

    values = settings.values.model_copy(update={"model": model})
    try:
        return Judge(open_ollama(replace(settings, values=values, origin={**settings.origin, "model": "--judge"})))
    except ModelMissing as error:
        raise ModelMissing(str(error), hint=error.hint.replace("--model", "--judge")) from error


def _unknown_files(cases: Sequence[Case], paths: Sequence[str]) -> Iterator[str]:
    """Yield notes on files that cases name and the index does not have, or has several of."""
    paths_of = lookup(paths)
    found = {target.file: len(paths_of(target.file)) for case in cases for target in case.relevant if target.file}
    absent, ambiguous = (sorted(filter(test, found)) for test in (lambda f: not found[f], lambda f: found[f] > 1))
    if ambiguous:
        name = shorten(printable(ambiguous[0]), 60)
        yield f"note: {name} matches several files of the index; name more of its path, or each of them counts"
    if absent:
        count = sum(any(target.file in absent for target in case.relevant) for case in cases)
        yield (
            f"note: {count} of {plural(len(cases), 'case')} {'names' if count == 1 else 'name'} a file that is not in "
            f"the index, such as {shorten(printable(absent[0]), 60)}; no search can find it"
        )


def write_reports(folder: RunFolder) -> dict[str, Any]:
    """Write report.json and report.html anew from the records, and return the figures."""
    manifest, cases, records = folder.manifest, folder.cases, folder.records
    figures = summary(cases, records)
    write_text(folder.path / FIGURES, to_json({"run": manifest, "summary": figures}) + "\n")
    write_text(folder.path / REPORT, page.report(manifest, cases, records, figures))
    return figures
