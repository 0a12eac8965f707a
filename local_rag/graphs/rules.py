"""Decide which label follows from a state. A node evaluates its rule once, after its work; edges only
read the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langchain_core.documents import Document

from local_rag.core.answer import BudgetKind
from local_rag.core.verdicts import Grade, Relevance
from local_rag.graphs.deps import TIME
from local_rag.graphs.state import Action, State
from local_rag.text.answer_language import is_refusal
from local_rag.text.metadata import chunk_id

USEFUL = 4
"""The least usefulness of an answer that counts as `useful` (ISUSE 4 and 5 of Self-RAG, table 1)."""

Verdict = Literal["useful", "not useful", "not supported"]


def is_late(state: State) -> bool:
    """Return whether the time is up."""
    return TIME in state.get("spent", ())


def budget_left(state: State, kind: BudgetKind) -> bool:
    """Return whether both a budget and time are left."""
    return kind not in state.get("spent", ()) and not is_late(state)


def closest(state: State) -> list[Document]:
    """Return the passages seen, the closest first: by grade and then in the order of retrieval.

    So passages of the question come before those of its rewrites. Similarities to two queries cannot be compared;
    grades can, in tenths, below which they differ by chance.
    """
    grades: dict[str | None, int] = {}
    for each in state.get("decisions", ()):
        if each.kind == "relevance":
            score = float(each.verdict == "relevant") if each.score is None else each.score
            grades[each.chunk_id] = max(int(10 * score), grades.get(each.chunk_id, 0))
    passages = {chunk_id(passage): passage for passage in state.get("nearest", ())}
    return sorted(passages.values(), key=lambda passage: -grades.get(chunk_id(passage), 0))


def whole_or_passages(state: State) -> Literal["whole files", "passages"]:
    """Every graph: a question for a whole document, or for files, is not one for passages."""
    return "whole files" if state.get("whole") else "passages"


def some_relevant(state: State) -> Literal["generate", "transform_query", "max retries"]:
    """Decide in Self-RAG and Adaptive RAG after grading passages: rewrite only if no document is kept."""
    if is_late(state):
        return "max retries"
    if state.get("documents"):
        return "generate"
    return "transform_query" if budget_left(state, "rewrites") else "max retries"


def relevant_or_web(state: State) -> Literal["generate", "web_search", "transform_query", "max retries"]:
    """Decide in Adaptive RAG with `fallback: web`: if no document is kept the web is asked once, before any rewrite."""
    taken = some_relevant(state)
    return "web_search" if taken != "generate" and budget_left(state, "web_searches") else taken


def after_the_web(state: State) -> Literal["generate", "vectorstore", "transform_query", "max retries"]:
    """Decide in Adaptive RAG after a web search: if it gives nothing the files are next, once, and then a rewritten
    query.
    """
    taken = some_relevant(state)
    if taken == "generate" or files_searched(state) or is_late(state):
        return taken
    return "vectorstore"


def files_searched(state: State) -> bool:
    """Return whether a node has searched the files for this question."""
    return not {"retrieve", "retrieve_step"}.isdisjoint(state.get("path", ()))


def web_searched(state: State) -> bool:
    """Return whether a query for this question was sent; one that was declined does not count."""
    return state.get("tries", {}).get("web_searches", 0) > 0


def unread_passages(state: State) -> set[str]:
    """Return the chunk ids of the passages on which the grader gave no usable verdict."""
    decisions = state.get("decisions", ())
    return {graded.chunk_id or "" for graded in decisions if (graded.kind, graded.verdict) == ("relevance", "unparsed")}


def crag_action(state: State) -> Action:
    """Return CRAG's action: `ambiguous` needs the web; if that is off, the documents that are left are used as they
    are.

    It is `incorrect` if the time ran out before there was one.
    """
    action = state.get("action", "incorrect")
    return "correct" if action == "ambiguous" and not budget_left(state, "web_searches") else action


def action_by_labels(relevant: int, graded: int) -> Action:
    """Return CRAG's action by the tutorial's yes and no: all relevant, some, or none (also if nothing
    was retrieved).
    """
    if not relevant:
        return "incorrect"
    return "correct" if relevant == graded else "ambiguous"


def action_by_scores(verdicts: Sequence[Relevance], upper: float, lower: float) -> Action:
    """Return CRAG's action by the paper's rule (section 4.3); scores and thresholds are in [0, 1], the paper's in [-1,
    1].

    It is correct if any score is above the upper threshold, incorrect if all are below the lower one or there are none.
    A verdict without a score counts by its label: yes is above, no below, and unparsed is between the two.
    """
    by_label = {"relevant": 1.0, "irrelevant": 0.0, "unparsed": (upper + lower) / 2}
    scores = [by_label[verdict.label] if verdict.score is None else verdict.score for verdict in verdicts]
    if any(score > upper for score in scores):
        return "correct"
    return "incorrect" if all(score < lower for score in scores) else "ambiguous"


def web_allowed(state: State) -> Literal["web", "no web"]:
    """Decide in CRAG, after every document was discarded, whether the web is asked."""
    return "web" if budget_left(state, "web_searches") else "no web"


def grade_generation_v_documents_and_question(
    state: State,
) -> Literal["useful", "not useful", "not supported", "max retries"]:
    """Decide in Self-RAG and Adaptive RAG after grading: `not supported` precedes `not useful`; either
    needs a budget.
    """
    verdict = _verdict(state)
    if verdict == "useful":
        return "useful"
    return _write_again(state) if verdict == "not supported" else _rewrite(state)


def useful_or_files(
    state: State,
) -> Literal["useful", "not useful", "not supported", "vectorstore", "max retries"]:
    """Decide in Adaptive RAG with `fallback: rewrite`: as Self-RAG, but if the web has no useful answer the files are
    next.
    """
    taken = grade_generation_v_documents_and_question(state)
    if taken in ("useful", "not supported") or files_searched(state) or not budget_left(state, "generations"):
        return taken
    return "vectorstore"


def useful_or_other_source(
    state: State,
) -> Literal["useful", "not useful", "not supported", "vectorstore", "web_search", "max retries"]:
    """Decide in Adaptive RAG with `fallback: web`: if the passages do not contain an answer the web is asked, once."""
    taken = useful_or_files(state)
    nothing = is_fixed_reply(state) and budget_left(state, "generations") and budget_left(state, "web_searches")
    return "web_search" if nothing and taken != "vectorstore" else taken


def supported(state: State) -> Literal["supported", "not supported", "not useful", "max retries"]:
    """Decide in Self-RAG after the first of two separate graders; the support of the fixed refusal is not graded."""
    if is_fixed_reply(state):
        return _rewrite(state)
    return _write_again(state) if _verdict(state) == "not supported" else "supported"


def useful_or_not(state: State) -> Literal["useful", "not useful", "max retries"]:
    """Decide in Self-RAG after the second of two separate graders: the generation is supported already."""
    return "useful" if _verdict(state) == "useful" else _rewrite(state)


def checked_once(state: State) -> Literal["useful", "max retries"]:
    """Decide in CRAG, which never loops: an answer that does not pass its one check ends in `give_up`."""
    return "useful" if _verdict(state) == "useful" else "max retries"


def more_found(state: State) -> Literal["new", "nothing new"]:
    """Decide in IRCoT after a retrieval: reason on while there is something new, and time."""
    return "new" if state.get("step") == "new" and budget_left(state, "steps") else "nothing new"


def more_steps(state: State) -> Literal["go on", "enough"]:
    """Decide in IRCoT after a sentence of reasoning: retrieve with it, until it is the answer or the budget is
    exhausted.
    """
    return "go on" if state.get("step") == "go on" and budget_left(state, "steps") else "enough"


def last_retrieved(state: State) -> list[Document]:
    """Return those of the documents that the last retrieval brought."""
    retrieved = state.get("prompt_order", ())
    return [document for document in state.get("documents", []) if document.metadata.get("chunk_id") in retrieved]


def next_part(state: State) -> Literal["yes", "continue", "no", "direct"]:
    """Decide in Self-RAG part by part: retrieve, go on with the present passages, or end; without steps or time it
    ends.
    """
    step = state.get("step")
    if is_late(state):
        return "no"
    if step == "direct":
        return "direct"
    if not budget_left(state, "steps"):
        return "no"
    return "yes" if step == "yes" else "continue" if step == "continue" else "no"


def some_new(state: State) -> Literal["generate", "nothing new", "transform_query", "max retries"]:
    """Decide in Self-RAG part by part after the retrieval grader: an answer that has begun ends if
    nothing new helps.
    """
    if not state.get("generation"):
        return some_relevant(state)
    if is_late(state):
        return "max retries"
    return "generate" if last_retrieved(state) else "nothing new"


def parts_useful(state: State) -> Literal["useful", "not useful", "max retries"]:
    """Decide at the end of Self-RAG part by part. Each part's support was graded; another query is only for an answer
    that is not useful.
    """
    grade = state.get("grade")
    lacks_support = not is_fixed_reply(state) and grade is not None and grade.support != "fully"
    return checked_once(state) if lacks_support or not budget_left(state, "steps") else useful_or_not(state)


def verdict_of(grade: Grade | None) -> Verdict:
    """Return the verdict of a grade: only `fully` is supported, only `USEFUL` and more is useful; an ungraded text is
    not supported.
    """
    if grade is None or grade.support != "fully":
        return "not supported"
    return "useful" if grade.usefulness >= USEFUL else "not useful"


def is_fixed_reply(state: State) -> bool:
    """Return whether the engine wrote nothing, or only the refusal that the passages do not contain the answer."""
    text = state.get("generation", "")
    return not text or is_refusal(text)


def _verdict(state: State) -> Verdict:
    return "not useful" if is_fixed_reply(state) else verdict_of(state.get("grade"))


def _write_again(state: State) -> Literal["not supported", "max retries"]:
    return "not supported" if budget_left(state, "generations") else "max retries"


def _rewrite(state: State) -> Literal["not useful", "max retries"]:
    """Return whether to rewrite the question: a rewrite and an answer to it must both still be allowed."""
    return "not useful" if budget_left(state, "generations") and budget_left(state, "rewrites") else "max retries"


def label(state: State) -> str:
    """Return the label that the node before this edge decided by its rule."""
    return state["label"]


def route_taken(state: State) -> Literal["vectorstore", "web_search", "direct", "multi"]:
    """Return the source that the router of Adaptive RAG chose, or `multi` for the files in several steps."""
    route = state.get("route", "vectorstore")
    return "multi" if route == "vectorstore" and state.get("complexity") == "multi" else route


def steps_or_source(state: State) -> Literal["web_search", "direct", "multi"]:
    """Return the source if every question to the files takes several steps: `multi` for the files."""
    route = state.get("route", "vectorstore")
    return "multi" if route == "vectorstore" else route


def retrieve_or_not(state: State) -> Literal["retrieve", "direct"]:
    """Return the edge in Self-RAG after the decision whether the files are needed."""
    return "direct" if state.get("route") == "direct" else "retrieve"
