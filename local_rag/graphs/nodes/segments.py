"""An answer part by part (Self-RAG, arXiv 2310.11511, algorithm 1): retrieve, write, check, and decide how to go on.

A part is written from the passages that the last retrieval brought, and its marks count in these. Once its support is
checked they are made to count in all passages that were collected, and the part is added to what is written. In the
paper a part that needs no retrieval is written from what the model knows; here every sentence stands in a passage, so
`no` ends the answer.
"""

from __future__ import annotations

from dataclasses import replace

from local_rag.core.events import Retrieved, Token
from local_rag.core.protocols import Attempt
from local_rag.core.verdicts import Grade, Graded, Need, Usage, overall
from local_rag.graphs import outcome, rules
from local_rag.graphs.deps import Deps
from local_rag.graphs.grades import without_unsupported
from local_rag.graphs.nodes.generation import write
from local_rag.graphs.nodes.graders import graded_passages, relevance_verdicts
from local_rag.graphs.nodes.node import Emit, counted, node
from local_rag.graphs.nodes.retrieval import in_prompt_order, named_documents, retrieved
from local_rag.graphs.nodes.routing import first_need
from local_rag.graphs.outcome import shape_of, texts_of
from local_rag.graphs.rules import budget_left, last_retrieved
from local_rag.graphs.state import State, standalone_of
from local_rag.text import citations
from local_rag.text.answer_texts import AnswerTexts, is_refusal
from local_rag.text.display import plural
from local_rag.text.marks import claims, gap, with_part, without_marks
from local_rag.text.metadata import chunk_id


@node("deciding what the answer needs", rules.next_part)
def decide_retrieval(state: State, deps: Deps, emit: Emit) -> State:
    """Self-RAG's Retrieve with its three values (table 1): over the question, and over what is written of the answer.

    δ decides between yes and no where the score is known; `continue` is taken at its word.
    """
    if not state.get("tried"):
        need, needed = first_need(state, deps)
        return _decided(need, "yes" if needed else "direct") | {"route": "vectorstore" if needed else "direct"}
    if not (state.get("segment") and budget_left(state, "steps")):
        why = "the steps are used up" if state.get("segment") else "these passages gave no further part"
        return {"step": "no", "why": why}
    if not _left(state, deps):
        return {"step": "no", "why": f"the answer has its {plural(deps.answer.sentences, 'sentence')}"}
    question, written = standalone_of(state), without_marks(state["written"])
    need = deps.engine.needs_retrieval(question, deps.index.catalog(), last_retrieved(state), written)
    step = need.retrieve
    query = need.query or f"{question} {without_marks(state['segment'])}"
    return _decided(need, step) | {"query": query if step == "yes" else state.get("query", question)}


def _decided(need: Need, step: str) -> State:
    verdict = Graded("need", need.retrieve, need.why)
    return {"step": step, "decisions": [verdict], "usage": need.usage}


@node(lambda state, deps: "retrieving for the next part" if state.get("written") else "retrieving")
def retrieve(state: State, deps: Deps, emit: Emit) -> State:
    """The k best passages that are not collected yet; after a rewritten query the answer begins anew."""
    query = state.get("query") or standalone_of(state)
    goes_on = bool(state.get("written")) and state.get("label") == "yes"
    collected = state.get("documents", []) if goes_on else []
    new = retrieved(state, deps, emit, query, [*state.get("rejected", ()), *map(chunk_id, collected)])
    emit(Retrieved(query, tuple(new)))
    turns = state.get("turns") or [{}]
    seen = [*state.get("nearest", ()), *new]
    new = new if goes_on else in_prompt_order(new, state.get("shown") or turns[-1].get("shown", []))
    update: State = {
        "query": query,
        "tried": [*state.get("tried", ()), query],
        "documents": [*collected, *new],
        "shown": [chunk_id(passage) for passage in new],
        "nearest": seen,
        "decisions": named_documents(new),
    }
    anew: State = {"generation": "", "written": "", "segment": "", "refused": [], "grade": None, "dropped": 0}
    return update if goes_on else {**update, **anew}


@node("grading the new passages", rules.some_new)
def grade_documents(state: State, deps: Deps, emit: Emit) -> State:
    """The retrieval grader on what the last retrieval brought; what was collected before stays.

    What is looked for after the first part is graded by its query: of the question it may hold no word.
    """
    new = last_retrieved(state)
    collected = [document for document in state.get("documents", []) if document not in new]
    judged: State = {**state, "documents": new}
    wanted = state.get("query", "") if state.get("written") else ""
    update = graded_passages(judged, relevance_verdicts(judged, deps, wanted))
    return {**update, "documents": [*collected, *update["documents"]]}


