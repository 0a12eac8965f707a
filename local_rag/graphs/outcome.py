"""How a graph ends: the status of an answer, rejected drafts, and giving up."""

from __future__ import annotations

from local_rag import citations
from local_rag.graphs.state import TIME, Deps, Draft, State, Update
from local_rag.text import plural
from local_rag.types import NOT_IN_PASSAGES, OUT_OF_TIME, Grade, Status

WORTH_SHOWING = 3
"""A supported answer of at least this usefulness is shown as `partial` when the tries are used up."""


def best_or_abstention(state: State, deps: Deps) -> Update:
    """The best rejected draft that is worth showing, marked as what it is, else an abstention with its reason."""
    drafts = [draft for draft in (*state.get("drafts", ()), *_unchecked(state)) if _worth_showing(draft)]
    late = f"{OUT_OF_TIME} after {deps.limits.seconds:g} s" if deps.cancel.expired else ""
    if drafts:
        best = max(drafts, key=lambda draft: (_SUPPORT[draft.grade.support], draft.grade.usefulness))
        return {
            "generation": best.text,
            "documents": list(best.documents),
            "status": best.status,
            "reason": "; ".join(filter(None, (late, best.why))),
            "grade": best.grade,
            "dropped": best.dropped,
        }
    return {
        "generation": NOT_IN_PASSAGES,
        "documents": [],
        "status": "abstained",
        "reason": late or _why_nothing(state),
        "dropped": 0,
    }


_SUPPORT = {"fully": 3, "partially": 2, "no": 1, "unparsed": 0}


def _unchecked(state: State) -> list[Draft]:
    """The last generation, where the clock left no time to grade it."""
    text, grade = state.get("generation", ""), state.get("grade")
    if text in ("", NOT_IN_PASSAGES) or (grade and grade.support != "unparsed"):
        return []
    status: Status = "partial" if state.get("status") in ("grounded", "partial") else "ungrounded"
    return [_made(state, Grade("unparsed", 0), status, "no time was left to check it")]


def _worth_showing(draft: Draft) -> bool:
    return draft.grade.support != "fully" or draft.grade.usefulness >= WORTH_SHOWING


def _why_nothing(state: State) -> str:
    if state.get("drafts"):
        return "what the passages say does not answer the question"
    if any(one.kind == "web_search" and one.verdict == "refused" for one in state.get("decisions", ())):
        return "the files do not answer it, and the web was not asked: the query was not allowed to leave"
    if not state.get("nearest"):
        return "nothing was found"
    if unread := unread_passages(state):
        return f"the grader gave no usable verdict on {plural(len(unread), 'passage')}, and found no other that answers"
    if state.get("rejected") and not state.get("documents"):
        return f"none of the {plural(len(state['rejected']), 'passage')} found answers the question"
    return "the passages found do not contain the answer"


def unread_passages(state: State) -> set[str]:
    """The chunk ids of the passages on which the grader gave no usable verdict."""
    read = (one for one in state.get("decisions", ()) if one.kind == "relevance" and one.verdict == "unparsed")
    return {one.chunk_id or "" for one in read}


def out_of_time(state: State, deps: Deps) -> Update:
    """What a node returns that could not start or finish: the best there is, marked, so that any next node may end."""
    return best_or_abstention(state, deps) | {"spent": [TIME]}


def useful(state: State) -> Update:
    """The status of an answer that passed its graders: never better than its citations."""
    if state.get("status") in ("grounded", None):
        return {"status": "grounded", "reason": ""}
    return {"status": "partial", "reason": state.get("reason", "")}


def draft_of(state: State, grade: Grade) -> Draft:
    """The rejected generation with its passages; the next attempt is told why."""
    status: Status = "partial" if grade.support in ("fully", "partially") else "ungrounded"
    why = {
        "fully": f"supported, but it does not answer the question well (usefulness {grade.usefulness} of 5)",
        "partially": "only partly supported by the passages",
        "no": "not supported by the passages",
        "unparsed": "it could not be checked: the grader gave no usable verdict",
    }[grade.support]
    why = f"{why}: {grade.why}" if grade.why else why
    return _made(state, grade, status, why)


def _made(state: State, grade: Grade, status: Status, why: str) -> Draft:
    documents = tuple(state.get("documents", ()))
    return Draft(state.get("generation", ""), documents, grade, status, why, state.get("dropped", 0))


def reason_of(checked: citations.Checked, found: bool) -> str:
    """Why the citations alone allow no better status."""
    if checked.status == "abstained":
        return "the passages found do not contain the answer" if found else "nothing was found"
    unverified = sum(not citation.verified for citation in checked.citations)
    parts = [
        f"{plural(unverified, 'citation')} could not be verified" if unverified else "",
        f"{plural(checked.uncited, 'sentence')} without a citation" if checked.uncited else "",
        f"{plural(checked.dropped, 'citation')} of unknown passages dropped" if checked.dropped else "",
    ]
    return "; ".join(filter(None, parts))
