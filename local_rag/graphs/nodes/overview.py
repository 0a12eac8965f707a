"""Answer questions about whole files: outline or summarise a document, or find the files that hold something.

A language model summarises each part and then the whole. The sentences of the summary cite passages that the parts
cited; they are checked as any answer is, and removed if no passage supports them. The summary is stored until the file
or the model changes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from langchain_core.documents import Document

from local_rag.core.cancel import Cancel, scope
from local_rag.core.errors import DeadlineExceeded
from local_rag.core.events import Note, Started
from local_rag.core.protocols import Attempt, Shape
from local_rag.core.verdicts import Grade, Usage
from local_rag.graphs.deps import TIME, Deps, shape_of, texts_of
from local_rag.graphs.drafts import without_unsupported
from local_rag.graphs.nodes.generation import write
from local_rag.graphs.nodes.node import Emit, node
from local_rag.graphs.state import State, standalone_of
from local_rag.graphs.whole import FILES, files_made, files_said, outline_said
from local_rag.text import citations
from local_rag.text.display import joined
from local_rag.text.document_questions import whole_document
from local_rag.text.file_questions import file_question
from local_rag.text.marks import claims, without_marks
from local_rag.text.metadata import chunk_id

MOST_PARTS, OF_PART = 8, 8
"""The most parts of a document that are summarised, and the passages that are read of each.

A part has about 2,000 tokens, so that a window of 4,096 holds it with its prompt and its summary.
"""
COMPUTED = Grade("fully", 5)
SHORT, LONG = 3, 8
"""The most sentences in the summary of a part, and in that of the whole, unless the shape of the answer allows more."""


@node(lambda state, deps: "looking through all files" if state["whole"] == FILES else "reading the whole document")
def overview(state: State, deps: Deps, emit: Emit) -> State:
    """Answer what a whole document says, or which files hold something."""
    question, texts, source = standalone_of(state), texts_of(state, deps), state["whole"]
    if source == FILES and (asked := file_question(question)):
        if asked.made:
            emit(Note(texts.by_property))
        hits = files_made(asked, deps) if asked.made else deps.index.files_with(asked.wanted, deps.within, asked.kind)
        if hits:
            return _accepted(*files_said(asked, hits, deps, texts))
        nearest = deps.index.search(question, deps.k, within=deps.within)
        return {"generation": texts.refusal, "documents": [], "nearest": nearest}
    if others := deps.index.whole_files(whole_document(question), deps.within)[1:]:
        named = joined(map(deps.index.path_labels(), others))
        emit(Note(f"of several files with this name the longest was taken; the others: {named}"))
    passages = deps.index.passages_of(source)
    if deps.engine.writes and (summary := _summary(state, deps, emit, passages)):
        return summary
    return _accepted(*outline_said(deps.index.outline(source, texts.code), passages[0]))


def _accepted(text: str, documents: Sequence[Document], grade: Grade = COMPUTED) -> State:
    return {"generation": text, "documents": [*documents], "grade": replace(grade, usefulness=5), "accepted": True}


def _summary(state: State, deps: Deps, emit: Emit, passages: Sequence[Document]) -> State | None:
    """Return the stored summary or a new one, or None if the model finds nothing to say or nothing passes the check.

    When the time is up, the text written so far is shown unchecked.
    """
    shape, by_id = shape_of(state, deps), {chunk_id(each): each for each in passages}
    kept, made = deps.kept, f"{deps.engine.fingerprint} {shape} {[*by_id]}"
    if known := kept.get("summary", state["whole"], made) if kept else "":
        emit(Note("this summary was made before, and neither the file nor the model has changed"))
        text, cited = json.loads(known)
        return _accepted(text, [by_id[key] for key in cited])
    said, documents, usage = _written(passages, deps, emit, shape, texts_of(state, deps).parts_read)
    if not said:
        return None
    with scope(Cancel()):  # citing goes on when the time is up
        text = citations.marked(said, documents, standalone_of(state))
    if deps.cancel.expired:
        return {"generation": text, "documents": documents, "spent": [TIME], "usage": usage}
    emit(Started("overview", "checking the summary"))
    grade = deps.engine.grade(standalone_of(state), documents, text, check="support")
    text, grade, removed = without_unsupported(text, grade)
    if text and kept:
        kept.put("summary", state["whole"], made, json.dumps((text, [*map(chunk_id, documents)])))
    return {**_accepted(text, documents, grade), "removed": removed, "usage": usage + grade.usage} if text else None


def _written(
    passages: Sequence[Document], deps: Deps, emit: Emit, shape: Shape, not_all: str
) -> tuple[str, list[Document], Usage]:
    """Return the summary of the whole without marks, the passages that the parts cite, and the tokens used.

    If there is only one part, or the time is up before the whole is summarised, return the summaries of the parts.
    """
    step = max(OF_PART, math.ceil(len(passages) / MOST_PARTS))
    parts = [passages[first : first + OF_PART] for first in range(0, len(passages), step)]
    if step > OF_PART:
        emit(Note(not_all.format(n=sum(map(len, parts)), all=len(passages))))
    few, many = (Attempt(shape=replace(shape, sentences=max(most, shape.sentences))) for most in (SHORT, LONG))
    title, usage = str(passages[0].metadata["title"]), Usage()
    said, documents = list[Document](), list[Document]()
    with suppress(DeadlineExceeded):
        for number, part in enumerate(parts, start=1):
            emit(Started("overview", f"summarising part {number} of {len(parts)}"))
            asked = f"What does this part of {title} say? Summarise it."
            text, cost = write(asked, part, few if len(parts) > 1 else many, deps, emit)
            usage += cost
            if not citations.reads_as_refusal(text):
                said.append(Document(without_marks(text), metadata=part[0].metadata))
                documents += [part[n - 1] for n in dict.fromkeys(n for claim in claims(text) for n in claim.numbers)]
        if len(said) > 1:
            emit(Started("overview", "summarising the whole"))
            text, cost = write(f"Summarise {title}.", said, many, deps, emit)
            usage += cost
            if not citations.reads_as_refusal(text):
                return without_marks(text), documents, usage
    return "\n\n".join(each.page_content for each in said), documents, usage
