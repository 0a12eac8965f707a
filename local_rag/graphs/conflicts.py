"""Report files that disagree about a chosen answer, with any engine and in any graph.

The evaluator decides by the passages kept for the answer, whatever a language model wrote from them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Literal

from langchain_core.documents import Document

from local_rag.core.answer import Conflict, Position
from local_rag.core.cancel import scope
from local_rag.core.errors import DeadlineExceeded, LocalRagError, Stopped
from local_rag.core.events import Note
from local_rag.core.verdicts import Graded
from local_rag.graphs.deps import Deps
from local_rag.text import citations
from local_rag.text.disagreement import Side, disagreeing
from local_rag.text.display import home_path, shorten
from local_rag.text.names import head

LONGEST_POSITION = 60
"""The most characters of an answer in a verdict."""
ENDS = 300
"""The code points at the beginning and at the end of a file in which it says whether it is a draft or signed."""
_STANDING = re.compile(
    r"\b(?P<below>(?:first |second |rough )?draft|superseded|replaced by|void|withdrawn|unsigned|not (?:yet )?signed"
    r"|no longer (?:valid|in force)|obsolete|entwurf|ungültig|aufgehoben|offer|quotation|angebot)\b"
    r"|\b(?P<above>signed|in force|final version|executed|unterschrieben|unterzeichnet)\b",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?:\b|_)v(?:ersion[ _-]?)?(\d+)(?:\b|_|\.)", re.IGNORECASE)


def sides_of(question: str, documents: Sequence[Document], deps: Deps) -> tuple[list[Side], list[Note]]:
    """Return the contradicting statements of an answer's files, or a note on why they are unknown.

    The first side is that of a signed file, else of one that is no draft, else of the latest version or date.
    """
    if deps.evaluator is None:
        return [], []
    try:
        with scope(deps.cancel):
            deps.cancel.check()
            sides = disagreeing(question, documents, deps.evaluator)
    except DeadlineExceeded:
        return [], [Note("whether your files disagree is not known: the time was up")]
    except Stopped:
        raise
    except LocalRagError as error:
        return [], [Note(f"whether your files disagree is not known: {error}")]
    ranks = {id(each): _rank(each.passage, deps) for side in sides for each in side}
    best_first = [sorted(side, key=lambda each: ranks[id(each)], reverse=True) for side in sides]
    return sorted(best_first, key=lambda side: ranks[id(side[0])], reverse=True), []


def _rank(document: Document, deps: Deps) -> tuple[int, int, str]:
    """Return what ranks a file among those that disagree: a signed one above a draft, then its version and date."""
    standing = _standing(document, deps)
    version = _VERSION.search(PurePath(str(document.metadata["source"])).name)
    return (
        bool(standing["above"]) - bool(standing["below"]) if standing else 0,
        int(version[1]) if version else 0,
        _dated(document)[0],
    )


def _standing(document: Document, deps: Deps) -> re.Match[str] | None:
    """Return the word by which a file calls itself a draft, superseded or signed: in its name, its beginning or end."""
    passages = deps.index.passages_of(str(document.metadata["source"])) or [document]
    texts = head(document), passages[0].page_content[:ENDS], passages[-1].page_content[-ENDS:]
    return next(filter(None, map(_STANDING.search, texts)), None)


def quotes_of(sides: Sequence[Side], written: citations.Checked, documents: Sequence[Document]) -> citations.Checked:
    """Replace a text that consists of quotes alone by the quotes of all sides; return any other text as it is."""
    if written.uncited or not all(citation.located == "exact" for citation in written.citations):
        return written
    text = "\n".join(f"{' '.join(side[0].sentence.split())} [{side[0].number + 1}]" for side in sides)
    quoted = citations.check(text, documents)
    return quoted if quoted.status == "grounded" else written


def conflicts_of(
    sides: Sequence[Side], documents: Sequence[Document], deps: Deps
) -> tuple[tuple[Conflict, ...], tuple[Graded, ...]]:
    """Return the conflict of the sides, numbered by these documents, and the verdict on it; both empty
    without sides.
    """
    if not sides:
        return (), ()
    places = {id(document): number for number, document in enumerate(documents, start=1)}
    positions = []
    for side in sides:
        date, dated = _dated(side[0].passage)
        quoted = (citations.quotation(places[id(each.passage)], each.passage, each.quote) for each in side)
        standing = _standing(side[0].passage, deps)
        positions.append(
            Position(side[0].text, date, tuple(quoted), dated, standing.group().lower() if standing else "")
        )
    told = [f'"{shorten(each.text, LONGEST_POSITION)}" in {home_path(each.citations[0].source)}' for each in positions]
    verdict = Graded("conflict", "disagree", "; ".join(told), source=positions[0].citations[0].source)
    return (Conflict(tuple(positions)),), (verdict,)


def _dated(document: Document) -> tuple[str, Literal["document", "file", ""]]:
    """Return the date of a document, or the time when its file was last changed, and which of the two it is."""
    if date := str(document.metadata.get("date") or ""):
        return date, "document"
    changed = str(document.metadata.get("modified") or "")
    return changed, "file" if changed else ""
