"""Files that disagree: what an answer says of them once it is chosen, with any engine and in any graph.

The evaluator decides, on the passages kept for the answer; what a language model wrote of them does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from langchain_core.documents import Document

from local_rag.core.answer import Conflict, Position
from local_rag.core.errors import DeadlineExceeded, LocalRagError, Stopped
from local_rag.core.events import Note
from local_rag.core.verdicts import Graded, Support
from local_rag.graphs import answering
from local_rag.graphs.answering import texts_of
from local_rag.graphs.deps import Deps
from local_rag.graphs.disagreement import Statement, disagreeing
from local_rag.graphs.state import State, after, standalone_of
from local_rag.text import citations
from local_rag.text.display import home_path, shorten
from local_rag.text.marks import claims

LONGEST = 60
"""Characters of an answer in a verdict."""


def ended(state: State, deps: Deps) -> tuple[State, list[Graded], list[Note]]:
    """What the node returns that ends a graph, the verdict on its files, and what a person should know of that.

    An answer that was grounded is `partial` where files disagree. Where its text is nothing but quotes, the quotes of
    all sides take its place, the newest first.
    """
    texts = texts_of(state, deps)
    sides, notes = _sides(state, deps)
    if not sides:
        return answering.ended(state, texts), [], notes
    marked = _marked(state, deps, sides)
    update = marked | answering.ended(after(state, marked), texts)
    places = {id(document): number for number, document in enumerate(update["documents"], start=1)}
    positions = [_position(side, places) for side in sides]
    said = [f'"{shorten(each.text, LONGEST)}" in {home_path(each.citations[0].source)}' for each in positions]
    verdict = Graded("conflict", "disagree", "; ".join(said), source=positions[0].citations[0].source)
    return update | {"conflicts": [Conflict(tuple(positions))]}, [verdict], notes


def _sides(state: State, deps: Deps) -> tuple[list[list[Statement]], list[Note]]:
    """What the files of an answer state against each other, the newest side and of each the newest file first."""
    answered = state.get("status") not in (None, "abstained", "direct")
    if deps.evaluator is None or not answered or state.get("failed"):
        return [], []
    try:
        with deps.scope():
            deps.cancel.check()
            sides = disagreeing(standalone_of(state), state.get("documents", []), deps.evaluator)
    except DeadlineExceeded:
        return [], [Note("whether your files disagree is not known: the time was up")]
    except Stopped:
        raise
    except LocalRagError as error:
        return [], [Note(f"whether your files disagree is not known: {error}")]
    newest_first = [sorted(side, key=lambda each: _dated(each.passage)[0], reverse=True) for side in sides]
    return sorted(newest_first, key=lambda side: _dated(side[0].passage)[0], reverse=True), []


def _position(side: Sequence[Statement], places: Mapping[int, int]) -> Position:
    """What one side says, in the words of its newest file; `places` are the numbers of the documents."""
    date, dated = _dated(side[0].passage)
    quoted = (citations.quotation(places[id(each.passage)], each.passage, each.quote) for each in side)
    return Position(side[0].text, date, tuple(quoted), dated)


def _dated(document: Document) -> tuple[str, Literal["document", "file", ""]]:
    """The date that a document bears, or when its file was last changed."""
    if date := str(document.metadata.get("date") or ""):
        return date, "document"
    changed = str(document.metadata.get("modified") or "")
    return changed, "file" if changed else ""


def _marked(state: State, deps: Deps, sides: Sequence[Sequence[Statement]]) -> State:
    """What the disagreement changes of an answer."""
    reason = "; ".join(filter(None, (texts_of(state, deps).files_disagree, state.get("reason", ""))))
    update: State = {"reason": reason}
    if state.get("status") == "grounded":
        update["status"] = "partial"
    if text := _quotes(state, [side[0] for side in sides]):
        update["generation"] = text
        if (grade := state.get("grade")) and grade.sentences:
            quoted: Support = "fully"
            update["grade"] = replace(grade, sentences=(quoted,) * len(claims(text)))
    return update


def _quotes(state: State, statements: Sequence[Statement]) -> str:
    """The quotes of all sides with their marks; empty where the answer is more than quotes."""
    documents = state["documents"]
    written = citations.check(state.get("generation", ""), documents)
    if written.uncited or not all(citation.located == "exact" for citation in written.citations):
        return ""
    text = "\n".join(f"{' '.join(each.sentence.split())} [{each.number + 1}]" for each in statements)
    return text if citations.check(text, documents).status == "grounded" else ""
