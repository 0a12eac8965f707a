"""Make passages about whole files: of an outline, or of the best place in each file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from operator import attrgetter
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
from local_rag.text.file_questions import FileQuestion, file_question
from local_rag.text.sentences import Span, sentences
from local_rag.text.words import stem, words

FILES = "files"
"""The value of `whole` for a question that asks which files hold something."""
_BRACKETS = str.maketrans("[]", "()")
"""Square brackets of an outline, which would read as marks, become round."""

_KINDS = {"eml": "mail", "msg": "mail", "mbox": "mail"}
"""The kind of a file by its suffix, where people say another word for it."""

_NUMBER = re.compile(r"\A(\d+)[.)] ")
"""The number of a heading, which would begin a list of its own below the line's bullet."""


class Said(NamedTuple):
    """Hold a text with its marks [n], and the passages that they name."""

    text: str
    documents: list[Document]


def whole_of(question: str, deps: Deps) -> str:
    """Return the file that a question asks for as a whole, `FILES` if it asks for files, else "".

    A question for the files of an author or a date that no file has is one for a passage. "The mail from Ann" is a file
    where she sent only one.
    """
    asked = file_question(question) if deps.index.narrows else None
    if asked and (not asked.made or files_made(asked, deps)):
        return FILES
    name = whole_document(question)
    named = deps.index.whole_files(name, deps.within) if name else []
    made = file_question(name) if name and not named and deps.index.narrows else None
    if made and made.made:
        hits = files_made(made, deps)
        named = [str(hits[0].passage.metadata["source"])] if len(hits) == 1 else []
    return next(iter(named), "")


def outline_said(lines: Sequence[OutlineLine], first: Document) -> Said:
    """Return an outline line by line, as a passage of the first part of its file."""
    said = [_NUMBER.sub(r"\1 ", line.text.translate(_BRACKETS)) for line in lines]
    places = [(place.start, place.end) for line in lines for place in line.places if place.document == 0]
    text = "\n".join(f"{'- ' if number else ''}{line} [1]" + "\n" * (number == 0) for number, line in enumerate(said))
    return Said(text, [computed_passage(first, "\n".join(said), places, heading="", sections=())])


def files_made(asked: FileQuestion, deps: Deps) -> list[FileHit]:
    """Return a hit at the beginning of each file of the author or date that is asked for, if its name says its kind."""
    value = value_of(asked.wanted, 0, len(asked.wanted))
    try:
        made = _within_date(*value.date) if value and value.kind == "date" else Narrowing(authors=(asked.wanted,))
        files = deps.index.files(replace(deps.within, **made.conditions)) if made else []
    except (UsageError, ValueError):  # nothing is left, or there is no such day
        return []
    hits = list[FileHit]()
    for file in filter(attrgetter("chunks"), files):  # a scan that was not read has no text
        first = deps.index.passages_of(file.path)[0]
        said = words(f"{file.path} {first.metadata['title']}")
        if not asked.kind or asked.kind in {_KINDS.get(word, stem(word)) for word in said}:
            span = next(iter(sentences(first.page_content)), Span(0, len(first.page_content)))
            start = int(first.metadata["start"])
            hits.append(FileHit(first, span.of(first.page_content), start + span.start, start + span.end, 0, False))
    return hits


def _within_date(year: int, month: int, day: int) -> Narrowing:
    """Return the narrowing to a year, a month or a day, to nothing without a year. Raise ValueError for no such day."""
    if not year:
        return Narrowing()
    first = date(year, month or 1, day or 1)
    after = first + timedelta(1) if day else (first + timedelta(31)).replace(day=1) if month else date(year + 1, 1, 1)
    return Narrowing(after=first.isoformat(), before=after.isoformat())


def files_said(asked: FileQuestion, hits: Sequence[FileHit], deps: Deps, texts: AnswerTexts) -> Said:
    """Return a line for each file, those with the exact words first; the marks count the files."""
    label = deps.index.path_labels()
    lines = [hit_line(hit, label(str(hit.passage.metadata["source"])), texts).translate(_BRACKETS) for hit in hits]
    held = [hit for hit in hits if not hit.near]
    found = texts.files_made if asked.made else texts.files_hold if held else texts.files_near
    heading = texts.count(found, len(held or hits), wanted=asked.wanted)
    said = [f"{heading}: [1]\n", *(f"- {line} [{number}]" for number, line in enumerate(lines, start=1))]
    lines[0] = f"{heading}:\n{lines[0]}"
    passages = [
        computed_passage(hit.passage, line, [(hit.start, hit.end)]) for hit, line in zip(hits, lines, strict=True)
    ]
    return Said("\n".join(said), passages)
