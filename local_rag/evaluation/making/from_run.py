"""A case made of a run: its question, and what a right answer says or where it stands; kept in a file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.errors import LocalRagError, UsageError
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.making.case_file import CaseFile
from local_rag.evaluation.making.proposals import named, tails
from local_rag.evaluation.making.wording import located
from local_rag.evaluation.matching import lookup
from local_rag.index.index import Index
from local_rag.index.store import reads
from local_rag.runtime.kept import KeptRun
from local_rag.runtime.written import enter
from local_rag.text.display import short_path

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.core.answer import Citation

Labels = tuple[Sequence[str], Sequence[Target], bool]
"""Expected answers, relevant sources, and whether the files do not say."""


def keep_case(
    settings: Settings,
    run: KeptRun,
    path: Path,
    *,
    answers: Sequence[str] = (),
    sources: Sequence[str] = (),
    unanswerable: bool = False,
    yes: bool = False,
    labels_by: Callable[[KeptRun, Sequence[Target]], Labels],
) -> tuple[Case, CaseFile]:
    """Append the case to a file, and enter the file in the list of what is kept.

    Where nothing is given `labels_by` says what is right, told what the answer cites, unless `yes`: that takes the
    answer's own verified citations as what is relevant, and an abstention for right. Beside an answer in words only
    those citations are relevant that hold it. Raises UsageError for labels that contradict each other, and for a
    question that the file has already.
    """
    file = CaseFile(path)
    if file.has(run.standalone_question):
        raise UsageError(f"{short_path(path)} has that question already", hint="name another file")
    files = files_of(run.folder) or list(dict.fromkeys(str(passage["source"]) for passage in run.passages))
    cited = () if unanswerable or run.answer is None else cited_targets(run.answer.citations, run.status, files)
    relevant: Sequence[Target] = named_targets(sources, files) if sources else cited
    unanswerable = unanswerable or (yes and run.status == "abstained" and not (answers or sources))
    if not (answers or sources or unanswerable or yes):
        answers, relevant, unanswerable = labels_by(run, relevant)
    if answers and not (sources or yes):
        relevant = holding(answers, relevant)
    case = case_of_run(run, answers, relevant, unanswerable=unanswerable)
    file.append(case)
    enter(settings.data_folder, "cases", file.path, index=Path(run.folder) if run.folder else None)
    return case, file


def cited_targets(citations: Sequence[Citation], status: str, files: Sequence[str]) -> tuple[Target, ...]:
    """Where the verified citations of an answer stand; files by the end of their path that no other of `files` has."""
    if status == "abstained":
        return ()
    names = tails(files)
    targets = [
        Target(citation.url or names.get(citation.source, citation.source), citation.page, citation.quote)
        for citation in citations
        if citation.verified
    ]
    return tuple(dict.fromkeys(targets))


def holding(answers: Sequence[str], targets: Sequence[Target]) -> tuple[Target, ...]:
    """The targets whose quote holds one of the answers: what a wrong answer cites is not relevant."""
    return tuple(target for target in targets if any(located(answer, target.quote) for answer in answers))


def named_targets(sources: Sequence[str], files: Sequence[str]) -> tuple[Target, ...]:
    """FILE or FILE:PAGE, each a file of the index. Raises UsageError for one that is none, or several."""
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


def case_of_run(
    run: KeptRun, answers: Sequence[str] = (), relevant: Sequence[Target] = (), *, unanswerable: bool = False
) -> Case:
    """The question as it was understood, with these labels. Raises UsageError where none of them says anything."""
    question = run.standalone_question
    if unanswerable and (answers or relevant):
        raise UsageError("a case that is not answerable has no answer and no source", hint="leave one of them out")
    if not (unanswerable or answers or relevant):
        raise UsageError(
            f"the run {run.id} cites nothing that is verified, so say what a right answer is",
            hint=f"local-rag runs case {run.id} CASES.jsonl --answer {shlex.quote('42 days')}   or   --unanswerable",
        )
    note = f"from the run {run.id}"
    return Case(named(question), question, tuple(answers), not unanswerable, tuple(relevant), note=note)


def files_of(folder: str) -> list[str]:
    """The files of the index in a folder; none where it cannot be read."""
    if folder:
        with suppress(LocalRagError), Index.open(Path(folder)) as index:
            return index.read(reads.paths)
    return []
