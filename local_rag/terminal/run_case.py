"""A run, or feedback on its answer, becomes a case for `eval`, once a person has said what a right answer is."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from local_rag.core.errors import UsageError
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.making.from_feedback import keep_feedback
from local_rag.evaluation.making.from_run import Labels, keep_case
from local_rag.runtime.kept import Judgement, KeptRun
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
        labels_by=_of_run,
    )
    write(f"kept in {short_path(file.path)}: {case_labels(case)}; it has {plural(len(file.cases), 'case')} now")
    index = f" --index {shlex.quote(run.conditions['index']['name'])}" if run.folder else ""
    source = run.conditions["settings"].get("web.source")
    web_from = f" --web-from {shlex.quote(source)}" if source else ""
    write(f"next: local-rag eval {shlex.quote(short_path(file.path))}{index}{web_from}")


def show_feedback_cases(settings: Settings, path: Path, *, yes: bool = False) -> None:
    """Append what the feedback on answers from the index says, and say what came of it; see `keep_feedback`.

    A terminal asks what is right where the feedback does not say, unless `yes`; Ctrl-D leaves one out.
    """
    asks = not yes and _can_ask()
    made = keep_feedback(settings, path, _of_feedback) if asks else keep_feedback(settings, path)
    file = short_path(path)
    for case in made.kept:
        write(f"{shorten(case.question, LONGEST)}: {case_labels(case)}")
    write(f"{plural(len(made.kept), 'case')} of feedback kept in {file}; it has {len(made.file.cases):,} now")
    if made.known:
        write(f"{plural(made.known, 'question')} {'was' if made.known == 1 else 'were'} there already")
    if made.unlabelled:
        why = "" if asks else "; the same command in a terminal asks for it"
        write(f"{plural(made.unlabelled, 'answer')} left out, because nobody said what is right{why}")
    if made.elsewhere:
        write(f"{plural(made.elsewhere, 'answer')} from other indexes left out: --index NAME takes those")
    if made.file.cases:
        write(f"next: local-rag eval {shlex.quote(file)} --index {shlex.quote(settings.values.index)}")


def _of_feedback(feedback: Judgement, cited: Sequence[Target]) -> Labels | None:
    """What a person types of an answer that was judged; None for Ctrl-D, and for nothing where nothing is cited."""
    try:
        typed = _typed(feedback.question, feedback.answer.text, cited, "leave it out", feedback.note)
    except EOFError:
        return None
    return _labels(typed, cited) if typed or cited else None


def _of_run(run: KeptRun, relevant: Sequence[Target]) -> Labels:
    """What a person types of a run. Raises UsageError without a terminal, and for Ctrl-D."""
    if not _can_ask():
        raise UsageError(
            "there is no terminal in which you could say what a right answer is",
            hint=f"local-rag runs case {run.id} CASES.jsonl --answer TEXT   or   --source FILE, --unanswerable, --yes",
        )
    answer = run.answer.text if run.answer else run.status
    try:
        typed = _typed(run.standalone_question, answer, relevant, "the files do not say")
    except EOFError as error:
        raise UsageError("nothing was kept", hint=f"local-rag runs case {run.id} CASES.jsonl") from error
    return _labels(typed, relevant)


def _can_ask() -> bool:
    return stderr().is_terminal and sys.stdin.isatty()


def _typed(question: str, answer: str, relevant: Sequence[Target], nothing: str, note: str = "") -> str:
    """What a person types; `nothing` is what Enter alone means without sources. Raises EOFError for Ctrl-D."""
    console = stderr()
    table = PlainTable()
    table.add_row(Text("question", "dim"), Text(question, "bold"))
    table.add_row(Text("answer", "dim"), shorten(answer, LONGEST))
    if note:
        table.add_row(Text("note", "dim"), shorten(note, LONGEST))
    for target in relevant:
        page = f", p. {target.page}" if target.page is not None else ""
        table.add_row(Text("source", "dim"), f'{target.file}{page}: "{shorten(target.quote, LONGEST)}"')
    console.print(table)
    enter_means = "these sources are right, and no words are expected" if relevant else nothing
    prompt = f"expected answer ({BETWEEN} between two, {NOT_THERE} if the files do not say; Enter: {enter_means}): "
    try:
        return printable(console.input(prompt, markup=False, emoji=False)).strip()
    except EOFError:
        console.print()
        raise


def _labels(typed: str, relevant: Sequence[Target]) -> Labels:
    if typed == NOT_THERE or not (typed or relevant):
        return (), (), True
    return tuple(filter(None, map(str.strip, typed.split(BETWEEN)))), relevant, False


def case_labels(case: Case) -> str:
    if case.answerable is False:
        return "a question that the files do not answer"
    answers = [plural(len(case.answers), "expected answer")] if case.answers else []
    if case.answerable and not (answers or case.relevant):
        return "a question that the files do answer"
    return " and ".join([*answers, *([plural(len(case.relevant), "source")] if case.relevant else [])])
