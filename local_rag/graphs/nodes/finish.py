"""Make the answer in the last node of every graph; no other code makes one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langgraph.graph.message import push_message
from langgraph.runtime import Runtime

from local_rag.core.answer import Answer, Certainty, Citation, Conflict, Highlight, Sentence, Status
from local_rag.core.cancel import scope
from local_rag.core.errors import LocalRagError, Stopped
from local_rag.core.events import Called, Event, Note, Started
from local_rag.core.verdicts import Grade, Graded, Support, Usage
from local_rag.graphs.conflicts import conflicts_of, quotes_of, sides_of
from local_rag.graphs.deps import Deps, deps_of, texts_of
from local_rag.graphs.nodes.node import Emit, is_heard
from local_rag.graphs.outcome import Outcome, certainty_of, outcome_of, status_of, why_not_grounded
from local_rag.graphs.rules import closest, web_searched
from local_rag.graphs.state import State, standalone_of
from local_rag.text import answer_values, citations
from local_rag.text.answer_language import ran_out_of_time
from local_rag.text.answer_texts import AnswerTexts
from local_rag.text.document_questions import question_to_read
from local_rag.text.marks import claims
from local_rag.text.metadata import chunk_id
from local_rag.text.names import head
from local_rag.text.questions import lacking, named

TITLES = 5
"""The most titles that an abstention lists to describe the index."""

SURE_OCR = 0.95
"""The confidence of OCR below which a line is not certain: docs/measurements.md."""

_LESS: Mapping[Certainty, Certainty] = {"sure": "probably", "probably": "in doubt", "in doubt": "in doubt", "": ""}


def finish(state: State, runtime: Runtime[Deps]) -> State:
    """Make the answer from the results of the other nodes, and keep it as a turn of its thread.

    It works also when the time is up. Raises Stopped, and EngineError if no grader gave a usable verdict.
    """
    deps = deps_of(runtime)
    if deps.cancel.stopped:
        raise Stopped("stopped")
    emit: Emit = runtime.stream_writer
    emit(Started("finish", ""))
    texts = texts_of(state, deps)
    with scope(deps.cancel):
        outcome = outcome_of(state, deps, texts)
    checked = _checked(state, deps, outcome, texts)
    answer = _against_the_files(_answer(state, deps, outcome, checked, texts), checked, deps, texts)
    notes = (*map(Note, outcome.usage.notes), *checked.notes)
    events: list[Event] = [*checked.verdicts, *map(Called, outcome.usage.log), *notes]
    for event in events:
        emit(event)
    _push_answer(answer)
    update: State = {
        "answer": answer,
        "generation": answer.text,
        "documents": checked.documents,
        "decisions": list(checked.verdicts),
        "usage": outcome.usage,
        "path": ["finish"],
    }
    if not ran_out_of_time(answer.reason):
        update["turns"] = [*state.get("turns", []), _turn(state, deps, answer)]
    return update


@dataclass(frozen=True)
class _Checked:
    """Hold a text after the check of its citations and the comparison of its files; the cited documents come first."""

    written: citations.Checked
    documents: list[Document]
    status: Status
    reason: str
    grade: Grade | None
    conflicts: tuple[Conflict, ...]
    verdicts: tuple[Graded, ...]
    notes: Sequence[Note]


def _checked(state: State, deps: Deps, outcome: Outcome, texts: AnswerTexts) -> _Checked:
    """Check the citations of an outcome and compare its files; number the marks in the order of the text."""
    draft = outcome.draft
    documents, grade = [*draft.documents], draft.grade
    written = citations.check(draft.text or texts.refusal, documents, standalone_of(state))
    if outcome.accepted and grade and grade.sure:
        written = citations.confirmed(written)
    status = status_of(outcome, written)
    reason = outcome.why or ("" if status == "grounded" else why_not_grounded(written, texts))
    is_whole = bool(state.get("whole"))
    is_compared = status not in ("abstained", "direct") and not (
        is_whole or is_computed(written) or state.get("failed")
    )
    sides, notes = sides_of(standalone_of(state), documents, deps) if is_compared else ([], [])
    if sides:
        reason = "; ".join(filter(None, (texts.files_disagree, reason)))
        status = "partial" if status == "grounded" else status
        if (quoted := quotes_of(sides, written, documents)) is not written:
            written, supported = quoted, list[Support](["fully"]) * len(claims(quoted.text))
            grade = replace(grade, sentences=tuple(supported)) if grade and grade.sentences else grade
    order = citations.order(written)
    others = [document for number, document in enumerate(documents, start=1) if number not in order]
    documents = [*(documents[number - 1] for number in order), *others]
    conflicts, verdicts = conflicts_of(sides, documents, deps)
    numbered = citations.renumbered(written)
    return _Checked(numbered, documents, status, reason, grade, conflicts, verdicts, notes)


def _answer(state: State, deps: Deps, outcome: Outcome, checked: _Checked, texts: AnswerTexts) -> Answer:
    question, text, status, reason = standalone_of(state), checked.written.text, checked.status, checked.reason
    silent = status == "abstained"
    no_words = silent or status == "direct" or state.get("whole") or is_computed(checked.written)
    highlights = () if no_words else _highlights(question, text, checked, deps)
    searched = web_searched(state)
    return Answer(
        question=state["question"],
        text=text,
        status=status,
        certainty=certainty_of(status, checked.grade),
        reason=reason,
        citations=checked.written.citations,
        nearest=_nearest(state, question, texts) if silent else (),
        used_web=searched and not deps.fallback_corpus,
        graph=deps.graph,
        engine=deps.engine.name,
        quotes_only=not deps.engine.writes,
        path=(*state.get("path", ()), "finish"),
        decisions=(*state.get("decisions", ()), *checked.verdicts),
        tries={kind: count for kind, count in state.get("tries", {}).items()},
        usage=state.get("usage", Usage()) + outcome.usage,
        seconds=time.monotonic() - deps.began,
        sentences=() if silent else _sentences(text, checked.grade),
        removed=outcome.draft.removed,
        lacks=_lacks(question, checked, deps) if texts.code == "en" else (),
        about=deps.index.catalog().titles[:TITLES] if silent else (),
        thread=deps.thread,
        asked=state.get("asked", ""),
        language=texts.code,
        fallback_corpus=deps.fallback_corpus if searched else "",
        short=" ".join(text[highlights[0].start : highlights[0].end].split()) if highlights else "",
        highlights=highlights,
        conflicts=checked.conflicts,
    )


def is_computed(written: citations.Checked) -> bool:
    """Return whether a part of an answer was computed, so that no evaluator has read it in a passage."""
    return any(citation.located == "computed" for citation in written.citations)


def _against_the_files(answer: Answer, checked: _Checked, deps: Deps, texts: AnswerTexts) -> Answer:
    """Lower the certainty of an answer if OCR was not sure of a cited line, if rows of a table are doubtful, or if
    cited files have changed since they were indexed.
    """
    doubts, unread = dict[str, None](), False
    for citation in answer.citations:
        of = checked.documents[citation.number - 1].metadata
        first, last = of.get("table", (citation.start, citation.end))
        if of.get("doubt") and citation.start < last and citation.end > first:
            doubts[str(of["doubt"])] = None
            unread = unread or bool(of.get("unread"))
    if answer.certainty and doubts:
        answer = _less_sure(answer, "; ".join(doubts))
        answer = replace(answer, certainty="in doubt") if unread else answer
    if answer.certainty and any(cited.ocr is not None and cited.ocr < SURE_OCR for cited in answer.citations):
        answer = _less_sure(answer, texts.unsure_ocr)
    changed = deps.index.changed({cited.source for cited in answer.cited})
    if not changed:
        return answer

    def marked(cited: tuple[Citation, ...]) -> tuple[Citation, ...]:
        return tuple(replace(each, changed=changed.get(each.source, "")) for each in cited)

    conflicts = (
        Conflict(tuple(replace(side, citations=marked(side.citations)) for side in conflict.positions))
        for conflict in answer.conflicts
    )
    answer = replace(answer, citations=marked(answer.citations), conflicts=tuple(conflicts))
    return _less_sure(answer, texts.cites_changed)


def _less_sure(answer: Answer, why: str) -> Answer:
    status = "partial" if answer.status == "grounded" else answer.status
    reason = "; ".join(filter(None, (answer.reason, why)))
    return replace(answer, status=status, certainty=_LESS[answer.certainty], reason=reason)


def _sentences(text: str, grade: Grade | None) -> tuple[Sentence, ...]:
    """Return the sentences of an answer with the grader's support for each; none if it did not grade
    single sentences.
    """
    sentences = claims(text)
    if grade is None or len(sentences) != len(grade.sentences):
        return ()
    pairs = zip(sentences, grade.sentences, strict=True)
    return tuple(Sentence(claim.text, claim.span.start, claim.span.end, support) for claim, support in pairs)


def _highlights(question: str, text: str, checked: _Checked, deps: Deps) -> tuple[Highlight, ...]:
    """Return the answering words if there is an evaluator; passages that it has read already cost nothing."""
    highlights, documents = answer_values.highlights_of(text, checked.conflicts), checked.documents
    if highlights or deps.evaluator is None or not documents:
        return highlights
    try:
        with scope(deps.cancel):
            readings = deps.evaluator.read(question_to_read(question, documents), documents)
    except LocalRagError:  # the answer stands without them: out of time, or the engine has said what is amiss
        return ()
    return answer_values.highlights(text, [document.page_content for document in documents], readings)


def _lacks(question: str, checked: _Checked, deps: Deps) -> tuple[str, ...]:
    """Return the names and numbers of an English question that no cited passage mentions, for answers that a model
    wrote.

    An engine that only quotes checks them itself, and reports them in the reason.
    """
    cited = {citation.chunk_id for citation in checked.written.citations}
    if not deps.engine.writes or not cited:
        return ()
    texts = [f"{head(each)} {each.page_content}" for each in checked.documents if chunk_id(each) in cited]
    return tuple(lacking(named(question), " ".join(texts)))


def _nearest(state: State, question: str, texts: AnswerTexts) -> tuple[Citation, ...]:
    """Return the passages that came closest, with the reasons of their grades."""
    graded = [decision for decision in state.get("decisions", ()) if decision.kind == "relevance"]
    whys = {each.chunk_id: each.why for each in graded if each.chunk_id and each.why}
    return citations.nearest(closest(state), question, whys, texts)


def _turn(state: State, deps: Deps, answer: Answer) -> dict[str, object]:
    """Return what the next question of the thread needs from this one."""
    return {
        "question": state["question"],
        "asked": standalone_of(state),
        "answer": answer.text,
        "language": answer.language,
        "shown": state.get("prompt_order", []),
        "indexes": list(deps.folders),
        "web_never": any(deps.folders) and any(map(deps.kept_from_web, deps.folders)),
    }


def _push_answer(answer: Answer) -> None:
    """Send the answer as one message, with its status and its cost."""
    if is_heard():
        usage = answer.usage
        counted = UsageMetadata(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.prompt_tokens + usage.output_tokens,
        )
        about = {"status": answer.status, "model_name": answer.engine}
        message = AIMessage(
            content=answer.text,
            id=f"answer-{uuid4().hex}",
            response_metadata=about,
            usage_metadata=counted if usage.calls else None,
        )
        push_message(message, state_key=None)
