"""Write an answer, or end without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.documents import Document

from local_rag.core.answer import BudgetKind
from local_rag.core.events import Note, Token
from local_rag.core.protocols import Attempt
from local_rag.core.verdicts import Usage
from local_rag.graphs import drafts
from local_rag.graphs.deps import Deps, shape_of, texts_of
from local_rag.graphs.nodes.node import Emit, Node, counted, node
from local_rag.graphs.rules import closest, is_late, verdict_of
from local_rag.graphs.state import Draft, State, standalone_of
from local_rag.text import citations
from local_rag.text.answer_language import is_refusal
from local_rag.text.marks import marks, without_marks
from local_rag.text.metadata import is_certain, is_computed
from local_rag.text.words import words


def generator(*, checked: bool) -> Node:
    """Make the node that writes answers; they are accepted as they are if no grader of the graph checks them."""

    @node(lambda state, deps: "writing again" if state.get("drafts") else "writing")
    def generate(state: State, deps: Deps, emit: Emit) -> State:
        """Write an answer from the documents; without documents there is none."""
        documents, tries = state.get("documents", []), counted(state, "generations")
        attempt, text, usage = attempt_of(state, tries, deps), "", Usage()
        if documents:
            text, usage = write(standalone_of(state), documents, attempt, deps, emit)
        written, _ = citations.known_marks(text or attempt.shape.refusal, documents)
        return {
            "generation": written,
            "accepted": not checked,
            "grade": None,
            "removed": [],
            "tries": tries,
            "usage": usage,
        }

    return generate


def attempt_of(state: State, tries: Mapping[BudgetKind, int], deps: Deps) -> Attempt:
    """Return the number of this try, and what was wrong with those before it: in English, as the prompts are."""
    failed = tuple((draft.text, drafts.why_rejected(draft.grade)) for draft in state.get("drafts", ()) if draft.grade)
    shape, thoughts = shape_of(state, deps), tuple(state.get("thoughts", ()))
    graded = tuple(state.get("graded", ()))
    return Attempt(tries["generations"], failed, thoughts=thoughts, shape=shape, graded=graded)


@node("answering without your files")
def llm_fallback(state: State, deps: Deps, emit: Emit) -> State:
    """Answer without documents in Adaptive RAG, route `direct`; the answer is labelled so."""
    attempt = Attempt(direct=True, shape=shape_of(state, deps))
    text, usage = write(standalone_of(state), [], attempt, deps, emit)
    tries = counted(state, "generations")
    return {"generation": text, "documents": [], "accepted": True, "tries": tries, "usage": usage}


@node("looking for the best answer so far")
def give_up(state: State, deps: Deps, emit: Emit) -> State:
    """Take sentences of the passages in place of what a model wrote, if the evaluator is sure that they answer; let the
    model write from the closest passages if the evaluator has found an answer in none.

    No budget is left: `finish` takes the accepted text, else the best draft that is worth showing, or abstains.
    """
    drafted = state.get("drafts", ())
    if not (deps.engine.writes and deps.engine.grades_by == "evaluator"):
        return {}
    if not drafted:
        return _written_at_last(state, deps, emit)
    question = standalone_of(state)
    shown = drafted[-1].documents
    computed = [document for document in shown if is_computed(document) and document.metadata.get("read")]
    documents = computed or [document for document in shown if is_certain(document)]
    attempt = Attempt(shape=shape_of(state, deps), quotes=True)
    text, usage = write(question, documents, attempt, deps, lambda event: None)
    rejected = [words(without_marks(draft.text)) for draft in drafted]
    if not text or is_refusal(text) or words(without_marks(text)) in rejected:
        return {"usage": usage}
    grade = drafts.lowered(deps.engine.grade(question, documents, text), deps.thresholds.answer)
    usage += grade.usage
    if verdict_of(grade) != "useful":
        return {"usage": usage}
    emit(Note(texts_of(state, deps).quoted_instead))
    return {"generation": text, "documents": documents, "grade": grade, "accepted": True, "usage": usage}


def _written_at_last(state: State, deps: Deps, emit: Emit) -> State:
    """Return what the model writes from the closest passages, as a draft if they hold all its sentences: a model may
    see an answer in other words that the evaluator has missed.
    """
    documents = [passage for passage in closest(state) if is_certain(passage)][: deps.k]
    if not documents or state.get("generation") or is_late(state):
        return {}
    question, attempt = standalone_of(state), Attempt(shape=shape_of(state, deps))
    text, usage = write(question, documents, attempt, deps, emit)
    if is_refusal(text):
        return {"usage": usage}
    grade = drafts.lowered(deps.engine.grade(question, documents, text), deps.thresholds.answer)
    written: State = {"generation": text, "documents": documents, "grade": grade, "usage": usage + grade.usage}
    if verdict_of(grade) == "useful":
        return {**written, "accepted": True}
    if grade.support != "fully" or not any(marks(text)):
        return {"usage": usage + grade.usage}
    return {**written, "drafts": [Draft.of({**state, **written}, grade)]}


def write(
    question: str,
    documents: Sequence[Document],
    attempt: Attempt,
    deps: Deps,
    emit: Emit,
    candidate: int = 1,
    before: str = "",
) -> tuple[str, Usage]:
    """Return the text that the engine writes, and its cost.

    `before` is the text that is shown in front of it.
    """
    parts: list[str] = []
    usage = Usage()
    for delta in deps.engine.answer(question, documents, attempt):
        deps.cancel.check()
        if delta.restart:
            parts.clear()
        parts.append(delta.text)
        usage += delta.usage or Usage()
        if delta.text or delta.restart:
            text = f"{before} {delta.text}" if delta.restart and before else delta.text
            emit(Token(text, attempt.number, delta.restart, candidate))
    text = "".join(parts).strip()
    if citations.reads_as_refusal(text):
        return attempt.shape.refusal, usage
    return citations.marked(text, documents, question) if deps.engine.writes and documents else text, usage
