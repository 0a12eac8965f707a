"""Self-RAG's candidates: drafts, each over another part of the passages, and the best of them by its critique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.documents import Document

from local_rag.core.generation import NOT_IN_PASSAGES
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Grade, Graded
from local_rag.graphs import candidate_ranking, outcome
from local_rag.graphs.grades import combined, enough, without_unsupported
from local_rag.graphs.nodes.common import attempt_of, write
from local_rag.graphs.nodes.node import Emit, asked, counted, id_of, log, node, usage_of
from local_rag.graphs.state import Candidate, Deps, State, Update
from local_rag.text import citations


@node(lambda state: "writing drafts" if not state.get("drafts") else "writing drafts again")
def generate(state: State, deps: Deps, emit: Emit) -> Update:
    """Write a draft from each part of the documents; which is best is decided next."""
    documents = state.get("documents", [])
    tries, usage = counted(state, "generations"), usage_of(state)
    attempt = replace(attempt_of(state, tries), scored=True)
    drafts: list[Candidate] = []
    best = sorted(range(len(documents)), key=lambda place: -float(documents[place].metadata.get("rank_score") or 0.0))
    for number, turns in enumerate(candidate_ranking.parts(len(documents), deps.self_rag.candidates), start=1):
        part = sorted(best[turn] for turn in turns)  # as they were shown before
        mine = [documents[place] for place in part]
        text, cost, logprobs = write(asked(state), mine, attempt, deps, emit, number)
        usage += cost
        if text not in ("", NOT_IN_PASSAGES):
            marked, dropped = citations.remapped(text, [place + 1 for place in part], mine)
            drafts.append(Candidate(marked, _relevance(state, mine), candidate_ranking.probability(logprobs), dropped))
    written = _chosen(drafts[0], None, documents) if drafts else _NOTHING
    return written | {"candidates": drafts, "removed": [], "tries": tries, "usage": usage}


_NOTHING: Update = {
    "generation": NOT_IN_PASSAGES,
    "status": "abstained",
    "reason": "the passages found do not contain the answer",
    "dropped": 0,
    "grade": None,
}


@node(lambda state: "comparing the drafts")
def rank_candidates(state: State, deps: Deps, emit: Emit) -> Update:
    """Grade every draft and keep the best; sentences without support are dropped first where that is asked for."""
    documents, usage = state.get("documents", []), usage_of(state)
    ranked: list[tuple[float, Candidate, Grade, list[str]]] = []
    graded: list[Graded] = []
    for number, draft in enumerate(state.get("candidates", ()), start=1):
        grade = deps.engine.grade(asked(state), documents, draft.text)
        usage += grade.usage
        grade = replace(grade, usage=Usage())
        removed: list[str] = []
        if deps.self_rag.hard_constraint:
            draft, grade, removed = _constrained(state, deps, draft, grade)
            usage += grade.usage
        value = candidate_ranking.score(draft.relevance, grade, draft.probability) if draft.text else float("-inf")
        graded.append(
            Graded("candidate", str(number), _why(draft, grade, removed), score=value if draft.text else None)
        )
        if draft.text:
            ranked.append((value, draft, grade, removed))
    if not ranked:
        return _NOTHING | {"usage": usage, "decisions": log(state, emit, *graded)}
    _, best, grade, removed = max(ranked, key=lambda one: one[0])
    update = _chosen(best, replace(enough(grade, deps.thresholds.answer), usage=Usage()), documents)
    chosen = Graded("rank_candidates", "chosen", f"{len(ranked)} of {len(graded)} drafts could be used")
    return update | {"removed": removed, "usage": usage, "decisions": log(state, emit, *graded, chosen)}


def _constrained(state: State, deps: Deps, draft: Candidate, grade: Grade) -> tuple[Candidate, Grade, list[str]]:
    """A draft without its unsupported sentences, graded anew for what is left; the grade carries that call alone."""
    text, left, removed = without_unsupported(draft.text, grade)
    if removed and text:
        left = combined(left, deps.engine.grade(asked(state), state.get("documents", []), text, check="usefulness"))
    return replace(draft, text=text), left, removed


def _chosen(best: Candidate, grade: Grade | None, documents: Sequence[Document]) -> Update:
    """A draft as the generation; numbers that its own passages did not have count as dropped."""
    found = citations.check(best.text, documents)
    checked = replace(found, dropped=found.dropped + best.dropped)
    return {
        "generation": checked.text,
        "status": checked.status,
        "reason": outcome.reason_of(checked, found=True),
        "dropped": checked.dropped,
        "grade": grade,
    }


def _relevance(state: State, documents: Sequence[Document]) -> float:
    """s_rel of a part: the mean of its passages' scores; 1 for a passage that was only called relevant."""
    scores = state.get("scores", {})
    return sum(scores.get(id_of(document), 1.0) for document in documents) / len(documents)


def _why(draft: Candidate, grade: Grade, removed: Sequence[str]) -> str:
    parts = [
        f"relevance {draft.relevance:.2f}",
        f"support {candidate_ranking.support(grade):.2f}",
        f"usefulness {candidate_ranking.usefulness(grade):+.2f}",
        f"probability {draft.probability:.2f}" if draft.probability is not None else "",
        f"{len(removed)} without support dropped" if removed else "",
        "nothing left of it" if not draft.text else "",
    ]
    return ", ".join(filter(None, parts))
