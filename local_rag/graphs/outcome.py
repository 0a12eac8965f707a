"""How a graph ends that has no accepted answer: the best draft, or an abstention with its reason."""

from __future__ import annotations

from local_rag.core.errors import EngineError, ModelChanged, ModelMissing
from local_rag.graphs.answering import texts_of
from local_rag.graphs.deps import TIME, Deps
from local_rag.graphs.drafts import best_draft
from local_rag.graphs.rules import files_searched, unread_passages, web_searched
from local_rag.graphs.state import State
from local_rag.text.answer_texts import ENGLISH, AnswerTexts
from local_rag.text.display import plural


def best_or_abstention(state: State, deps: Deps) -> State:
    """The best rejected draft that is worth showing, marked as what it is, else an abstention with its reason.

    Raises EngineError where nothing usable came from the graders: that is no word of the files.
    """
    texts = texts_of(state, deps)
    late = texts.out_of_time_after.format(seconds=deps.limits.seconds) if deps.cancel.expired else ""
    update, usage = best_draft(state, deps, late)
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
    update, _ = best_draft(state, deps, f"{texts_of(state, deps).engine_failed}: {error}{fix}")
    if update is None:
        raise error
    update["spent"], update["failed"] = [TIME], True
    return update


def out_of_time(state: State, deps: Deps) -> State:
    """What a node returns that could not start or finish: the best there is, marked, so that any next node may end."""
    return best_or_abstention(state, deps) | {"spent": [TIME]}


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
