"""The rules: which label follows from a state. A node evaluates its rule once, after its work; edges only read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langchain_core.documents import Document

from local_rag.core.answer import BudgetKind
from local_rag.core.verdicts import Grade, Relevance
from local_rag.graphs.deps import TIME
from local_rag.graphs.state import Action, State
from local_rag.text.answer_texts import is_refusal

USEFUL = 4
"""Usefulness from which an answer counts as `useful` (ISUSE 4 and 5 of Self-RAG, table 1)."""

Verdict = Literal["useful", "not useful", "not supported"]


def budget_left(state: State, kind: BudgetKind) -> bool:
    """Whether a budget is left, and time."""
    spent = state.get("spent", ())
    return kind not in spent and TIME not in spent


def whole_or_passages(state: State) -> Literal["whole files", "passages"]:
    """Every graph: a question for a whole document, or for files, is not one for passages."""
    return "whole files" if state.get("whole") else "passages"


def some_relevant(state: State) -> Literal["generate", "transform_query", "max retries"]:
    """Self-RAG and Adaptive RAG: rewrite only when no document survives."""
    if TIME in state.get("spent", ()):
        return "max retries"
    if state.get("documents"):
        return "generate"
    return "transform_query" if budget_left(state, "rewrites") else "max retries"


def relevant_or_web(state: State) -> Literal["generate", "web_search", "transform_query", "max retries"]:
    """Adaptive RAG, `fallback: web`: where no document survives the web is asked once, before any rewrite."""
    taken = some_relevant(state)
    return "web_search" if taken != "generate" and budget_left(state, "web_searches") else taken


def after_the_web(state: State) -> Literal["generate", "vectorstore", "transform_query", "max retries"]:
    """Adaptive RAG, after a web search: where it gives nothing the files are next, once, and then a rewritten query."""
    taken = some_relevant(state)
    if taken == "generate" or files_searched(state) or TIME in state.get("spent", ()):
        return taken
    return "vectorstore"


def files_searched(state: State) -> bool:
    """Whether a node has searched the files for this question."""
    return not {"retrieve", "retrieve_step"}.isdisjoint(state.get("path", ()))


def web_searched(state: State) -> bool:
    """Whether a query for this question has left; one that was declined has not."""
    return state.get("tries", {}).get("web_searches", 0) > 0


def unread_passages(state: State) -> set[str]:
    """The chunk ids of the passages on which the grader gave no usable verdict."""
    decisions = state.get("decisions", ())
    return {graded.chunk_id or "" for graded in decisions if (graded.kind, graded.verdict) == ("relevance", "unparsed")}


def crag_action(state: State) -> Action:
    """CRAG's action: `ambiguous` needs the web; where that is off, what is left is used as it is.

    `incorrect` where the time ran out before there was one.
    """
    action = state.get("action", "incorrect")
    return "correct" if action == "ambiguous" and not budget_left(state, "web_searches") else action


def action_by_labels(relevant: int, graded: int) -> Action:
    """CRAG's action by the tutorial's yes and no: all relevant, some, or none (nothing retrieved is none, too)."""
    if not relevant:
        return "incorrect"
    return "correct" if relevant == graded else "ambiguous"


def action_by_scores(verdicts: Sequence[Relevance], upper: float, lower: float) -> Action:
    """CRAG's action by the paper's rule (section 4.3); scores and thresholds in [0, 1], its own are in [-1, 1].

    Correct if any score is above the upper threshold, incorrect if all are below the lower one or there are none.
    Where a grader gives no score its label counts: yes is above, no below, and unparsed is between the two.
    """
    by_label = {"relevant": 1.0, "irrelevant": 0.0, "unparsed": (upper + lower) / 2}
    scores = [by_label[verdict.label] if verdict.score is None else verdict.score for verdict in verdicts]
    if any(score > upper for score in scores):
        return "correct"
    return "incorrect" if all(score < lower for score in scores) else "ambiguous"


def web_allowed(state: State) -> Literal["web", "no web"]:
    """CRAG, after every document was discarded."""
    return "web" if budget_left(state, "web_searches") else "no web"


def grade_generation_v_documents_and_question(
    state: State,
) -> Literal["useful", "not useful", "not supported", "max retries"]:
    """Self-RAG and Adaptive RAG: `not supported` wins over `not useful`; either needs a budget to go on."""
    verdict = _verdict(state)
    if verdict == "useful":
        return "useful"
    return _write_again(state) if verdict == "not supported" else _rewrite(state)


def useful_or_files(
    state: State,
) -> Literal["useful", "not useful", "not supported", "vectorstore", "max retries"]:
    """Adaptive RAG, `fallback: rewrite`: as Self-RAG, but where the web has no useful answer the files are next."""
    taken = grade_generation_v_documents_and_question(state)
    if taken in ("useful", "not supported") or files_searched(state) or not budget_left(state, "generations"):
        return taken
    return "vectorstore"


def useful_or_other_source(
    state: State,
) -> Literal["useful", "not useful", "not supported", "vectorstore", "web_search", "max retries"]:
    """Adaptive RAG, `fallback: web`: where the passages do not contain an answer the web is asked, once, too."""
    taken = useful_or_files(state)
    nothing = is_fixed_reply(state) and budget_left(state, "generations") and budget_left(state, "web_searches")
    return "web_search" if nothing and taken != "vectorstore" else taken


def supported(state: State) -> Literal["supported", "not supported", "not useful", "max retries"]:
    """Self-RAG with separate graders, after the first; the fixed "not there" reply is not asked about support."""
    if is_fixed_reply(state):
        return _rewrite(state)
    return _write_again(state) if _verdict(state) == "not supported" else "supported"


def useful_or_not(state: State) -> Literal["useful", "not useful", "max retries"]:
    """Self-RAG with separate graders, after the second: the generation is supported already."""
    return "useful" if _verdict(state) == "useful" else _rewrite(state)


def checked_once(state: State) -> Literal["useful", "max retries"]:
    """CRAG never loops: an answer that does not pass its one check ends in `give_up`."""
    return "useful" if _verdict(state) == "useful" else "max retries"


def more_found(state: State) -> Literal["new", "nothing new"]:
    """IRCoT, after a retrieval: reason on while there is something new, and time."""
    return "new" if state.get("step") == "new" and budget_left(state, "steps") else "nothing new"


def more_steps(state: State) -> Literal["go on", "enough"]:
    """IRCoT, after a sentence of reasoning: retrieve with it, until the answer is there or the budget is exhausted."""
    return "go on" if state.get("step") == "go on" and budget_left(state, "steps") else "enough"


def last_retrieved(state: State) -> list[Document]:
    """Of the passages that are left, those that the last retrieval brought."""
    retrieved = state.get("prompt_order", ())
    return [document for document in state.get("documents", []) if document.metadata.get("chunk_id") in retrieved]


def next_part(state: State) -> Literal["yes", "continue", "no", "direct"]:
    """Self-RAG part by part: retrieve, go on with the passages at hand, or end; without steps or time it ends."""
    step = state.get("step")
    if TIME in state.get("spent", ()):
        return "no"
    if step == "direct":
        return "direct"
    if not budget_left(state, "steps"):
        return "no"
    return "yes" if step == "yes" else "continue" if step == "continue" else "no"


def some_new(state: State) -> Literal["generate", "nothing new", "transform_query", "max retries"]:
    """Self-RAG part by part, after the retrieval grader: an answer that has begun ends where nothing new helps."""
    if not state.get("generation"):
        return some_relevant(state)
    if TIME in state.get("spent", ()):
        return "max retries"
    return "generate" if last_retrieved(state) else "nothing new"


def parts_useful(state: State) -> Literal["useful", "not useful", "max retries"]:
    """Self-RAG part by part, at the end. Support was seen to part by part: another query is for what is not useful."""
    grade = state.get("grade")
    lacks_support = not is_fixed_reply(state) and grade is not None and grade.support != "fully"
    return checked_once(state) if lacks_support or not budget_left(state, "steps") else useful_or_not(state)


def verdict_of(grade: Grade | None) -> Verdict:
    """Only `fully` is supported; only `USEFUL` and more is useful; what was not graded is neither."""
    if grade is None or grade.support != "fully":
        return "not supported"
    return "useful" if grade.usefulness >= USEFUL else "not useful"


def is_fixed_reply(state: State) -> bool:
    """Whether the engine wrote nothing but that the passages do not contain the answer."""
    text = state.get("generation", "")
    return not text or is_refusal(text)


def _verdict(state: State) -> Verdict:
    return "not useful" if is_fixed_reply(state) else verdict_of(state.get("grade"))


def _write_again(state: State) -> Literal["not supported", "max retries"]:
    return "not supported" if budget_left(state, "generations") else "max retries"


def _rewrite(state: State) -> Literal["not useful", "max retries"]:
    """A question is rewritten where that is still allowed, and an answer to it could still be written."""
    return "not useful" if budget_left(state, "generations") and budget_left(state, "rewrites") else "max retries"


def label(state: State) -> str:
    """The label that the node before it decided by its rule (see `rules`)."""
    return state["label"]


def route_taken(state: State) -> Literal["vectorstore", "web_search", "direct", "multi"]:
    """Adaptive RAG, after the router: the source, or for the files in several steps `multi`."""
    route = state.get("route", "vectorstore")
    return "multi" if route == "vectorstore" and state.get("complexity") == "multi" else route


def steps_or_source(state: State) -> Literal["web_search", "direct", "multi"]:
    """The same where every question to the files takes several steps."""
    route = state.get("route", "vectorstore")
    return "multi" if route == "vectorstore" else route


def retrieve_or_not(state: State) -> Literal["retrieve", "direct"]:
    """Self-RAG, after the decision whether the files are needed."""
    return "direct" if state.get("route") == "direct" else "retrieve"
