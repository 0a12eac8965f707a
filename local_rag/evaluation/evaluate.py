"""An evaluation as a door does it: cases, the index to ask, progress on stderr, figures on stdout, reports in a folder.

Nothing leaves this machine: the web is off, whatever the settings say.
"""

from __future__ import annotations

import sys
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core.errors import EngineError, ModelMissing, UsageError
from local_rag.evaluation.cases import SHAPE
from local_rag.evaluation.corpus import FOLDER, index_of
from local_rag.evaluation.folder import MANIFEST, RunFolder, held, write_text
from local_rag.evaluation.formats import open_cases, sampled
from local_rag.evaluation.manifest import differences, manifest_of, name_of
from local_rag.evaluation.matching import same_file
from local_rag.evaluation.runner import Plan, Progress, Runner
from local_rag.runtime.indexing import sync_progress
from local_rag.runtime.rag import Rag, open_embedder
from local_rag.runtime.run import loading
from local_rag.terminal.live import say_engine
from local_rag.terminal.progress import LINE_EVERY, TerminalDisplay
from local_rag.terminal.show import columns_of, write, write_json
from local_rag.text.display import plural, printable, short_path, shorten

if TYPE_CHECKING:
    from rich.console import Console

    from local_rag.config.settings import Settings
    from local_rag.engines.ollama.judge import Examiner
    from local_rag.evaluation.cases import Case, CaseSet


@dataclass(frozen=True)
class Wish:
    """What a person asked for; `paths` are the cases, of which the demo has its own."""

    paths: tuple[Path, ...]
    format: str | None = None
    split: str | None = None
    corpus: bool = False
    demo: bool = False
    out: Path | None = None
    command: tuple[str, ...] = ()


def evaluate(settings: Settings, wish: Wish, plan: Plan, console: Console, *, json: bool = False) -> int:
    """Ask every case, or what is left of it, and write the reports; 0, or 1 where every single question failed.

    Raises UsageError for cases that cannot be used and for a folder that holds another run.
    """
    cases, settings = _prepared(settings, wish, plan, console)
    used = sampled(cases.cases, plan.limit, plan.seed)
    if not plan.graphs and not any(case.relevant for case in used):
        raise UsageError("no case names a relevant place, so there is nothing to rank", hint=SHAPE)
    with Rag.open(settings) as rag:
        if plan.graphs:
            say_engine(console, rag)
        folder = _folder(manifest_of(cases, used, plan, rag, wish.command), used, wish.out, settings)
        _say_missing(used, rag, console)
        examiner = _examiner(settings, plan, rag)
        if rag.embedder is not None:  # its weights are no part of the first search
            if not rag.embedder.ready:
                _say(console, f"{loading(rag.embedder.name)}…")
            rag.embedder.load()
        try:
            with held(folder.path), _showing(console) as tell:
                Runner(rag, folder, plan, examiner).run(tell)
        except EngineError:
            _report(folder, json=json)
            raise
        finally:
            if examiner is not None:
                examiner.engine.close()
    folder.finish(finished=time.strftime("%Y-%m-%dT%H:%M:%S%z"))
    return _report(folder, json=json)


def _prepared(settings: Settings, wish: Wish, plan: Plan, console: Console) -> tuple[CaseSet, Settings]:
    """The cases, and the settings with the index that they are asked of."""
    if wish.demo:
        from local_rag.diagnostics.demo import CASES, indexed

        indexed(settings, console)
        return replace(open_cases([CASES], "jsonl"), name="demo"), settings
    cases = open_cases(wish.paths, wish.format, wish.split)
    if wish.corpus:
        with sync_progress(TerminalDisplay(console)) as progress:
            embedder = open_embedder(settings, TerminalDisplay(console))
            settings = index_of(cases, settings, embedder, whole=plan.whole, progress=progress)
    elif plan.whole:
        raise UsageError("--passages whole is for a set's own documents", hint="local-rag eval CASES --corpus …")
    return cases, settings


def _folder(manifest: dict[str, Any], used: Sequence[Case], out: Path | None, settings: Settings) -> RunFolder:
    """The folder of this run, new or to go on with. Raises UsageError for one that holds another run."""
    kept = settings.data_folder / FOLDER
    if out is None:
        kept.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = out or kept / name_of(manifest)
    if not (path.expanduser() / MANIFEST).is_file():
        return RunFolder.create(path, manifest, used)
    folder = RunFolder.open(path)
    different = differences(folder.manifest, manifest)
    if different:
        more = f", and {len(different) - 3} more" if len(different) > 3 else ""
        raise UsageError(
            f"{short_path(path)} holds another run: it differs in {', '.join(different[:3])}{more}",
            hint="choose another --out, or leave it out",
        )
    added = {name: list(dict.fromkeys([*folder.manifest[name], *manifest[name]])) for name in ("graphs", "modes")}
    folder.finish(
        finished=None, retrieval_only=not added["graphs"], judge=manifest["judge"] or folder.manifest["judge"], **added
    )
    return folder


