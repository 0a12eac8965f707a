"""Rejected drafts: why each was rejected, and the best of them that is worth showing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from local_rag.core.answer import Status
from local_rag.core.errors import DeadlineExceeded, EngineError
from local_rag.core.verdicts import Grade, Support, Usage
from local_rag.graphs.answering import texts_of
from local_rag.graphs.deps import Deps
from local_rag.graphs.grades import below, combined, unchecked, without_unsupported
from local_rag.graphs.rules import is_fixed_reply, verdict_of
from local_rag.graphs.state import Draft, State, standalone_of
from local_rag.text import citations
from local_rag.text.answer_texts import ENGLISH, AnswerTexts

_BY_SUPPORT: Sequence[Support] = ("unparsed", "no", "partially", "fully")
"""From the worst support to the best."""


WORTH_SHOWING = 3
"""A supported answer of at least this usefulness is shown as `partial` when the tries are used up."""


def rejected_draft(state: State, grade: Grade, texts: AnswerTexts) -> Draft:
    """The rejected generation with its passages, and why it was, in the language of the answer."""
    status: Status = "partial" if grade.support in ("fully", "partially") else "ungrounded"
    if unchecked(grade) and grade.support == "unparsed":
        status = _by_citations(state)
    why = why_rejected(grade, texts)
    documents, removed = tuple(state.get("documents", ())), tuple(state.get("removed", ()))
    return Draft(state.get("generation", ""), documents, grade, status, why, state.get("dropped", 0), removed)


def why_rejected(grade: Grade, texts: AnswerTexts = ENGLISH) -> str:
    """What was wrong with a generation. What the grader itself says of it is not in these languages, but in English."""
    why = _what_was_wrong(grade, texts)
    return f"{why}: {grade.why}" if grade.why and texts is ENGLISH else why


def _what_was_wrong(grade: Grade, texts: AnswerTexts) -> str:
    if unchecked(grade):
        left = grade.sentences.count("unparsed")
        return texts.count(texts.sentences_unchecked, len(grade.sentences), left=left)
    if grade.support == "fully" and not grade.usefulness:
        return texts.usefulness_unchecked
    return {
        "fully": texts.not_useful,
        "partially": texts.partly_supported,
        "no": texts.not_supported,
        "unparsed": texts.no_verdict,
    }[grade.support]


def best_draft(state: State, deps: Deps, ended: str) -> tuple[State | None, Usage]:
    """The best rejected draft worth showing, if any, and what looking for it cost; `ended`: what ended the graph."""
    usage, texts = Usage(), texts_of(state, deps)
    drafts = [*state.get("drafts", ()), *_ungraded(state, texts)]
    if deps.strict:
        drafts = [strict for draft in drafts if (strict := _strictly(draft, texts)).text]
    drafts.sort(key=lambda draft: (_BY_SUPPORT.index(draft.grade.support), draft.grade.usefulness), reverse=True)
    for draft in drafts:
        if deps.strict and draft.removed:
            draft = _graded_again(state, draft, deps)
            usage += draft.grade.usage
        if _worth_showing(draft, deps.thresholds.answer):
            update: State = {
                "generation": draft.text,
                "documents": list(draft.documents),
                "status": draft.status,
                "reason": "; ".join(filter(None, (ended, draft.why))),
                "grade": draft.grade,
                "dropped": draft.dropped,
                "removed": list(draft.removed),
                "usage": usage,
            }
            return update, usage
    return None, usage


def _strictly(draft: Draft, texts: AnswerTexts) -> Draft:
    """A rejected draft without its unsupported sentences; nothing of one whose support is not known."""
    if draft.grade.support == "unparsed":
        return replace(draft, text="")
    text, grade, removed = without_unsupported(draft.text, draft.grade)
    if not removed:
        return draft
    why = texts.count(texts.taken_out, len(removed))
    return replace(draft, text=text, grade=grade, status="partial", why=why, removed=(*draft.removed, *removed))


def _graded_again(state: State, draft: Draft, deps: Deps) -> Draft:
    """What a removal left, with its own usefulness: the verdict on the whole may have been on what is gone."""
    try:
        deps.cancel.check()
        question, known = standalone_of(state), state.get("graded", ())
        usefulness = deps.engine.grade(question, draft.documents, draft.text, check="usefulness", graded=known)
    except (DeadlineExceeded, EngineError):
        return replace(draft, grade=replace(draft.grade, usage=Usage()))
    grade = combined(replace(draft.grade, usage=Usage()), usefulness)
    whole = verdict_of(grade) == "useful" and citations.check(draft.text, draft.documents).status == "grounded"
    return replace(draft, grade=grade, status="grounded" if whole else "partial")


def _ungraded(state: State, texts: AnswerTexts) -> list[Draft]:
    """The last generation, where the clock or a failure kept it from a grade, or from an end with its grade."""
    text, grade = state.get("generation", ""), state.get("grade")
    if is_fixed_reply(state) or any(text == draft.text for draft in state.get("drafts", ())):
        return []
    if grade is not None and grade.support != "unparsed":
        draft = rejected_draft(state, replace(grade, usefulness=grade.usefulness or WORTH_SHOWING), texts)
        return [replace(draft, why=texts.checks_unfinished)]
    draft = rejected_draft(state, Grade("unparsed", 0), texts)
    return [replace(draft, status=_by_citations(state), why=texts.unchecked)]


def _by_citations(state: State) -> Status:
    """The status of an answer that no grader has spoken of."""
    return "partial" if state.get("status") in ("grounded", "partial") else "ungrounded"


def _worth_showing(draft: Draft, least: float | None) -> bool:
    """Not below the threshold for answers where one is set, and not useless however well it is supported."""
    if below(draft.grade, least):
        return False
    return draft.grade.support != "fully" or not draft.grade.usefulness or draft.grade.usefulness >= WORTH_SHOWING
