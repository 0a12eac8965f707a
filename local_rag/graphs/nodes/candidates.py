"""Write several drafts, each from another part of the passages, and choose the best by Self-RAG's critique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from local_rag.core.verdicts import Grade, Graded, Usage, draft_score, support_of, usefulness_or_worst
from local_rag.graphs.deps import Deps, texts_of
from local_rag.graphs.drafts import combined, grade_of, lowered, without_unsupported
from local_rag.graphs.nodes.generation import attempt_of, write
from local_rag.graphs.nodes.node import Emit, counted, node
from local_rag.graphs.state import Candidate, State, standalone_of
from local_rag.text import citations
from local_rag.text.answer_language import is_refusal
from local_rag.text.metadata import chunk_id


@node(lambda state, deps: "writing drafts again" if state.get("drafts") else "writing drafts")
def generate(state: State, deps: Deps, emit: Emit) -> State:
    """Write a draft from each part of the documents; the best one is chosen next."""
    documents, question = state.get("documents", []), standalone_of(state)
    tries, usage = counted(state, "generations"), Usage()
    attempt, scores = attempt_of(state, tries, deps), state.get("scores", {})
    drafts: list[Candidate] = []
    ranking = sorted(range(len(documents)), key=lambda n: -float(documents[n].metadata.get("rank_score") or 0.0))
    for first in range(min(len(documents), deps.self_rag.candidates)):  # dealt out, so that each has a good one
        positions = sorted(ranking[first :: deps.self_rag.candidates])  # as they were shown before
        part = [documents[position] for position in positions]
        text, cost = write(question, part, attempt, deps, emit, first + 1)
        usage += cost
        if text and not is_refusal(text):
            places = {n: position + 1 for n, position in enumerate(positions, start=1)}
            marked = citations.remapped(text, places, part)
            # s_rel: a passage that was only called relevant counts 1
            relevance = sum(scores.get(chunk_id(document), 1.0) for document in part) / len(part)
            drafts.append(Candidate(marked, relevance))
    best = drafts[0] if drafts else None
    return _chosen(state, deps, best) | {"candidates": drafts, "removed": [], "tries": tries, "usage": usage}


@node("comparing the drafts")
def rank_candidates(state: State, deps: Deps, emit: Emit) -> State:
    """Grade every draft and keep the best; with `hard_constraint`, remove sentences without support first."""
    documents, usage = state.get("documents", []), Usage()
    ranked: list[tuple[float, Candidate, Grade, list[str]]] = []
    decisions: list[Graded] = []
    for number, draft in enumerate(state.get("candidates", ()), start=1):
        grade = grade_of(state, deps, documents, draft.text)
        usage += grade.usage
        grade = replace(grade, usage=Usage())
        removed: list[str] = []
        if deps.self_rag.hard_constraint:
            draft, grade, removed = _constrained(state, deps, draft, grade)
            usage += grade.usage
        score = draft_score(draft.relevance, grade) if draft.text else None
        decisions.append(Graded("candidate", str(number), _why(draft, grade, removed), score=score))
        if score is not None:
            ranked.append((score, draft, grade, removed))
    if not ranked:
        return _chosen(state, deps, None) | {"usage": usage, "decisions": decisions}
    _, best, grade, removed = max(ranked, key=lambda candidate: candidate[0])
    grade = replace(lowered(grade, deps.thresholds.answer), usage=Usage())
    decisions.append(Graded("rank_candidates", "chosen", f"{len(ranked)} of {len(decisions)} drafts could be used"))
    return _chosen(state, deps, best, grade) | {"removed": removed, "usage": usage, "decisions": decisions}


def _constrained(state: State, deps: Deps, draft: Candidate, grade: Grade) -> tuple[Candidate, Grade, list[str]]:
    """Return a draft without its unsupported sentences, graded anew; the grade carries the cost of that call alone."""
    text, left, removed = without_unsupported(draft.text, grade)
    if removed and text:
        again = grade_of(state, deps, state.get("documents", []), text, "usefulness")
        left = combined(left, again)
    return replace(draft, text=text), left, removed


def _chosen(state: State, deps: Deps, best: Candidate | None, grade: Grade | None = None) -> State:
    """Return the update for the chosen draft, or for the refusal if there is none."""
    text = best.text if best else texts_of(state, deps).refusal
    return {"generation": text, "accepted": False, "grade": grade}


def _why(draft: Candidate, grade: Grade, removed: Sequence[str]) -> str:
    parts = [
        f"relevance {draft.relevance:.2f}",
        f"support {support_of(grade) or 0.0:.2f}",
        f"usefulness {usefulness_or_worst(grade):+.2f}",
        f"{len(removed)} without support dropped" if removed else "",
        "nothing left of it" if not draft.text else "",
    ]
    return ", ".join(filter(None, parts))
