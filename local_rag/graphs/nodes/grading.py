"""The graders: of what was retrieved, and of what was written. A verdict is in the state before an edge reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from langchain_core.documents import Document

from local_rag.core.generation import NOT_IN_PASSAGES
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Check, Grade, Graded, Relevance
from local_rag.graphs import edges, outcome
from local_rag.graphs.grades import combined, enough
from local_rag.graphs.nodes.node import Emit, Node, after, asked, id_of, log, node, rejected, usage_of
from local_rag.graphs.state import Deps, State, Update
from local_rag.text.display import plural


def _grading(state: State) -> str:
    found = len(state.get("documents", ()))
    return f"grading {plural(found, 'passage')}" if found else "no new passage to grade"


def grade_documents(edge: Callable[[State], str], verdict: Callable[[State], str] | None = None) -> Node:
    """The retrieval grader. `edge` is the rule that leads on; `verdict` names the outcome where that says more."""
    by_scores = verdict is edges.crag_action

    @node(_grading)
    def grade_documents(state: State, deps: Deps, emit: Emit) -> Update:
        """Keep the documents that the engine finds relevant to the question (not to the query)."""
        documents = state.get("documents", [])
        found = deps.engine.relevance(asked(state), documents, scored=deps.scored) if documents else []
        verdicts = [_by_threshold(one, deps.thresholds.relevance) for one in found]
        unread = outcome.unread_passages(state)
        pairs = list(zip(documents, verdicts, strict=True))
        update: Update = {
            "documents": [document for document, grade in pairs if grade.label == "relevant"],
            "retrieved": len(documents),
            "rejected": rejected(state, [document for document, grade in pairs if _is_out(document, grade, unread)]),
            "scores": {id_of(document): grade.score for document, grade in pairs if grade.score is not None},
            "usage": sum((grade.usage for grade in verdicts), usage_of(state)),
            "generation": state.get("generation", ""),
        }
        if by_scores and deps.crag.trigger == "thresholds":
            update |= _acted(documents, verdicts, update["documents"], deps)
        label = (verdict or edge)(after(state, update, deps))
        why = f"{len(update['documents'])} of {plural(len(documents), 'passage')} relevant"
        graded = [_graded(document, grade) for document, grade in pairs]
        return update | {"decisions": log(state, emit, *graded, Graded("grade_documents", label, why))}

    return grade_documents


def _by_threshold(verdict: Relevance, threshold: float | None) -> Relevance:
    """The word by the score, where a threshold is set and the score is known."""
    if threshold is None or verdict.score is None or verdict.label == "unparsed":
        return verdict
    return replace(verdict, label="relevant" if verdict.score >= threshold else "irrelevant")


def _is_out(document: Document, grade: Relevance, unread: set[str]) -> bool:
    return grade.label == "irrelevant" or (grade.label == "unparsed" and id_of(document) in unread)


def _acted(documents: Sequence[Document], verdicts: Sequence[Relevance], kept: list[Document], deps: Deps) -> Update:
    """CRAG's action by the scores, and what it leaves: what is relevant by word or score, else what is not out."""
    action = edges.action_by_scores(verdicts, deps.crag.upper, deps.crag.lower)
    pairs = [(one, grade.score) for one, grade in zip(documents, verdicts, strict=True) if grade.score is not None]
    good = [one for one, score in pairs if score > deps.crag.upper]
    kept = [one for one in documents if one in kept or one in good]
    if action != "incorrect" and not kept:
        kept = [one for one, score in pairs if score >= deps.crag.lower]
    return {"action": action, "documents": [] if action == "incorrect" else kept}


def grade_generation(edge: Callable[[State], str]) -> Node:
    """The hallucination grader and the answer grader in one node. `edge` is the rule that leads on."""

    @node(lambda state: "checking the answer")
    def grade_generation(state: State, deps: Deps, emit: Emit) -> Update:
        """Is the generation supported by the documents, and does it answer the question?"""
        return _judged(state, deps, emit, edge, "grade_generation", "both")

    return grade_generation


def grade_generation_v_documents(edge: Callable[[State], str]) -> Node:
    """The hallucination grader alone, as in the early notebook."""

    @node(lambda state: "checking the answer against the passages")
    def grade_generation_v_documents(state: State, deps: Deps, emit: Emit) -> Update:
        """Is the generation supported by the documents?"""
        return _judged(state, deps, emit, edge, "grade_generation_v_documents", "support")

    return grade_generation_v_documents


@node(lambda state: "before the final grade")
def prepare_for_final_grade(state: State, deps: Deps, emit: Emit) -> Update:
    """The early notebook's node between the two graders: it passes the state through."""
    return {"generation": state.get("generation", "")}


def grade_generation_v_question(edge: Callable[[State], str]) -> Node:
    """The answer grader alone, as in the early notebook."""

    @node(lambda state: "checking the answer against the question")
    def grade_generation_v_question(state: State, deps: Deps, emit: Emit) -> Update:
        """Does the generation answer the question?"""
        return _judged(state, deps, emit, edge, "grade_generation_v_question", "usefulness")

    return grade_generation_v_question


def _judged(state: State, deps: Deps, emit: Emit, edge: Callable[[State], str], name: str, check: Check) -> Update:
    """One verdict on the generation, what follows from it, and the label that leads on."""
    text = state.get("generation", "")
    update: Update = {"generation": text}
    if text in ("", NOT_IN_PASSAGES):
        graded = [Graded("answered", "no", "the passages do not contain the answer")]
        update |= {"grade": None, "rejected": rejected(state, state.get("documents", []))}
    else:
        grade, usage = _grade(state, deps, check)
        graded = _shown(grade, check)
        update |= {"grade": grade, "usage": usage_of(state) + usage} | _follows(state, grade, check, deps)
    label = edge(after(state, update, deps))
    return update | {"decisions": log(state, emit, *graded, Graded(name, label))}


def _grade(state: State, deps: Deps, check: Check) -> tuple[Grade, Usage]:
    """The verdict, and what it cost now: a candidate was graded already, and separate verdicts are put together."""
    known = state.get("grade")
    if known is not None and (check != "usefulness" or known.usefulness):
        return known, Usage()
    documents, text = state.get("documents", []), state.get("generation", "")
    found = deps.engine.grade(asked(state), documents, text, check=check)
    usage = found.usage
    if known is not None:
        found = combined(known, found)
    return enough(found, deps.thresholds.answer), usage


def _shown(grade: Grade, check: Check) -> list[Graded]:
    support = Graded("support", grade.support, grade.why, score=grade.support_score)
    usefulness = Graded("usefulness", str(grade.usefulness), grade.why * (check == "usefulness"), score=grade.score)
    return {"both": [support, usefulness], "support": [support], "usefulness": [usefulness]}[check]


def _follows(state: State, grade: Grade, check: Check, deps: Deps) -> Update:
    """The status of a good answer, or a rejected draft; what is only half judged is neither."""
    if edges.verdict_of(grade) == "useful":
        return outcome.useful(state)
    if check == "support" and grade.support == "fully":
        return {}
    return {"drafts": [*state.get("drafts", ()), outcome.draft_of(state, grade)]}


def _graded(document: Document, grade: Relevance) -> Graded:
    source = str(document.metadata.get("source", ""))
    return Graded("relevance", grade.label, grade.why, id_of(document), grade.score, source)
