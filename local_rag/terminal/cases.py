"""What became of making cases: of proposals, of a run, and of judged answers."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from local_rag.evaluation.cases import Case, CaseFile
from local_rag.evaluation.labels import FeedbackCases
from local_rag.evaluation.make import Made
from local_rag.runtime.kept import KeptRun
from local_rag.text.display import plural, short_path, shorten

LONGEST = 300
"""Characters of a question."""


def made_parts(made: Made, index: str, wanted: int, *, keep: bool) -> Iterator[str]:
    """What was proposed, why there are not more, and the next step."""
    for why, times in made.thrown.items():
        yield f"{plural(times, 'reply', 'replies')} of the model not used: {why}"
    yield f"{plural(len(made.cases), 'question')} proposed in {_file(made.file)}"
    if not made.by_model:
        yield (
            "made from headings, without a language model: word search will look better than on people's questions, "
            "and there is none without an answer; mix in questions of your own"
        )
    elif len(made.cases) < wanted:
        yield "the index gave no more; another --seed may give others"
    if not keep and made.cases:
        yield 'next: read them in an editor, mend them, set "keep" to true where a question fits, then'
    if made.file.cases:
        yield _next(made.file, index)


def feedback_parts(made: FeedbackCases, index: str) -> Iterator[str]:
    """What the judged answers have become, and what was left out."""
    for case in made.kept:
        yield f"{shorten(case.question, LONGEST)}: {case_labels(case)}"
    yield f"{plural(len(made.kept), 'case')} of feedback kept in {_file(made.file)}"
    if made.known:
        yield f"{plural(made.known, 'question')} {'was' if made.known == 1 else 'were'} there already"
    if made.unlabelled:
        yield f"{plural(made.unlabelled, 'answer')} left out: say on the page what a right answer says"
    if made.elsewhere:
        yield f"{plural(made.elsewhere, 'answer')} from other indexes left out: --index NAME takes those"
    if made.file.cases:
        yield _next(made.file, index)


def run_case_parts(run: KeptRun, case: Case, file: CaseFile) -> Iterator[str]:
    """What a run has become, and the command that asks it."""
    yield f"kept in {_file(file)}: {case_labels(case)}"
    source = run.conditions["settings"].get("web.source")
    web_from = f" --web-from {shlex.quote(source)}" if source else ""
    yield _next(file, run.conditions["index"]["name"] if run.folder else "") + web_from


def case_labels(case: Case) -> str:
    """What a case knows of a right answer."""
    if case.answerable is False:
        return "a question that the files do not answer"
    answers = [plural(len(case.answers), "expected answer")] if case.answers else []
    sources = [plural(len(case.relevant), "source")] if case.relevant else []
    return " and ".join([*answers, *sources]) or "a question that the files do answer"


def _file(file: CaseFile) -> str:
    return f"{short_path(file.path)} ({plural(len(file.cases), 'case')} now)"


def _next(file: CaseFile, index: str) -> str:
    where = f" --index {shlex.quote(index)}" if index else ""
    return f"next: local-rag eval {shlex.quote(short_path(file.path))}{where}"
