"""Grade the retrieved passages and the written answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langchain_core.documents import Document

from local_rag.core.verdicts import Check, Grade, Graded, Relevance, Usage
from local_rag.graphs import rules
from local_rag.graphs.deps import Deps, texts_of
from local_rag.graphs.drafts import combined, grade_of, lowered, unchecked, why_rejected
from local_rag.graphs.nodes.node import Emit, Node, Rule, node, rejected
from local_rag.graphs.state import Draft, State, standalone_of
from local_rag.text.display import plural
from local_rag.text.metadata import chunk_id


def grading(state: State, deps: Deps) -> str:
    """Return the text that a person is shown while passages are graded."""
    passages = len(state.get("documents", ()))
    return f"grading {plural(passages, 'passage')}" if passages else "no new passage to grade"


def passage_grader(rule: Rule = rules.some_relevant) -> Node:
    """Make the node of the retrieval grader; its rule decides the next step if no document is relevant."""

    @node(grading, rule)
    def grade_documents(state: State, deps: Deps, emit: Emit) -> State:
        """Keep the documents that are relevant to the question (not to the query)."""
        return graded_passages(state, relevance_verdicts(state, deps))

    return grade_documents


def relevance_verdicts(state: State, deps: Deps, wanted: str = "") -> list[Relevance]:
    """Return one verdict per document, in order; by its score if a threshold is set and the score is known.

    `wanted` is the text that they should help with, by default the question.
    """
    documents, threshold = state.get("documents", []), deps.thresholds.relevance
    if not documents:
        return []
    verdicts = deps.engine.relevance(wanted or standalone_of(state), documents)
    return [
        verdict
        if threshold is None or verdict.score is None or verdict.label == "unparsed"
        else replace(verdict, label="relevant" if verdict.score >= threshold else "irrelevant")
        for verdict in verdicts
    ]


def graded_passages(state: State, verdicts: Sequence[Relevance], kept: Sequence[Document] | None = None) -> State:
    """Return the update after a retrieval grader: `kept`, or the relevant documents, and the verdict on each."""
    documents = state.get("documents", [])
    pairs = list(zip(documents, verdicts, strict=True))
    if kept is None:
        kept = [document for document, verdict in pairs if verdict.label == "relevant"]
    unread = rules.unread_passages(state)
    refused = [  # irrelevant, or without a usable verdict for the second time
        document
        for document, verdict in pairs
        if verdict.label == "irrelevant" or (verdict.label == "unparsed" and chunk_id(document) in unread)
    ]
    return {
        "documents": list(kept),
        "graded": in_last_prompt(documents, verdicts) or state.get("graded", []),
        "retrieved": len(documents),
        "rejected": rejected(state, refused),
        "scores": {chunk_id(document): verdict.score for document, verdict in pairs if verdict.score is not None},
        "usage": usage_of(verdicts),
        "decisions": [graded_passage(document, verdict) for document, verdict in pairs],
        "why": f"{len(kept)} of {plural(len(documents), 'passage')} relevant",
    }


def in_last_prompt(documents: Sequence[Document], verdicts: Sequence[Relevance]) -> list[Document]:
    """Return the documents that stood in the last prompt of the retrieval grader; none if no model has read them."""
    return [document for document, verdict in zip(documents, verdicts, strict=True) if verdict.shown]


def usage_of(verdicts: Sequence[Relevance]) -> Usage:
    """Return the cost of verdicts."""
    return sum((verdict.usage for verdict in verdicts), Usage())


def graded_passage(document: Document, verdict: Relevance, kind: str = "relevance") -> Graded:
    """Return the retrieval grader's verdict on a passage for the log; the kind `web` is for passages that are not from
    the files.
    """
    source = str(document.metadata.get("source", ""))
    return Graded(kind, verdict.label, verdict.why, chunk_id(document), verdict.score, source)


_GRADERS: Mapping[Check, tuple[str, str]] = {
    "both": ("grade_generation", "checking the answer"),
    "support": ("grade_generation_v_documents", "checking the answer against the passages"),
    "usefulness": ("grade_generation_v_question", "checking the answer against the question"),
}
"""The name of each grader of a generation, and the text that a person is shown while it works."""


def generation_grader(rule: Rule, check: Check = "both") -> Node:
    """Make the node of the hallucination grader (`support`), of the answer grader (`usefulness`), or of both.

    The rule decides what follows from the verdict.
    """
    name, doing = _GRADERS[check]

    @node(doing, rule, name=name)
    def grade(state: State, deps: Deps, emit: Emit) -> State:
        if rules.is_fixed_reply(state):
            verdict = Graded("answered", "no", "the passages do not contain the answer")
            refused = rejected(state, state.get("documents", []))
            return {"grade": None, "rejected": refused, "decisions": [verdict]}
        grade, usage = _grade(state, deps, check)
        support = Graded("support", grade.support, grade.why)
        why = grade.why if check == "usefulness" else ""
        useful = Graded("usefulness", str(grade.usefulness), why, score=grade.score)
        logged = {"both": [support, useful], "support": [support], "usefulness": [useful]}[check]
        update: State = {"grade": grade, "usage": usage, "decisions": logged}
        return update | _consequence(state, deps, grade, check)

    return grade


def _grade(state: State, deps: Deps, check: Check) -> tuple[Grade, Usage]:
    """Return the verdict and its new cost: a candidate was graded already, and separate verdicts are combined."""
    known = state.get("grade")
    if known is not None and (check != "usefulness" or known.usefulness):
        return known, Usage()
    grade = grade_of(state, deps, state.get("documents", []), state.get("generation", ""), check)
    usage = grade.usage
    if known is not None:
        grade = combined(known, grade)
    return lowered(grade, deps.thresholds.answer), usage


def _consequence(state: State, deps: Deps, grade: Grade, check: Check) -> State:
    """Accept a good answer, and make a bad one a rejected draft; a supported text without a usefulness
    yet is neither.
    """
    if check == "support" and grade.support == "fully":
        return {}
    if rules.verdict_of(grade) == "useful":
        return {"accepted": True}
    draft = Draft.of(state, grade, why=why_rejected(grade, texts_of(state, deps)))
    update: State = {"drafts": [*state.get("drafts", ()), draft]}
    by_evaluator = deps.engine.writes and deps.engine.grades_by == "evaluator"  # then `give_up` quotes instead
    return update | {"spent": ["generations"]} if unchecked(grade) or by_evaluator else update


@node("preparing the final grade")
def prepare_for_final_grade(state: State, deps: Deps, emit: Emit) -> State:
    """Do nothing between the two graders, as in the early notebook."""
    return {}
