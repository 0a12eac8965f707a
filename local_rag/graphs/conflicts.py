"""Files that disagree: what an answer says of them once it is chosen, with any engine and in any graph.

The evaluator decides, on the passages kept for the answer; what a language model wrote of them does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from langchain_core.documents import Document

from local_rag.core.answer import Citation, Conflict, Position
from local_rag.core.errors import DeadlineExceeded, LocalRagError, Stopped
from local_rag.core.events import Note
from local_rag.core.verdicts import Graded, Support
from local_rag.graphs.deps import Deps
from local_rag.graphs.disagreement import Statement, disagreeing
from local_rag.graphs.outcome import texts_of
from local_rag.graphs.state import State, standalone_of
from local_rag.text import citations
from local_rag.text.display import short_path, shorten
from local_rag.text.marks import claims

LONGEST = 60
"""Characters of an answer in a verdict."""


def compared_files(state: State, deps: Deps) -> tuple[State, list[Graded], list[Note]]:
    """What the comparison of an answer's files adds to the state, its verdict, and what a person should know of it.

    An answer that was grounded is `partial` where files disagree. Where its text is nothing but quotes, the quotes of
    all sides take its place, the newest first. The numbers of the citations count in the documents of the state.
    """
    answered = state.get("status") not in (None, "abstained", "direct")
    if deps.evaluator is None or not answered or state.get("failed") or state.get("conflicts"):
        return {}, [], []
    try:
        with deps.scope():
            deps.cancel.check()
            sides = disagreeing(standalone_of(state), state.get("documents", []), deps.evaluator)
    except DeadlineExceeded:
        return {}, [], [Note("whether your files disagree is not known: the time was up")]
    except Stopped:
        raise
    except LocalRagError as error:
        return {}, [], [Note(f"whether your files disagree is not known: {error}")]
    if not sides:
        return {}, [], []
    positions = list(map(_position, sides))
    conflict = Conflict(tuple(sorted(positions, key=lambda position: position.date, reverse=True)))
    return _marked(state, deps, conflict), [_verdict(conflict)], []


def renumbered(conflicts: Sequence[Conflict], before: Sequence[Document], after: Sequence[Document]) -> list[Conflict]:
    """The same with numbers that count in the documents `after` instead of in those `before`, which are the same."""
    places = {id(document): number for number, document in enumerate(after, start=1)}

    def moved(citation: Citation) -> Citation:
        return replace(citation, number=places[id(before[citation.number - 1])])

    return [
        Conflict(tuple(replace(each, citations=tuple(map(moved, each.citations))) for each in conflict.positions))
        for conflict in conflicts
    ]


def _position(side: Sequence[Statement]) -> Position:
    """What one side says, in the words of its newest file."""
    newest, *others = sorted(side, key=lambda statement: _dated(statement.passage)[0], reverse=True)
    date, dated = _dated(newest.passage)
    quoted = (citations.quotation(each.number + 1, each.passage, each.quote) for each in (newest, *others))
    return Position(newest.text, date, tuple(quoted), dated)


def _dated(document: Document) -> tuple[str, Literal["document", "file", ""]]:
    """The date that a document bears, or when its file was last changed."""
    if date := str(document.metadata.get("date") or ""):
        return date, "document"
    if changed := str(document.metadata.get("modified") or ""):
        return changed, "file"
    return "", ""


def _marked(state: State, deps: Deps, conflict: Conflict) -> State:
    reason = "; ".join(filter(None, (texts_of(state, deps).files_disagree, state.get("reason", ""))))
    update: State = {"conflicts": [conflict], "reason": reason}
    if state.get("status") == "grounded":
        update["status"] = "partial"
    if text := _quotes(state, conflict):
        update["generation"] = text
        if (grade := state.get("grade")) and grade.sentences:
            quoted: Support = "fully"
            update["grade"] = replace(grade, sentences=(quoted,) * len(claims(text)))
    return update


def _quotes(state: State, conflict: Conflict) -> str:
    """The quotes of all sides with their marks; empty where the answer is more than quotes."""
    documents = state["documents"]
    written = citations.check(state.get("generation", ""), documents)
    if written.uncited or not all(citation.located == "exact" for citation in written.citations):
        return ""
    first = [position.citations[0] for position in conflict.positions]
    text = "\n".join(f"{' '.join(citation.quote.split())} [{citation.number}]" for citation in first)
    return text if citations.check(text, documents).status == "grounded" else ""


def _verdict(conflict: Conflict) -> Graded:
    said = [
        f'"{shorten(position.text, LONGEST)}" in {short_path(position.citations[0].source)}'
        for position in conflict.positions
    ]
    return Graded("conflict", "disagree", "; ".join(said), source=conflict.positions[0].citations[0].source)
