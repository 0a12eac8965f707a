"""Implement `local-rag runs`: list, show, repeat and delete recorded questions, and make cases of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from local_rag.cli.options import (
    IndexOption,
    JsonOption,
    Listing,
    argument,
    history_of,
    option,
    settings_of,
    stderr_display,
    write_result,
)
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from local_rag.runtime.kept import KeptRun

runs_app = typer.Typer(
    cls=Listing,
    rich_markup_mode=None,
    help="Inspect, repeat or delete past questions.",
)

RunArgument = Annotated[str, argument("ID", "The ID of a run in local-rag runs, its beginning, or: last.")]


@runs_app.command("list")
def list_(
    index: IndexOption = None,
    status: Annotated[
        str | None, option("--status", "Only runs with this status: abstained, failed, …", "STATUS")
    ] = None,
    last: Annotated[int | None, option("--last", "Only the last N runs.", "N", min=1)] = None,
    json: JsonOption = False,
) -> int:
    """List the runs, the last one first."""
    from local_rag.terminal.history import runs_table

    settings = settings_of(index)
    folder = settings.index_path if index is not None else None
    with history_of(settings) as history:
        listed = history.runs(index=folder, status=status or "", last=last)
    some = index is not None or status or not settings.values.runs.keep
    nothing = "There are no such runs." if some else 'There are no runs yet: local-rag ask "…" leaves one.'
    write_result(listed, [runs_table(listed) if listed else nothing], as_json=json)
    return 0


@runs_app.command()
def show(
    id: RunArgument,
    full: Annotated[bool, option("--full", "Show passages and rejected drafts in full.")] = False,
    json: JsonOption = False,
) -> int:
    """Show the steps, passages and answer of a run.

    Verdicts, drafts and calls are shown too. Passages are read again from the index; a note says if one is gone or its
    file has changed.
    """
    from local_rag.runtime.kept import RunPassages
    from local_rag.terminal.history import plain_run, run_parts

    run = _run(id)
    passages = RunPassages.of(run, Path.cwd())
    write_result(plain_run(run, passages), run_parts(run, passages, whole=full), as_json=json)
    return 0


@runs_app.command()
def again(
    id: RunArgument,
    web: Annotated[str | None, option("--web", "Allow web searches, as in local-rag ask.", "[on|ask|off]")] = None,
    json: JsonOption = False,
) -> int:
    """Ask the question of a run again.

    It is asked of the same indexes, graph, k and files, with today's settings. A question that followed others of a
    chat is asked as it was understood then, without the web and without a record.
    """
    from local_rag.cli.ask import exit_code
    from local_rag.runtime.rag import Rag
    from local_rag.terminal.answers import answer_parts
    from local_rag.terminal.questions import QuestionRunner

    run = _run(id)
    if not run.folder:
        raise UsageError(
            f"the run {run.id} asked a corpus that a program gave, and no index, so it cannot be asked again from here",
            hint=f"local-rag runs show {run.id}",
        )
    flags = {"graph": run.graph, "k": run.conditions["k"], "web__enabled": web}
    if run.standalone_question != run.question:  # its wording comes from answers of the chat
        flags |= {"web__enabled": "off", "runs__keep": 0}
    settings, display = settings_of([_index_of(run), *run.others], several=True, **flags), stderr_display()
    with Rag.open(settings, display=display) as rag:
        runner = QuestionRunner(rag, display, run.narrowing, announce=True)
        answer = runner.answer(run.standalone_question)
        write_result(answer, answer_parts(answer, runner.label), as_json=json)
    return exit_code(answer)


@runs_app.command()
def case(
    id: RunArgument,
    cases: Annotated[Path, argument("CASES.jsonl", "The file that the case is appended to.")],
    answer: Annotated[list[str] | None, option("--answer", "A right answer in words; repeatable.", "TEXT")] = None,
    source: Annotated[
        list[str] | None,
        option("--source", "A source of a right answer; repeatable.", "FILE[:PAGE]"),
    ] = None,
    unanswerable: Annotated[bool, option("--unanswerable", "The files do not answer it.")] = False,
    yes: Annotated[bool, option("--yes", "The run was right: use its sources or its abstention.")] = False,
) -> int:
    """Make a case for local-rag eval from a run.

    State the text of a right answer, or its source, or that there is none. With --answer, the run's verified citations
    that contain the answer are its sources.
    """
    from local_rag.evaluation.labels import keep_case
    from local_rag.terminal.console import write
    from local_rag.terminal.evaluation import run_case_parts

    run = _run(id)
    case, file = keep_case(
        settings_of(),
        run,
        cases,
        answers=answer or (),
        sources=source or (),
        unanswerable=unanswerable,
        right=yes,
    )
    write(*run_case_parts(run, case, file))
    return 0


@runs_app.command()
def delete(
    ids: Annotated[list[str] | None, argument("ID", "The runs to delete.")] = None,
    all: Annotated[bool, option("--all", "Delete all runs.")] = False,
    before: Annotated[str | None, option("--before", "Delete runs from before this day (UTC).", "YYYY-MM-DD")] = None,
    index: IndexOption = None,
) -> int:
    """Delete runs permanently.

    In a terminal, you are asked first. With --index, all runs of that index are deleted.
    """
    from local_rag.terminal.console import confirm, write
    from local_rag.text.display import plural

    if not (ids or all or before or index is not None) or (ids and (all or before or index is not None)):
        raise UsageError("name runs, or say which", hint="local-rag runs delete ID…   or   --all, --before, --index")
    if before and not re.fullmatch(r"\d{4}-\d\d-\d\d", before):
        raise UsageError(f"a day is YYYY-MM-DD, not {before!r}", hint="local-rag runs delete --before 2026-01-31")
    settings = settings_of(index)
    with history_of(settings) as history:
        folder = settings.index_path if index is not None else None
        runs = history.runs(index=folder)
        chosen = history.ids(ids) if ids else [run.id for run in runs if not before or run.at < before]
        if not chosen:
            write("There are no such runs.")
            return 0
        if not confirm(f"Delete {plural(len(chosen), 'run')}?"):
            return 1
        write(f"deleted {plural(len(history.delete(runs=chosen)), 'run')}")
    return 0


def _index_of(run: KeptRun) -> str:
    """Return the name of the index that a run asked, or its path if another index has that name now."""
    from local_rag.config.settings import full_name, index_path

    name = str(run.conditions["index"]["name"])
    return name if full_name(index_path(name, settings_of().data_folder)) == run.folder else run.folder


def _run(name: str) -> KeptRun:
    with history_of() as history:
        return history.run(name)
