"""Decide how a question ends: with its accepted text, the best draft, or an abstention; and its status, with the
reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from local_rag.core.answer import Certainty, Status
from local_rag.core.errors import EngineError
from local_rag.core.verdicts import Grade, Usage
from local_rag.graphs.deps import Deps
from local_rag.graphs.drafts import best_draft, unchecked
from local_rag.graphs.rules import files_searched, is_fixed_reply, is_late, unread_passages, verdict_of, web_searched
from local_rag.graphs.state import Draft, State
from local_rag.text.answer_texts import ENGLISH, AnswerTexts
from local_rag.text.citations import Checked
from local_rag.text.display import plural, reasons

LIKELY, LIKELY_USEFULNESS = 0.5, 4
"""The least probability that an answer is right, or its least usefulness, that makes it "probably" right if it is not
sure.
"""


NOTHING = Draft("", (), None)


@dataclass(frozen=True)
class Outcome:
    """Hold the text that a question ends with, and why it is not accepted. The text of an abstention is empty."""

    draft: Draft
    why: str = ""
    accepted: bool = False
    direct: bool = False
    usage: Usage = field(default_factory=Usage)


def outcome_of(state: State, deps: Deps, texts: AnswerTexts) -> Outcome:
    """Return the accepted text, else the best draft that is worth showing, else an abstention with its reason.

    Raises EngineError if the graders gave nothing usable, because that says nothing about the files.
    """
    accepted, usage = state.get("accepted", False), Usage()
    last = None if is_fixed_reply(state) else Draft.of(state, state.get("grade"))
    if accepted and state.get("route") == "direct":
        return Outcome(last or NOTHING, texts.without_files if last else texts.without_passages, direct=True)
    if accepted and last:
        return Outcome(last, accepted=True)
    late = texts.out_of_time_after.format(seconds=deps.limits.seconds) if is_late(state) else ""
    if not accepted:
        best, usage = best_draft(state, deps)
        if best:
            ended = f"{texts.engine_failed}: {failed}" if (failed := state.get("failed")) else late
            why = reasons(ended, _why_not(best, deps, texts))
            whole = bool(deps.strict and best.removed and verdict_of(best.grade) == "useful")
            return Outcome(best, why, whole, usage=usage)
    _must_have_verdicts(state, deps, late)
    return Outcome(NOTHING, ("" if accepted else late) or _why_nothing(state, deps, texts), usage=usage)


def status_of(outcome: Outcome, checked: Checked) -> Status:
    """Return the status of an answer: never better than its citations, and `grounded` only if it is accepted."""
    if not outcome.draft.text:
        return "abstained"
    if outcome.direct:
        return "direct"
    grade, cited = outcome.draft.grade, checked.status
    if outcome.accepted:
        return cited if grade is None else "grounded" if cited == "grounded" else "partial"
    if grade is None or (unchecked(grade) and grade.support == "unparsed"):
        return "partial" if cited in ("grounded", "partial") else "ungrounded"
    return "partial" if grade.support in ("fully", "partially") else "ungrounded"


def certainty_of(status: Status, grade: Grade | None) -> Certainty:
    """Return how far to rely on an answer, by its status and its grade: its score, or its usefulness if it has no
    score.
    """
    if status in ("grounded", "abstained", "direct"):
        return "sure" if status == "grounded" else ""
    if grade is None or grade.support not in ("fully", "partially"):
        return "in doubt"
    by_verdicts = grade.support == "fully" and grade.usefulness >= LIKELY_USEFULNESS
    likely = by_verdicts if grade.score is None else grade.score >= LIKELY
    return "probably" if status == "partial" and likely else "in doubt"


def why_not_grounded(checked: Checked, texts: AnswerTexts) -> str:
    """Return why the citations allow no better status; empty if they do."""
    unverified = sum(not citation.verified for citation in checked.citations)
    return reasons(
        texts.count(texts.unverified, unverified) if unverified else "",
        texts.count(texts.uncited, checked.uncited) if checked.uncited else "",
    )


def _why_not(draft: Draft, deps: Deps, texts: AnswerTexts) -> str:
    """Return why a draft is not accepted."""
    if deps.strict and draft.removed:
        return texts.count(texts.taken_out, len(draft.removed))
    if draft.grade is None:
        return texts.unchecked
    return texts.checks_unfinished if draft.unfinished else draft.why


def _must_have_verdicts(state: State, deps: Deps, late: str) -> None:
    """Raise EngineError if no grader gave a usable verdict on any passage, or in strict mode on any draft."""
    passages = [graded for graded in state.get("decisions", ()) if graded.kind in ("relevance", "web")]
    if passages and all(graded.verdict == "unparsed" for graded in passages):
        count = len({graded.chunk_id for graded in passages})
        raise _no_verdict(f"on any of {plural(count, 'passage')}: {passages[-1].why}")
    grades = [draft.grade for draft in state.get("drafts", ()) if draft.grade]
    if deps.strict and grades and not late and all(grade.support == "unparsed" for grade in grades):
        raise _no_verdict(f"on the answer, and with --strict nothing unchecked is shown: {grades[-1].why}")


def _no_verdict(where: str) -> EngineError:
    return EngineError(
        f"the grader gave no usable verdict {where.rstrip(': ')}",
        hint="local-rag models try   shows what the model makes of each task; local-rag models   lists others",
    )


def _why_nothing(state: State, deps: Deps, texts: AnswerTexts) -> str:
    """Return the result of each source that was asked, the files first."""
    web = _why_no_web(state, texts.fallback_corpus if deps.fallback_corpus else texts.the_web, texts)
    if state.get("drafts"):
        return texts.and_also.join([texts.not_answered, *web])
    files = [_why_no_files(state, texts)] if files_searched(state) or not web else []
    return texts.and_also.join([*files, *web])


def _why_no_web(state: State, name: str, texts: AnswerTexts) -> list[str]:
    """Return why the web gave no answer; the search's own reason is in English, and is added only there."""
    ends = [graded for graded in state.get("decisions", ()) if graded.kind == "web_search"]
    for verdict, text in (("refused", texts.source_not_asked), ("nothing", texts.source_gave_nothing)):
        if whys := [graded.why for graded in ends if graded.verdict == verdict]:
            return [f"{text.format(name=name)}: {whys[-1]}" if texts is ENGLISH else text.format(name=name)]
    answered = web_searched(state) and not state.get("drafts")
    return [texts.not_in_source.format(name=name)] if answered else []


def _why_no_files(state: State, texts: AnswerTexts) -> str:
    if not state.get("nearest"):
        return texts.nothing_found
    if unread := unread_passages(state):
        return texts.count(texts.unread, len(unread))
    pages = {graded.chunk_id for graded in state.get("decisions", ()) if graded.kind == "web"}
    rejected = [number for number in state.get("rejected", ()) if number not in pages]
    if rejected and not state.get("documents"):
        return texts.count(texts.none_relevant, len(rejected))
    return texts.not_in_passages
