"""Make passages about whole files: of an outline, or of the best place in each file."""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import NamedTuple

from langchain_core.documents import Document

from local_rag.core.documents import Narrowing
from local_rag.core.errors import UsageError
from local_rag.core.outline import FileHit, OutlineLine
from local_rag.graphs.deps import Deps
from local_rag.graphs.tables import computed_passage
from local_rag.index.mentions import hit_line
from local_rag.text.answer_texts import AnswerTexts
from local_rag.text.answer_values import value_of
from local_rag.text.document_questions import whole_document
from local_rag.text.file_questions import file_question
from local_rag.text.sentences import Span, sentences

FILES = "files"
"""The value of `whole` for a question that asks which files hold something."""
_BRACKETS = str.maketrans("[]", "()")
"""Square brackets of an outline, which would read as marks, become round."""

_NUMBER = re.compile(r"\A(\d+)[.)] ")
"""The number of a heading, which would begin a list of its own below the line's bullet."""


class Said(NamedTuple):
    """Hold a text with its marks [n], and the passages that they name."""

    text: str
    documents: list[Document]


def whole_of(question: str, deps: Deps) -> str:
    """Return the file that a question asks for as a whole, `FILES` if it asks for files, else ""."""
    if deps.index.narrows and file_question(question):
        return FILES
    name = whole_document(question)
    return next(iter(deps.index.whole_files(name, deps.within)), "") if name else ""


def outline_said(lines: Sequence[OutlineLine], first: Document) -> Said:
    """Return an outline line by line, as a passage of the first part of its file."""
    said = [_NUMBER.sub(r"\1 ", line.text.translate(_BRACKETS)) for line in lines]
    places = [(place.start, place.end) for line in lines for place in line.places if place.document == 0]
    text = "\n".join(f"{'- ' if number else ''}{line} [1]" + "\n" * (number == 0) for number, line in enumerate(said))
    return Said(text, [computed_passage(first, "\n".join(said), places, heading="", sections=())])


def files_made(wanted: str, deps: Deps) -> list[FileHit]:
    """Return a hit at the beginning of each file of an author or a date."""
    value = value_of(wanted, 0, len(wanted))
    try:
        by = Narrowing(authors=(wanted,)) if value is None or value.kind != "date" else _within_date(*value.date)
        files = deps.index.files(replace(deps.within, **by.conditions)) if by else []
    except UsageError:  # nothing is left
        return []
    firsts = [deps.index.passages_of(file.path)[0] for file in files]
    spans = [next(iter(sentences(first.page_content)), Span(0, len(first.page_content))) for first in firsts]
    return [
        FileHit(first, span.of(first.page_content), start + span.start, start + span.end, 0, False)
        for first, span in zip(firsts, spans, strict=True)
        for start in [int(first.metadata["start"])]
    ]


def _within_date(year: int, month: int, day: int) -> Narrowing:
    """Return the narrowing to a year, a month or a day; to nothing without a year."""
    if not year:
        return Narrowing()
    first = date(year, month or 1, day or 1)
    days = 1 if day else monthrange(year, month)[1] if month else 365 + isleap(year)
    return Narrowing(after=first.isoformat(), before=(first + timedelta(days)).isoformat())


def files_said(wanted: str, hits: Sequence[FileHit], deps: Deps, texts: AnswerTexts) -> Said:
    """Return a line for each file, those with the exact words first; the marks count the files."""
    label = deps.index.path_labels()
    lines = [hit_line(hit, label(str(hit.passage.metadata["source"])), texts).translate(_BRACKETS) for hit in hits]
    held = [hit for hit in hits if not hit.near]
    heading = texts.count(texts.files_hold if held else texts.files_near, len(held or hits), wanted=wanted)
    said = [f"{heading}: [1]\n", *(f"- {line} [{number}]" for number, line in enumerate(lines, start=1))]
    lines[0] = f"{heading}:\n{lines[0]}"
    passages = [
        computed_passage(hit.passage, line, [(hit.start, hit.end)]) for hit, line in zip(hits, lines, strict=True)
    ]
    return Said("\n".join(said), passages)
