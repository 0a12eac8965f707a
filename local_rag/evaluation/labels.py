"""Make cases of questions that were asked: from a run with its right answer, and from judged answers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from local_rag.config.settings import Settings, full_name
from local_rag.core.answer import Answer
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.evaluation.cases import Case, CaseFile, Target, named
from local_rag.evaluation.matching import located, lookup, tails
from local_rag.index.index import Index
from local_rag.runtime.history import History
from local_rag.runtime.kept import Judgement, KeptRun
from local_rag.runtime.written import enter
from local_rag.text.display import short_path
from local_rag.text.markup import as_read


def keep_case(
    settings: Settings,
    run: KeptRun,
    path: Path,
    *,
    answers: Sequence[str] = (),
    sources: Sequence[str] = (),
    unanswerable: bool = False,
    right: bool = False,
) -> tuple[Case, CaseFile]:
    """Append the case of a run to a file, and add the file to the list of written files.

    `right`: the run was right, so its verified citations are relevant, or its abstention means that the files do not
    answer. With `answers`, only the citations that contain one of them are relevant. Raise UsageError for labels that
    are empty or contradict each other, and for a question that the file already has.
    """
    file, question = CaseFile(path), run.standalone_question
    if file.has(question):
        raise UsageError(f"{short_path(path)} has that question already", hint="name another file")
    unanswerable = unanswerable or (right and run.status == "abstained" and not (answers or sources))
    if unanswerable and (answers or sources):
        raise UsageError("a case that is not answerable has no answer and no source", hint="leave one of them out")
    files = _files_of(run.folder) or list(dict.fromkeys(str(passage["source"]) for passage in run.passages))
    cited = _cited(run.answer, files) if run.answer and (right or answers) and not unanswerable else ()
    relevant = _named(sources, files) if sources else cited if right else _holding(answers, cited)
    if not (unanswerable or answers or relevant):
        raise UsageError(
            f"say what a right answer to the run {run.id} is",
            hint=f"local-rag runs case {run.id} CASES.jsonl --answer {shlex.quote('42 days')}   or   --source FILE, "
            "--unanswerable, --yes",
        )
    note = f"from the run {run.id}"
    case = Case(named(question), question, tuple(answers), not unanswerable, tuple(relevant), note=note)
    file.append(case)
    enter(settings.data_folder, "cases", file.path, index=settings.path_of(run.folder) if run.folder else None)
    return case, file


@dataclass(frozen=True)
class FeedbackCases:
    """Hold the cases made of feedback on answers from one index.

    `known` counts the questions that the file already had, `unlabelled` the answers without a known right answer,
    `elsewhere` the answers from other indexes.
    """

    file: CaseFile
    kept: tuple[Case, ...]
    known: int
    unlabelled: int
    elsewhere: int


def keep_feedback(settings: Settings, path: Path) -> FeedbackCases:
    """Append a case for each feedback on answers from the index of the settings, the oldest first.

    Raise as `CaseFile` does.
    """
    file, index = CaseFile(path), full_name(settings.index_path)
    with History.open(settings.data_folder) as history:
        everything = history.judgements()[::-1]
    ours = [feedback for feedback in everything if feedback.folder == index]
    files, kept = _files_of(index), list[Case]()
    known = unlabelled = 0
    for feedback in ours:
        if file.has(feedback.question):
            known += 1
        elif case := case_of_feedback(feedback, files):
            file.append(case)
            kept.append(case)
        else:
            unlabelled += 1
    if kept:
        enter(settings.data_folder, "cases", file.path, index=settings.index_path)
    return FeedbackCases(file, tuple(kept), known, unlabelled, len(everything) - len(ours))


def case_of_feedback(feedback: Judgement, files: Sequence[str]) -> Case | None:
    """Return the case of a feedback, or None if the right answer is unknown; `files` are those of the index.

    For a good answer, the verified citations are relevant, and unless a person wrote another, its answering words and
    quotes are the answers. A good abstention means that the files do not answer. For a bad answer, only the citations
    that contain the expected answer are relevant. A bad abstention means only that the files do answer.
    """
    abstained = feedback.answer.status == "abstained"
    unanswerable = feedback.unanswerable or (feedback.good and abstained and not feedback.expected)
    answers: tuple[str, ...] = (feedback.expected,) if feedback.expected and not unanswerable else ()
    cited = _cited(feedback.answer, files) if not unanswerable else ()
    relevant = cited if feedback.good else _holding(answers, cited)
    if feedback.good and not answers:
        answers = _said(feedback.answer, cited)
    if not (answers or relevant or unanswerable or abstained):
        return None
    note = f"feedback on the run {feedback.run}" + (f": {feedback.note}" if feedback.note else "")
    return Case(named(feedback.question), feedback.question, answers, not unanswerable, relevant, note=note)


def _said(answer: Answer, cited: Sequence[Target]) -> tuple[str, ...]:
    """Return the answering words of an answer and its quotes, or nothing if no such words are known.

    Whole sentences are not used, because a right answer in other words would then count as wrong.
    """
    short = [answer.short, *(answer.text[each.start : each.end] for each in answer.highlights)]
    texts = map(as_read, [*short, *(target.quote for target in cited)])
    return tuple(dict.fromkeys(filter(None, texts))) if any(short) else ()


def _cited(answer: Answer, files: Sequence[str]) -> tuple[Target, ...]:
    """Return the sources of the verified citations of an answer; a file is named by the unique end of its path."""
    if answer.status == "abstained":
        return ()
    names = tails(files)
    targets = (
        Target(citation.url or names.get(citation.source, citation.source), citation.page, citation.quote)
        for citation in answer.citations
        if citation.verified
    )
    return tuple(dict.fromkeys(targets))


def _holding(answers: Sequence[str], targets: Sequence[Target]) -> tuple[Target, ...]:
    """Return the targets whose quote contains one of the answers, because a wrong answer's sources are not relevant."""
    return tuple(target for target in targets if any(located(answer, target.quote) for answer in answers))


def _named(sources: Sequence[str], files: Sequence[str]) -> tuple[Target, ...]:
    """Return the targets for FILE or FILE:PAGE; raise UsageError unless each is exactly one file of the index."""
    sources_of, names = lookup(files), tails(files)
    targets = []
    for given in sources:
        file, _, page = given.rpartition(":")
        with_page = bool(file) and page.isdigit() and not sources_of(given)
        matching = sources_of(file if with_page else given)
        if len(matching) != 1:
            count = "no indexed file is" if not matching else f"{len(matching)} indexed files are"
            raise UsageError(f"{count} {given!r}", hint="local-rag files   lists them; a page is FILE:PAGE")
        targets.append(Target(names[matching[0]], int(page) if with_page else None))
    return tuple(targets)


def _files_of(folder: str) -> list[str]:
    """Return the files of the index in a folder; none if it cannot be read."""
    if folder:
        with suppress(LocalRagError), Index.open(Settings.load().path_of(folder)) as index:
            return list(index.store.paths())
    return []