@node("writing the next part")
def generate(state: State, deps: Deps, emit: Emit) -> State:
    """Write the next part from the last passages, and nothing that stands already.

    A step is a part that is written; a generation is an answer that is begun, or a part that is written again.
    """
    refused, written = state.get("refused", []), state.get("written", "")
    tries = counted(state, "steps")
    if refused or not written:
        tries |= {"generations": tries.get("generations", 0) + 1}
    failed = [
        *((draft.text, outcome.why_rejected(draft.grade)) for draft in state.get("drafts", ())),
        *((text, why) for text, why in refused),
    ]
    shape = replace(shape_of(state, deps), sentences=max(1, _left(state, deps)))
    attempt = Attempt(len(failed) + 1, tuple(failed), written=without_marks(written), shape=shape)
    if written:
        emit(Token(f"{written}{gap(written)}", attempt.number, restart=True))
    text, usage = write(standalone_of(state), last_retrieved(state), attempt, deps, emit, before=written)
    return {"segment": "" if is_refusal(text) else text, "tries": tries, "usage": usage}


@node("checking the part", rules.part_supported)
def grade_segment(state: State, deps: Deps, emit: Emit) -> State:
    """ISSUP of the new part. One without full support is written again; at the end of the budgets what has none goes.

    A part that could not be checked stays and is marked so: writing it again would not help.
    """
    segment, passages = state.get("segment", ""), last_retrieved(state)
    if not segment:
        return {"step": "go on"}
    grade = deps.engine.grade(standalone_of(state), passages, segment, check="support")
    update: State = {
        "step": "go on",
        "usage": grade.usage,
        "decisions": [Graded("support", grade.support, grade.why)],
    }
    if grade.support in ("fully", "unparsed"):
        return {**update, **_added(state, segment, grade, texts_of(state, deps))}
    if budget_left(state, "generations") and budget_left(state, "steps"):
        why = "not supported by the passages" if grade.support == "no" else "only partly supported by the passages"
        refused = [*state.get("refused", ()), [without_marks(segment), "; ".join(filter(None, (why, grade.why)))]]
        return {**update, "step": "not supported", "refused": refused}
    segment, grade, removed = without_unsupported(segment, grade)
    if grade.support == "no":
        removed, segment = removed or [without_marks(segment)], ""
    update |= {"removed": [*state.get("removed", ()), *removed], "refused": [], "segment": ""}
    update["why"] = f"{plural(len(removed), 'sentence')} without support left out"
    return {**update, **_added(state, segment, grade, texts_of(state, deps))} if segment else update


def _left(state: State, deps: Deps) -> int:
    """How many sentences, items or rows the answer may still get (`answer.sentences`)."""
    return max(0, deps.answer.sentences - len(claims(state.get("written", ""))))


def _added(state: State, segment: str, grade: Grade, texts: AnswerTexts) -> State:
    """A checked part behind what is written: its marks count in all passages then, its grade goes into that of all."""
    documents, passages = state.get("documents", []), last_retrieved(state)
    places = {n: documents.index(passage) + 1 for n, passage in enumerate(passages, start=1)}
    marked, dropped = citations.remapped(segment, places, passages)
    before = state.get("written", "")
    checked = citations.check(with_part(before, marked), documents)
    checked = replace(checked, dropped=checked.dropped + dropped + state.get("dropped", 0))
    return {
        "written": checked.text,
        "generation": checked.text,
        "segment": segment,
        "refused": [],
        "status": checked.status,
        "reason": outcome.reason_of(checked, has_passages=True, texts=texts),
        "dropped": checked.dropped,
        "grade": _support_of_all(state.get("grade"), grade, checked.text),
    }


def _support_of_all(before: Grade | None, new: Grade, text: str) -> Grade:
    """The support of all parts; of the single sentences only where each of them was looked at."""
    new = replace(new, usage=Usage(), score=None, usefulness=0)
    if before is None:
        return new
    sentences = (*before.sentences, *new.sentences)
    each = sentences if before.sentences and new.sentences and len(sentences) == len(claims(text)) else ()
    why = "; ".join(filter(None, (before.why, new.why)))
    return replace(new, support=overall(each or (before.support, new.support)), sentences=each, why=why)
