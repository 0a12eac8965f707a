"""Handle grades of drafts: combine them, lower them by a threshold, remove unsupported sentences, and choose the best
draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.documents import Document

from local_rag.core.errors import DeadlineExceeded, EngineError
from local_rag.core.verdicts import Check, Grade, Support, Usage, answered, overall
from local_rag.graphs.deps import Deps
from local_rag.graphs.rules import is_fixed_reply
from local_rag.graphs.state import Draft, State, standalone_of
from local_rag.text.answer_texts import ENGLISH, AnswerTexts
from local_rag.text.display import reasons
from local_rag.text.marks import claims

NOT_ENOUGH = 2
"""The most usefulness of an answer whose score is below the threshold: it is not shown, not even as doubtful."""


UNSUPPORTED: tuple[Support, ...] = ("no", "unparsed")
"""The support of sentences that are removed if only supported ones may stay."""


def below(grade: Grade, threshold: float | None) -> bool:
    """Return whether an answer's known score is below the threshold that is set."""
    return threshold is not None and grade.score is not None and grade.score < threshold


def lowered(grade: Grade, threshold: float | None) -> Grade:
    """Lower the usefulness of a grade whose score is below the threshold for answers."""
    if not below(grade, threshold) or not grade.usefulness:
        return grade
    why = reasons(grade.why, f"score {grade.score:.2f}, threshold {threshold:.2f}")
    return replace(grade, usefulness=min(grade.usefulness, NOT_ENOUGH), why=why)


def unchecked(grade: Grade) -> bool:
    """Return whether sentences could not be checked and writing again would not help, because all checked ones are
    supported.
    """
    return "unparsed" in grade.sentences and set(grade.sentences) <= {"unparsed", "fully"}


def combined(support: Grade, usefulness: Grade) -> Grade:
    """Combine two verdicts that were asked for separately; the result is unparsed if the second could not be read."""
    if not usefulness.usefulness:
        return replace(support, support="unparsed", sentences=(), why=usefulness.why)
    both = replace(
        support,
        usefulness=usefulness.usefulness,
        why=reasons(support.why, usefulness.why),
        usage=support.usage + usefulness.usage,
    )
    return replace(both, score=answered(both) if usefulness.score is None else usefulness.score)


def grade_of(state: State, deps: Deps, documents: Sequence[Document], text: str, check: Check = "both") -> Grade:
    """Return the engine's grade of a text for the question of a state."""
    graded = state.get("graded", ())
    return deps.engine.grade(standalone_of(state), documents, text, check=check, graded=graded)


def of_parts(before: Grade | None, new: Grade, text: str) -> Grade:
    """Combine the support of a text with that of its `new` last part; list its sentences if each was graded."""
    new = replace(new, usage=Usage(), score=None, usefulness=0)
    if before is None:
        return new
    sentences = (*before.sentences, *new.sentences)
    why = reasons(before.why, new.why)
    each = sentences if len(sentences) == len(claims(text)) else ()
    return replace(new, support=overall((before.support, new.support)), sentences=each, why=why)


def without_unsupported(text: str, grade: Grade) -> tuple[str, Grade, list[str]]:
    """Remove the sentences that have no support or were not checked; return the text, its grade, and the removed
    sentences.

    Usefulness and score of the grade are still those of the whole text. If the grader did not grade single sentences,
    all of them are removed or none is.
    """
    sentences = claims(text)
    if len(sentences) != len(grade.sentences):
        return ("", grade, [claim.text for claim in sentences]) if grade.support == "no" else (text, grade, [])
    removed = [claim for claim, support in zip(sentences, grade.sentences, strict=True) if support in UNSUPPORTED]
    if not removed:
        return text, grade, []
    for claim in reversed(removed):
        text = f"{text[: claim.span.start].rstrip(' ')} {text[claim.span.end :].lstrip(' ')}"
    kept = tuple(support for support in grade.sentences if support not in UNSUPPORTED)
    grade = replace(grade, support=overall(kept), sentences=kept)
    lines = (line.strip(" ") for line in text.split("\n"))
    text = "\n".join(line for line in lines if line)
    return text if claims(text) else "", grade, [claim.text for claim in removed]


_BY_SUPPORT: Sequence[Support] = ("unparsed", "no", "partially", "fully")
"""The degrees of support, from the worst to the best."""

WORTH_SHOWING = 3
"""The least usefulness of a supported answer that is shown as `partial` when the tries are used up."""

NOT_GRADED = Grade("unparsed", 0)


def why_rejected(grade: Grade, texts: AnswerTexts = ENGLISH) -> str:
    """Return the reason for rejecting a generation; the grader's own reason is in English and is added only there."""
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


def best_draft(state: State, deps: Deps) -> tuple[Draft | None, Usage]:
    """Return the best draft that is worth showing, or None, and the cost of the search.

    With `strict` the draft comes without its unsupported sentences.
    """
    usage, drafts = Usage(), [*state.get("drafts", ()), *_not_accepted(state)]
    if deps.strict:
        drafts = [strict for draft in drafts if (strict := _strictly(draft)).text]
    graded = [(draft, draft.grade or NOT_GRADED) for draft in drafts]
    graded.sort(key=lambda each: (_BY_SUPPORT.index(each[1].support), each[1].usefulness), reverse=True)
    for draft, grade in graded:
        if deps.strict and draft.removed:
            draft, cost = _graded_again(state, draft, deps)
            usage, grade = usage + cost, draft.grade or NOT_GRADED
        if _worth_showing(grade, deps.thresholds.answer):
            return draft, usage
    return None, usage


def _not_accepted(state: State) -> list[Draft]:
    """Return the last generation as a draft if time or a failure kept it from a grade, or from being processed."""
    text, grade = state.get("generation", ""), state.get("grade")
    if is_fixed_reply(state) or any(text == draft.text for draft in state.get("drafts", ())):
        return []
    if grade is None or grade.support == "unparsed":
        return [Draft.of(state, None)]
    return [Draft.of(state, replace(grade, usefulness=grade.usefulness or WORTH_SHOWING), unfinished=True)]


def _strictly(draft: Draft) -> Draft:
    """Return a rejected draft without its unsupported sentences; with an empty text if its support is not known."""
    if draft.grade is None or draft.grade.support == "unparsed":
        return replace(draft, text="")
    text, grade, removed = without_unsupported(draft.text, draft.grade)
    return replace(draft, text=text, grade=grade, removed=(*draft.removed, *removed)) if removed else draft


def _graded_again(state: State, draft: Draft, deps: Deps) -> tuple[Draft, Usage]:
    """Grade the usefulness of a draft after a removal, and return the cost: the old verdict may be about
    removed text.
    """
    assert draft.grade is not None, "only of a graded draft a sentence is taken out"
    try:
        deps.cancel.check()
        usefulness = grade_of(state, deps, draft.documents, draft.text, "usefulness")
    except (DeadlineExceeded, EngineError):
        return draft, Usage()
    return replace(draft, grade=combined(draft.grade, usefulness)), usefulness.usage


def _worth_showing(grade: Grade, least: float | None) -> bool:
    """Return whether a grade is not below the threshold for answers, if one is set, not useless though fully supported,
    and not found to be useless and without support by an evaluator.
    """
    useless = grade.support == "fully" and 0 < grade.usefulness < WORTH_SHOWING
    useless = useless or (grade.score is not None and (grade.support, grade.usefulness) == ("no", 1))
    return not below(grade, least) and not useless
