"""Grades of drafts: combined, lowered by a threshold, without sentences that have no support; and the best draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from local_rag.core.errors import DeadlineExceeded, EngineError
from local_rag.core.verdicts import Grade, Support, Usage, answered, overall
from local_rag.graphs.deps import Deps
from local_rag.graphs.rules import is_fixed_reply
from local_rag.graphs.state import Draft, State, standalone_of
from local_rag.text.answer_texts import ENGLISH, AnswerTexts
from local_rag.text.marks import claims

NOT_ENOUGH = 2
"""The most that an answer is worth whose score is below the threshold: it is not shown, not even as doubtful."""


UNSUPPORTED: tuple[Support, ...] = ("no", "unparsed")
"""The sentences that go where only what is supported may stay."""


def below(grade: Grade, threshold: float | None) -> bool:
    """Whether an answer is not good enough to be given: its score is known and below the threshold that is set."""
    return threshold is not None and grade.score is not None and grade.score < threshold


def lowered(grade: Grade, threshold: float | None) -> Grade:
    """The grade, lowered where its score is below the threshold for answers."""
    if not below(grade, threshold) or not grade.usefulness:
        return grade
    why = "; ".join(filter(None, (grade.why, f"score {grade.score:.2f}, threshold {threshold:.2f}")))
    return replace(grade, usefulness=min(grade.usefulness, NOT_ENOUGH), why=why)


def unchecked(grade: Grade) -> bool:
    """Whether sentences could not be checked, and writing again would not help: what was checked is supported."""
    return "unparsed" in grade.sentences and set(grade.sentences) <= {"unparsed", "fully"}


def combined(support: Grade, usefulness: Grade) -> Grade:
    """One grade of two verdicts that were asked for separately; unparsed where the second could not be read."""
    if not usefulness.usefulness:
        return replace(support, support="unparsed", sentences=(), why=usefulness.why)
    both = replace(
        support,
        usefulness=usefulness.usefulness,
        why="; ".join(filter(None, (support.why, usefulness.why))),
        usage=support.usage + usefulness.usage,
    )
    return replace(both, score=answered(both) if usefulness.score is None else usefulness.score)


def of_parts(before: Grade | None, new: Grade, text: str) -> Grade:
    """The support of a text whose last part has a `new` grade; of its sentences where each of them was looked at."""
    new = replace(new, usage=Usage(), score=None, usefulness=0)
    if before is None:
        return new
    sentences = (*before.sentences, *new.sentences)
    why = "; ".join(filter(None, (before.why, new.why)))
    each = sentences if len(sentences) == len(claims(text)) else ()
    return replace(new, support=overall((before.support, new.support)), sentences=each, why=why)


def without_unsupported(text: str, grade: Grade) -> tuple[str, Grade, list[str]]:
    """An answer without the sentences that have no support or were not checked, its grade then, and those sentences.

    Usefulness and score of the grade are still those of the whole. Where the grader did not look at the sentences one
    by one, all of them go or none does.
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
"""From the worst support to the best."""

WORTH_SHOWING = 3
"""A supported answer of at least this usefulness is shown as `partial` when the tries are used up."""

NOT_GRADED = Grade("unparsed", 0)


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


def best_draft(state: State, deps: Deps) -> tuple[Draft | None, Usage]:
    """The best draft that is worth showing, if any, and what looking for it cost.

    Where `strict` is set it is without the sentences that have no support.
    """
    usage, drafts = Usage(), [*state.get("drafts", ()), *_not_accepted(state)]
    if deps.strict:
        drafts = [strict for draft in drafts if (strict := _strictly(draft)).text]
    drafts.sort(key=_worth, reverse=True)
    for draft in drafts:
        if deps.strict and draft.removed:
            draft, cost = _graded_again(state, draft, deps)
            usage += cost
        if _worth_showing(draft.grade or NOT_GRADED, deps.thresholds.answer):
            return draft, usage
    return None, usage


def _worth(draft: Draft) -> tuple[int, int]:
    grade = draft.grade or NOT_GRADED
    return _BY_SUPPORT.index(grade.support), grade.usefulness


def _not_accepted(state: State) -> list[Draft]:
    """The last generation, where the clock or a failure kept it from a grade, or from an end with its grade."""
    text, grade = state.get("generation", ""), state.get("grade")
    if is_fixed_reply(state) or any(text == draft.text for draft in state.get("drafts", ())):
        return []
    if grade is None or grade.support == "unparsed":
        return [Draft.of(state, None)]
    return [Draft.of(state, replace(grade, usefulness=grade.usefulness or WORTH_SHOWING), unfinished=True)]


def _strictly(draft: Draft) -> Draft:
    """A rejected draft without its unsupported sentences; nothing of one whose support is not known."""
    if draft.grade is None or draft.grade.support == "unparsed":
        return replace(draft, text="")
    text, grade, removed = without_unsupported(draft.text, draft.grade)
    return replace(draft, text=text, grade=grade, removed=(*draft.removed, *removed)) if removed else draft


def _graded_again(state: State, draft: Draft, deps: Deps) -> tuple[Draft, Usage]:
    """What a removal left with its own usefulness, and what that cost: the verdict may have been on what is gone."""
    assert draft.grade is not None, "only of a graded draft a sentence is taken out"
    try:
        deps.cancel.check()
        question, known = standalone_of(state), state.get("graded", ())
        usefulness = deps.engine.grade(question, draft.documents, draft.text, check="usefulness", graded=known)
    except (DeadlineExceeded, EngineError):
        return draft, Usage()
    return replace(draft, grade=combined(draft.grade, usefulness)), usefulness.usage


def _worth_showing(grade: Grade, least: float | None) -> bool:
    """Not below the threshold for answers where one is set, and not useless however well it is supported."""
    useless = grade.support == "fully" and 0 < grade.usefulness < WORTH_SHOWING
    return not below(grade, least) and not useless
