"""How a graph ends: the status of an answer, rejected drafts, giving up, and the program's own words in an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.documents import Document

from local_rag.core.answer import Status
from local_rag.core.errors import DeadlineExceeded, EngineError, ModelChanged, ModelMissing
from local_rag.core.protocols import Shape
from local_rag.core.verdicts import Grade, Support, Usage
from local_rag.graphs.deps import TIME, Deps
from local_rag.graphs.grades import below, combined, unchecked, without_unsupported
from local_rag.graphs.rules import files_searched, is_fixed_reply, verdict_of, web_searched
from local_rag.graphs.state import Draft, State, standalone_of
from local_rag.text import citations
from local_rag.text.answer_texts import ENGLISH, AnswerTexts, asked_language, is_refusal, texts_for
from local_rag.text.display import plural
from local_rag.text.metadata import chunk_id

_BY_SUPPORT: Sequence[Support] = ("unparsed", "no", "partially", "fully")
"""From the worst support to the best."""

WORTH_SHOWING = 3
"""A supported answer of at least this usefulness is shown as `partial` when the tries are used up."""


def best_or_abstention(state: State, deps: Deps) -> State:
    """The best rejected draft that is worth showing, marked as what it is, else an abstention with its reason.

    Raises EngineError where nothing usable came from the graders: that is no word of the files.
    """
    texts = texts_of(state, deps)
    late = texts.out_of_time_after.format(seconds=deps.limits.seconds) if deps.cancel.expired else ""
    update, usage = _best(state, deps, late)
    if update is not None:
        return update
    _must_have_verdicts(state, deps, late)
    return {
        "generation": texts.refusal,
        "documents": [],
        "status": "abstained",
        "reason": late or _why_nothing(state, deps, texts),
        "dropped": 0,
        "removed": [],
        "usage": usage,
    }


def engine_failed(state: State, deps: Deps, error: EngineError | ModelMissing | ModelChanged) -> State:
    """What a node returns whose engine failed: the best there is, with the reason; any next node passes it on.

    Raises the error where there is nothing to show.
    """
    fix = f" ({error.hint})" if error.hint else ""
    update, _ = _best(state, deps, f"{texts_of(state, deps).engine_failed}: {error}{fix}")
    if update is None:
        raise error
    update["spent"], update["failed"] = [TIME], True
    return update


def _best(state: State, deps: Deps, ended: str) -> tuple[State | None, Usage]:
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


def _must_have_verdicts(state: State, deps: Deps, late: str) -> None:
    """Raises EngineError where no grader gave a usable verdict on any passage, or in strict mode on any draft."""
    passages = [graded for graded in state.get("decisions", ()) if graded.kind in ("relevance", "web")]
    if passages and all(graded.verdict == "unparsed" for graded in passages):
        count = len({graded.chunk_id for graded in passages})
        raise _no_verdict(f"on any of {plural(count, 'passage')}: {passages[-1].why}")
    drafts = state.get("drafts", ())
    if deps.strict and drafts and not late and all(draft.grade.support == "unparsed" for draft in drafts):
        raise _no_verdict(f"on the answer, and with --strict nothing unchecked is shown: {drafts[-1].grade.why}")


def _no_verdict(where: str) -> EngineError:
    return EngineError(
        f"the grader gave no usable verdict {where.rstrip(': ')}",
        hint="local-rag models try   shows what the model makes of each task; local-rag models   lists others",
    )


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
        usefulness = deps.engine.grade(standalone_of(state), draft.documents, draft.text, check="usefulness")
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


def _why_nothing(state: State, deps: Deps, texts: AnswerTexts) -> str:
    """What came of each source that was asked, the files first."""
    web = _why_no_web(state, texts.fallback_corpus if deps.fallback_corpus else texts.the_web, texts)
    if state.get("drafts"):
        return texts.and_also.join([texts.not_answered, *web])
    files = [_why_no_files(state, texts)] if files_searched(state) or not web else []
    return texts.and_also.join([*files, *web])


def _why_no_web(state: State, name: str, texts: AnswerTexts) -> list[str]:
    """What the search itself says of it is in English, and stands in its verdict, too."""
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


def unread_passages(state: State) -> set[str]:
    """The chunk ids of the passages on which the grader gave no usable verdict."""
    decisions = state.get("decisions", ())
    return {graded.chunk_id or "" for graded in decisions if (graded.kind, graded.verdict) == ("relevance", "unparsed")}


def out_of_time(state: State, deps: Deps) -> State:
    """What a node returns that could not start or finish: the best there is, marked, so that any next node may end."""
    return best_or_abstention(state, deps) | {"spent": [TIME]}


def useful(state: State) -> State:
    """The status of an answer that passed its graders: never better than its citations."""
    if state.get("status") in ("grounded", None):
        return {"status": "grounded", "reason": ""}
    return {"status": "partial", "reason": state.get("reason", "")}


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
        "fully": texts.not_useful.format(level=grade.usefulness),
        "partially": texts.partly_supported,
        "no": texts.not_supported,
        "unparsed": texts.no_verdict,
    }[grade.support]


def checked_answer(state: State, texts: AnswerTexts) -> citations.Checked:
    """What a person gets to read, its citations numbered in order; of an abstention the fixed reply, without any."""
    text = state.get("generation") or texts.refusal
    if state.get("status", "abstained") == "abstained":
        return citations.check(text if is_refusal(text) else texts.refusal, [])
    return citations.renumbered(citations.check(text, state.get("documents", [])))


def ended(state: State, texts: AnswerTexts) -> State:
    """What the node returns that ends a graph: the answer as a person reads it, the cited passages first.

    So the n-th document is what its mark [n] cites, and checking it again changes nothing.
    """
    checked = checked_answer(state, texts)
    documents = state.get("documents", [])
    cited = citations.order(citations.check(state.get("generation", ""), documents)) if checked.citations else []
    first = [documents[number - 1] for number in cited]
    rest = [document for number, document in enumerate(documents, start=1) if number not in cited]
    return {
        "generation": checked.text,
        "documents": [*first, *rest],
        "citations": list(checked.citations),
        "nearest": _nearest_first(state),
    }


def _nearest_first(state: State) -> list[Document]:
    """The passages seen, each once: the better graded first, and else as they were retrieved, so those of the question
    before those of its rewrites. Similarities to two queries cannot be compared; grades can, in tenths, below which
    they differ by chance.
    """
    grades: dict[str | None, int] = {}
    for graded in state.get("decisions", ()):
        if graded.kind == "relevance":
            score = float(graded.verdict == "relevant") if graded.score is None else graded.score
            grades[graded.chunk_id] = max(int(10 * score), grades.get(graded.chunk_id, 0))
    passages = {chunk_id(passage): passage for passage in state.get("nearest", ())}
    return sorted(passages.values(), key=lambda passage: -grades.get(chunk_id(passage), 0))


def as_written(state: State, deps: Deps, text: str, dropped: int = 0) -> State:
    """What an engine wrote from the documents of the state, and what its citations alone say of it.

    `dropped` are further numbers in it that named no passage.
    """
    texts, documents = texts_of(state, deps), state.get("documents", [])
    checked = citations.check(text, documents)
    checked = replace(checked, dropped=checked.dropped + dropped)
    return {
        "generation": checked.text or texts.refusal,
        "status": checked.status,
        "reason": _reason(checked, bool(documents), texts),
        "dropped": checked.dropped,
    }


def _reason(checked: citations.Checked, has_passages: bool, texts: AnswerTexts) -> str:
    """Why the citations alone allow no better status."""
    if checked.status == "abstained":
        return texts.not_in_passages if has_passages else texts.nothing_found
    unverified = sum(not citation.verified for citation in checked.citations)
    parts = [
        texts.count(texts.unverified, unverified) if unverified else "",
        texts.count(texts.uncited, checked.uncited) if checked.uncited else "",
        texts.count(texts.dropped, checked.dropped) if checked.dropped else "",
    ]
    return "; ".join(filter(None, parts))


def texts_of(state: State, deps: Deps) -> AnswerTexts:
    """The program's own sentences, in the language that is set, or that of the question, or of the chat before it."""
    return texts_for(deps.answer.language, standalone_of(state), _before(state))


def shape_of(state: State, deps: Deps) -> Shape:
    """What an engine is asked for."""
    answer, question = deps.answer, standalone_of(state)
    language, refusal = asked_language(answer.language, question, _before(state)), texts_of(state, deps).refusal
    return Shape(answer.sentences, answer.style, language, refusal)


def _before(state: State) -> str:
    """The language of the last answer of the chat; empty for English, because other languages fall back to it."""
    turns = state.get("turns") or [{}]
    language = str(turns[-1].get("language", ""))
    return language if language != ENGLISH.code else ""
