"""Ask many files one question, each file alone, and make a table of the answers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from local_rag.core.answer import Answer, Certainty
from local_rag.core.cancel import Cancel, current
from local_rag.core.documents import Narrowing
from local_rag.core.serialization import from_plain, to_json
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.opening import check_question
from local_rag.text.answer_language import ran_out_of_time, texts_in
from local_rag.text.answer_markdown import escaped
from local_rag.text.blocks import sources_of
from local_rag.text.file_questions import of_document
from local_rag.text.marks import without_marks
from local_rag.text.markup import as_read
from local_rag.text.metadata import chunk_id
from local_rag.text.names import name_text
from local_rag.text.questions import in_other_words, parts

if TYPE_CHECKING:
    from local_rag.runtime.rag import Rag

CERTAINTIES: tuple[Certainty, ...] = ("", "in doubt", "probably", "sure")
SURE = CERTAINTIES[2:]
"""The certainties that are enough: below them an engine that quotes is asked in other words, too."""

COLUMNS = ("file", "question", "answer", "quote", "place", "certainty")
AT_ONCE = 2
"""Files that are asked side by side: where a model server takes one question at a time, the other waits for it."""


@dataclass(frozen=True)
class FileAnswer:
    """Hold the answer of a file to a question; an engine that only quotes is asked each part of a question by itself.

    A `kept` answer was given before, and nothing has changed since.
    """

    source: str
    question: str
    answer: Answer
    kept: bool = False


def answered_by_each(
    rag: Rag, question: str, within: Narrowing, *, graph: str | None, k: int | None, cancel: Cancel | None
) -> Iterator[FileAnswer]:
    """Yield the answers in the order of the files; see `Rag.each`."""
    check_question(question)
    asked = [question.strip()] if rag.engine.writes else parts(question.strip())
    paths = sorted(file.path for file in rag.corpus.files(within))
    stopped = Cancel(outer=cancel or current())

    def answered(path: str) -> list[FileAnswer]:
        return [_answered(rag, path, part, within, graph, k, stopped) for part in asked]

    with ThreadPoolExecutor(AT_ONCE, "local-rag-each") as pool:
        try:
            for answers in pool.map(answered, paths):
                yield from answers
        finally:
            stopped.stop()
            pool.shutdown(cancel_futures=True)


def _answered(
    rag: Rag, path: str, question: str, within: Narrowing, graph: str | None, k: int | None, cancel: Cancel
) -> FileAnswer:
    cancel.check()
    alone, kept = replace(within, within=(path,)), rag.context().kept
    passages = rag.corpus.passages_of(path)
    titles = [str(passage.metadata["title"]) for passage in passages[:1]]
    asked = of_document(question, " ".join([name_text(path), *titles]))
    made = f"{asked} {alone} {rag.settings.values} {rag.engine.fingerprint} {graph} {k} {[*map(chunk_id, passages)]}"
    if known := kept.get(f"answer to {question}", path, made) if kept else "":
        return FileAnswer(path, question, from_plain(Answer, json.loads(known)), kept=True)

    def answer_to(words: str) -> Answer:
        return rag.ask(words, within=alone, graph=graph, k=k, cancel=cancel, may_search="never", record=False)

    answer = answer_to(asked)
    for other in [] if rag.engine.writes else in_other_words(asked):
        if answer.certainty in SURE:
            break
        answer = max(answer, answer_to(other), key=lambda each: CERTAINTIES.index(each.certainty))
    answer = replace(answer, question=question)
    if kept and not ran_out_of_time(answer.reason):
        kept.put(f"answer to {question}", path, made, to_json(answer, None))
    return FileAnswer(path, question, answer)


def rows_of(answers: Iterable[FileAnswer], label: PathLabel = str) -> list[dict[str, str]]:
    """Return the rows of a table: file, question, answer, quote, place and certainty; a refusal is a row, too."""
    rows = list[dict[str, str]]()
    for each in answers:
        answer = each.answer
        cited = None if answer.status == "abstained" else next(iter(sources_of(answer, label)), None)
        said = as_read(without_marks(answer.text)) if cited else texts_in(answer.language).file_silent
        quote, place = (cited.read, cited.where) if cited else ("", "")
        cells = (label(each.source), each.question, said, quote, place, answer.certainty)
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return rows


def _markdown(rows: Sequence[dict[str, str]]) -> str:
    lines = [COLUMNS, ["---"] * len(COLUMNS), *(map(escaped, row.values()) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _csv(rows: Sequence[dict[str, str]]) -> str:
    """Return the rows as CSV; a cell that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: re.sub(r"^(?=[=+@\t\r-])", "'", cell) for name, cell in row.items()} for row in rows)
    return out.getvalue()


WRITTEN: Mapping[str, Callable[[Sequence[dict[str, str]]], str]] = {"markdown": _markdown, "csv": _csv}
"""How rows are written for other programs."""
