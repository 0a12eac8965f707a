"""`local-rag runs case`: a run becomes a case for `eval`, once a person has said what a right answer is."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from local_rag.core.errors import UsageError
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.making.from_run import Labels, keep_case
from local_rag.runtime.kept_run import KeptRun
from local_rag.terminal.console import PlainTable, stderr, write
from local_rag.terminal.proposal import BETWEEN
from local_rag.text.display import plural, printable, short_path, shorten

if TYPE_CHECKING:
    from local_rag.config.settings import Settings

NOT_THERE = "-"
"""What a person types for an answer that the files do not have."""
LONGEST = 300
"""Characters of an answer and of a quote."""


def show_kept_case(
    settings: Settings,
    run: KeptRun,
    path: Path,
    *,
    answers: Sequence[str] = (),
    sources: Sequence[str] = (),
    unanswerable: bool = False,
    yes: bool = False,
) -> None:
    """Keep the case, and say so. Where nothing is given a person is asked, unless `yes`; see `from_run.keep_case`.

    Raises UsageError where nobody can be asked, too.
    """
    case, file = keep_case(
        settings,
        run,
        path,
        answers=answers,
        sources=sources,
        unanswerable=unanswerable,
        yes=yes,
        labels_by=_typed,
    )
    write(f"kept in {short_path(file.path)}: {_labels(case)}; it has {plural(len(file.cases), 'case')} now")
    index = f" --index {shlex.quote(run.conditions['index']['name'])}" if run.folder else ""
    source = run.conditions["settings"].get("web.source")
    web_from = f" --web-from {shlex.quote(source)}" if source else ""
    write(f"next: local-rag eval {shlex.quote(short_path(file.path))}{index}{web_from}")


def _typed(run: KeptRun, relevant: Sequence[Target]) -> Labels:
    """What a person types: the expected answer, or that there is none. Raises UsageError without a terminal."""
    console = stderr()
    if not (console.is_terminal and sys.stdin.isatty()):
        raise UsageError(
            "there is no terminal in which you could say what a right answer is",
            hint=f"local-rag runs case {run.id} CASES.jsonl --answer TEXT   or   --source FILE, --unanswerable, --yes",
        )
    table = PlainTable()
    table.add_row(Text("question", "dim"), Text(run.standalone_question, "bold"))
    table.add_row(Text("answer", "dim"), shorten(run.answer.text, LONGEST) if run.answer else run.status)
    for target in relevant:
        page = f", p. {target.page}" if target.page is not None else ""
        table.add_row(Text("source", "dim"), f'{target.file}{page}: "{shorten(target.quote, LONGEST)}"')
    console.print(table)
    enter_means = "these sources are right, and no words are expected" if relevant else "the files do not say"
    prompt = f"expected answer ({BETWEEN} between two, {NOT_THERE} if the files do not say; Enter: {enter_means}): "
    try:
        typed = printable(console.input(prompt, markup=False, emoji=False)).strip()
    except EOFError as error:
        console.print()
        raise UsageError("nothing was kept", hint=f"local-rag runs case {run.id} CASES.jsonl") from error
    if typed == NOT_THERE or not (typed or relevant):
        return (), (), True
    return tuple(filter(None, map(str.strip, typed.split(BETWEEN)))), relevant, False


def _labels(case: Case) -> str:
    if case.answerable is False:
        return "a question that the files do not answer"
    answers = [plural(len(case.answers), "expected answer")] if case.answers else []
    return " and ".join([*answers, *([plural(len(case.relevant), "source")] if case.relevant else [])])
