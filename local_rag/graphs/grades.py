"""Grades of a generation: combined, lowered by a threshold, and without the sentences that have no support."""

from __future__ import annotations

from dataclasses import replace

from local_rag.core.verdicts import Grade, Support, Usage, answered, overall
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
