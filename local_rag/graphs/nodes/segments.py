"""Answer part by part (Self-RAG, arXiv 2310.11511, algorithm 1): retrieve, write, check, and decide how to go on.

A part is written from the passages of the last retrieval, and its marks count in these. After its support is checked,
its marks are renumbered for all collected passages, and the part is added to `generation`. In the paper a part that
needs no retrieval is written from the model's knowledge; here every sentence stands in a passage, so `no` ends the
answer, and so does a part without any support.
"""

from __future__ import annotations

from dataclasses import replace

from local_rag.core.events import Token
from local_rag.core.verdicts import Grade, Graded, Need
from local_rag.graphs import rules
from local_rag.graphs.deps import Deps
from local_rag.graphs.drafts import grade_of, of_parts, without_unsupported
from local_rag.graphs.nodes.generation import attempt_of, write
from local_rag.graphs.nodes.graders import graded_passages, relevance_verdicts
from local_rag.graphs.nodes.node import Emit, counted, node, rejected
from local_rag.graphs.nodes.retrieval import retrieval_update, retrieved
from local_rag.graphs.nodes.routing import first_need
from local_rag.graphs.rules import budget_left, last_retrieved
from local_rag.graphs.state import State, standalone_of
from local_rag.text import citations
from local_rag.text.answer_language import is_refusal
from local_rag.text.display import plural
from local_rag.text.marks import claims, gap, with_part, without_marks


@node("deciding what the answer needs", rules.next_part)
def decide_retrieval(state: State, deps: Deps, emit: Emit) -> State:
    """Decide on Self-RAG's Retrieve with its three values (table 1): first by the question, then by the text so far."""
    if not state.get("tried"):
        need, needed = first_need(state, deps)
        return _decided(need, "yes" if needed else "direct") | {"route": "vectorstore" if needed else "direct"}
    if why := _why_it_ends(state, deps):
        return {"step": "no", "why": why}
    question, written = standalone_of(state), without_marks(state["generation"])
    catalog, passages = deps.index.catalog(), last_retrieved(state)
    need = deps.engine.needs_retrieval(question, catalog, passages, written, state.get("graded", ()))
    update = _decided(need, need.retrieve)
    if need.retrieve == "yes":
        update["query"] = need.query or f"{question} {without_marks(state['segment'])}"
    return update


def _why_it_ends(state: State, deps: Deps) -> str:
    """Return why the answer gets no further part, whatever it lacks; empty if it may get one."""
    if not state.get("segment"):
        return "these passages gave no further part"
    if not budget_left(state, "steps"):
        return "the steps are used up"
    return "" if _left(state, deps) else f"the answer has its {plural(deps.answer.sentences, 'sentence')}"


def _decided(need: Need, step: str) -> State:
    return {"step": step, "decisions": [Graded("need", need.retrieve, need.why)], "usage": need.usage}


@node(lambda state, deps: "retrieving for the next part" if state.get("generation") else "retrieving")
def retrieve(state: State, deps: Deps, emit: Emit) -> State:
    """Retrieve the k best passages that are not collected yet; the answer begins again unless a further part was
    decided on.
    """
    if state.get("step") != "yes":
        state = {**state, "generation": "", "documents": []}
    query, collected = state.get("query") or standalone_of(state), state.get("documents", [])
    new = retrieved(state, deps, emit, query, rejected(state, collected))
    update = retrieval_update(state, deps, emit, query, new, collected)
    update["step"] = ""  # the decision holds for this retrieval, and not for one after a rewriting
    anew: State = {"generation": "", "segment": "", "grade": None}
    return update if state.get("generation") else update | anew


@node("grading the new passages", rules.some_new)
def grade_documents(state: State, deps: Deps, emit: Emit) -> State:
    """Grade the passages of the last retrieval; those that were collected before stay.

    Passages for a later part are graded by its query, because they may hold no word of the question.
    """
    new = last_retrieved(state)
    collected = [document for document in state.get("documents", []) if document not in new]
    judged: State = {**state, "documents": new}
    wanted = state.get("query", "") if state.get("generation") else ""
    update = graded_passages(judged, relevance_verdicts(judged, deps, wanted))
    return {**update, "documents": [*collected, *update["documents"]]}


@node("writing the next part")
def generate(state: State, deps: Deps, emit: Emit) -> State:
    """Write the next part from the last passages, without repeating the text so far.

    A step is a part that is written; a generation is an answer that is begun.
    """
    written, tries = state.get("generation", ""), counted(state, "steps")
    if not written:
        tries |= {"generations": tries.get("generations", 0) + 1}
    attempt = attempt_of(state, tries, deps)
    shape = replace(attempt.shape, sentences=max(1, _left(state, deps)))
    attempt = replace(attempt, written=without_marks(written), shape=shape)
    if written:
        emit(Token(f"{written}{gap(written)}", attempt.number, restart=True))
    text, usage = write(standalone_of(state), last_retrieved(state), attempt, deps, emit, before=written)
    return {"segment": "" if is_refusal(text) else text, "tries": tries, "usage": usage}


@node("checking the part")
def grade_segment(state: State, deps: Deps, emit: Emit) -> State:
    """Grade the support of the new part (ISSUP), and remove its sentences without any.

    A part that could not be checked stays and is marked as unchecked.
    """
    part, passages = state.get("segment", ""), last_retrieved(state)
    if not part:
        return {}
    grade = grade_of(state, deps, passages, part, "support")
    update: State = {"usage": grade.usage, "decisions": [Graded("support", grade.support, grade.why)]}
    removed: list[str] = []
    if grade.support not in ("fully", "unparsed"):
        part, grade, removed = without_unsupported(part, grade)
    update |= {"segment": part, "removed": [*state.get("removed", ()), *removed]}
    return update | _added(state, deps, part, grade) if part else update


def _left(state: State, deps: Deps) -> int:
    """Return how many sentences, items or rows the answer may still get (`answer.sentences`)."""
    return max(0, deps.answer.sentences - len(claims(state.get("generation", ""))))


def _added(state: State, deps: Deps, part: str, grade: Grade) -> State:
    """Add a checked part to the text: renumber its marks for all passages, and combine its grade with
    that of the text.
    """
    documents, passages = state.get("documents", []), last_retrieved(state)
    places = {n: documents.index(passage) + 1 for n, passage in enumerate(passages, start=1)}
    whole = with_part(state.get("generation", ""), citations.remapped(part, places, passages))
    return {"generation": whole, "grade": of_parts(state.get("grade"), grade, whole)}