def _examiner(settings: Settings, plan: Plan, rag: Rag) -> Examiner | None:
    if plan.judge is None:
        return None
    from local_rag.engines.ollama.judge import Examiner
    from local_rag.runtime.engine_choice import open_ollama

    values = settings.values.model_copy(update={"model": plan.judge})
    try:
        return Examiner(open_ollama(replace(settings, values=values, origin={**settings.origin, "model": "--judge"})))
    except ModelMissing as error:
        raise ModelMissing(str(error), hint=error.hint.replace("--model", "--judge")) from error


def _say_missing(cases: Sequence[Case], rag: Rag, console: Console) -> None:
    """A case whose file is not in the index can only fail: better said before than wondered about later."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for file in rag.index.files():
        by_name[_last(file.path)].append(file.path)
    wishes = {target.file for case in cases for target in case.relevant if target.file}
    meant = {wish: sum(same_file(wish, path) for path in by_name[_last(wish)]) for wish in sorted(wishes)}
    lost = [wish for wish, files in meant.items() if not files]
    unclear = [wish for wish, files in meant.items() if files > 1]
    if unclear:
        shown = shorten(printable(unclear[0]), 60)
        _say(console, f"note: {shown} means several files of the index; name more of its path, or each of them counts")
    if lost:
        count = sum(any(target.file in lost for target in case.relevant) for case in cases)
        names = "names" if count == 1 else "name"
        _say(
            console,
            f"note: {count} of {plural(len(cases), 'case')} {names} a file that is not in the index, such as "
            f"{shorten(printable(lost[0]), 60)}; what stands there cannot be found",
        )


def _last(path: str) -> str:
    return unicodedata.normalize("NFC", path).replace("\\", "/").rstrip("/").rpartition("/")[2]


def _report(folder: RunFolder, *, json: bool) -> int:
    """Write all reports anew from the records; the figures on stdout."""
    from local_rag.evaluation.reports import markdown, page
    from local_rag.evaluation.summary import summary
    from local_rag.terminal import evaluation

    manifest, cases, records = folder.manifest, folder.cases, folder.records
    figures = summary(cases, records, manifest["depth"])
    write_text(folder.path / "report.json", _json({"run": manifest, "summary": figures}))
    write_text(folder.path / "report.md", markdown.report(manifest, cases, records, figures))
    write_text(folder.path / "report.html", page.report(manifest, cases, records, figures))
    if json:
        write_json({"folder": folder.path, "run": manifest, "summary": figures})
    else:
        for line in evaluation.lines(manifest, figures, columns_of(sys.stdout), cases):
            write(line)
        write()
        write(f"everything, case by case: {short_path(folder.path / 'report.html')}")
    failed = sum("error" in record for record in records)
    return 1 if records and failed == len(records) else 0


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


@contextmanager
def _showing(console: Console) -> Iterator[Callable[[Progress], None]]:
    """A bar in a terminal; elsewhere a line now and then."""
    if not console.is_terminal:
        yield _lines(console)
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(BarColumn(bar_width=24), TextColumn("{task.fields[line]}"), console=console, transient=True) as bar:
        task = bar.add_task("", total=1, line="")

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=max(1, progress.total), line=progress_line(progress))

        yield show


def _lines(console: Console) -> Callable[[Progress], None]:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY:
            last = time.monotonic()
            _say(console, progress_line(progress))

    return show


def progress_line(progress: Progress) -> str:
    """12 of 120 steps, self-rag, 1 failed, about 2:10 left."""
    parts = [f"{progress.done:,} of {plural(progress.total, 'step')}"]
    if progress.doing:
        parts.append(progress.doing)
    if progress.failures:
        parts.append(f"{progress.failures} failed")
    if progress.left is not None:
        minutes, seconds = divmod(round(progress.left), 60)
        hours, minutes = divmod(minutes, 60)
        parts.append(f"about {hours}:{minutes:02}:{seconds:02} left" if hours else f"about {minutes}:{seconds:02} left")
    return ", ".join(parts)


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
