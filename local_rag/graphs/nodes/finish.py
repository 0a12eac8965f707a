"""The last node of every graph, and the only maker of an answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from langchain_core.documents import Document
from langgraph.runtime import Runtime

from local_rag.core.answer import Answer, Certainty, Citation, Conflict, Highlight, Sentence
from local_rag.core.errors import LocalRagError, Stopped
from local_rag.core.events import Called, Note, Started
from local_rag.core.verdicts import Grade, Support, Usage
from local_rag.engines.evaluator.verdicts import question_to_read
from local_rag.engines.extractive.questions import lacking, named
from local_rag.graphs.conflicts import conflicts_of, quotes_of, sides_of
from local_rag.graphs.deps import Deps, deps_of, texts_of
from local_rag.graphs.messages import push_answer
from local_rag.graphs.outcome import Outcome, certainty_of, outcome_of, status_of, why_not_grounded
from local_rag.graphs.state import State, standalone_of
from local_rag.index.names import head
from local_rag.text import answer_values, citations
from local_rag.text.answer_texts import AnswerTexts, ran_out_of_time
from local_rag.text.marks import claims
from local_rag.text.metadata import chunk_id

TITLES = 5
"""Titles by which an abstention says what the index is about."""

SURE_OCR = 0.95
"""Confidence of OCR below which a line is not taken for certain: docs/measurements.md."""

_LESS: Mapping[Certainty, Certainty] = {"sure": "probably", "probably": "in doubt", "in doubt": "in doubt", "": ""}


def finish(state: State, runtime: Runtime[Deps]) -> State:
    """Make the answer of what the other nodes have left, and keep it as a turn of its thread.

    It works also when the time is up. Raises Stopped, and EngineError where no grader gave a usable verdict.
    """
    deps = deps_of(runtime)
    if deps.cancel.stopped:
        raise Stopped("stopped")
    emit = runtime.stream_writer
    emit(Started("finish", ""))
    texts = texts_of(state, deps)
    with deps.scope():
        outcome = outcome_of(state, deps, texts)
    answer, documents, notes = _answer(state, deps, outcome, texts)
    verdicts = [*answer.decisions[len(state.get("decisions", ())) :]]
    for event in (*verdicts, *map(Called, outcome.usage.log), *map(Note, outcome.usage.notes), *notes):
        emit(event)
    push_answer(answer)
    update: State = {
        "answer": answer,
        "generation": answer.text,
        "documents": documents,
        "decisions": verdicts,
        "usage": outcome.usage,
        "path": ["finish"],
    }
    if not ran_out_of_time(answer.reason):
        update["turns"] = [*state.get("turns", []), _turn(state, deps, answer)]
    return update


def _answer(
    state: State, deps: Deps, outcome: Outcome, texts: AnswerTexts
) -> tuple[Answer, list[Document], list[Note]]:
    """The answer, its documents with the cited ones first, and what a person should know besides."""
    question, documents, grade = standalone_of(state), [*outcome.documents], outcome.grade
    checked = citations.check(outcome.text or texts.refusal, documents)
    checked = replace(checked, dropped=checked.dropped + outcome.dropped)
    status = status_of(outcome, checked)
    reason = outcome.why or ("" if status == "grounded" else why_not_grounded(checked, texts))
    from_files = status not in ("abstained", "direct")
    sides, notes = sides_of(question, documents, deps) if from_files and not state.get("failed") else ([], [])
    if sides:
        reason = "; ".join(filter(None, (texts.files_disagree, reason)))
        status = "partial" if status == "grounded" else status
        if (quoted := quotes_of(sides, checked, documents)) is not checked:
            checked, grade = quoted, _all_supported(grade, quoted.text)
    order = citations.order(checked)
    documents = [*(documents[number - 1] for number in order), *_others(documents, order)]
    checked = citations.renumbered(checked)
    conflicts, verdicts = conflicts_of(sides, documents)
    certainty = certainty_of(status, grade)
    if certainty and any(cited.ocr is not None and cited.ocr < SURE_OCR for cited in checked.citations):
        status, certainty = "partial" if status == "grounded" else status, _LESS[certainty]
        reason = "; ".join(filter(None, (reason, texts.unsure_ocr)))
    highlights = _highlights(question, checked.text, documents, conflicts, deps) if from_files else ()
    searched, silent = state.get("tries", {}).get("web_searches", 0) > 0, status == "abstained"
    answer = Answer(
        question=state["question"],
        text=checked.text,
        status=status,
        certainty=certainty,
        reason=reason,
        citations=checked.citations,
        dropped_citations=checked.dropped,
        nearest=_nearest(state, question, texts) if silent else (),
        used_web=searched and not deps.fallback_corpus,
        graph=deps.graph,
        engine=deps.engine.name,
        quotes_only=not engine_writes(deps),
        path=(*state.get("path", ()), "finish"),
        decisions=(*state.get("decisions", ()), *verdicts),
        tries={kind: count for kind, count in state.get("tries", {}).items()},
        usage=state.get("usage", Usage()) + outcome.usage,
        seconds=time.monotonic() - deps.began,
        sentences=() if silent else _sentences(checked.text, grade),
        removed=outcome.removed,
        lacks=_lacks(question, checked.citations, documents, deps) if texts.code == "en" else (),
        about=deps.index.catalog().titles[:TITLES] if silent else (),
        thread=deps.thread,
        asked=state.get("asked", ""),
        language=texts.code,
        fallback_corpus=deps.fallback_corpus if searched else "",
        short=" ".join(checked.text[highlights[0].start : highlights[0].end].split()) if highlights else "",
        highlights=highlights,
        conflicts=conflicts,
    )
    return answer, documents, notes


def engine_writes(deps: Deps) -> bool:
    return deps.engine.name != "extractive"  # TODO


def _all_supported(grade: Grade | None, text: str) -> Grade | None:
    """The grade of a text that is nothing but quotes."""
    quoted: Support = "fully"
    return replace(grade, sentences=(quoted,) * len(claims(text))) if grade and grade.sentences else grade


def _others(documents: Sequence[Document], order: Sequence[int]) -> list[Document]:
    return [document for number, document in enumerate(documents, start=1) if number not in order]


def _sentences(text: str, grade: Grade | None) -> tuple[Sentence, ...]:
    """The sentences of an answer with what the grader said of each; none where it did not look at them one by one."""
    sentences = claims(text)
    if grade is None or len(sentences) != len(grade.sentences):
        return ()
    pairs = zip(sentences, grade.sentences, strict=True)
    return tuple(Sentence(claim.text, claim.span.start, claim.span.end, support) for claim, support in pairs)


def _highlights(
    question: str, text: str, documents: Sequence[Document], conflicts: Sequence[Conflict], deps: Deps
) -> tuple[Highlight, ...]:
    """The answering words, where an evaluator has read the passages; what it has read costs nothing again."""
    highlights = answer_values.highlights_of(text, conflicts)
    if highlights or deps.evaluator is None or not documents:
        return highlights
    try:
        with deps.scope():
            readings = deps.evaluator.read(question_to_read(question, documents), documents)
    except LocalRagError:  # the answer stands without them: out of time, or the engine has said what is amiss
        return ()
    return answer_values.highlights(text, [document.page_content for document in documents], readings)


def _lacks(question: str, cited: Sequence[Citation], documents: Sequence[Document], deps: Deps) -> tuple[str, ...]:
    """The names and numbers of a question in English that no cited passage mentions, of what a model wrote.

    An engine that only quotes looks for them itself, and says so in the reason.
    """
    if not engine_writes(deps) or not cited:
        return ()
    ids = {citation.chunk_id for citation in cited}
    texts = [f"{head(document)} {document.page_content}" for document in documents if chunk_id(document) in ids]
    return tuple(lacking(named(question), " ".join(texts)))


def _nearest(state: State, question: str, texts: AnswerTexts) -> tuple[Citation, ...]:
    """The passages that came closest: the better graded first, and else as they were retrieved.

    So those of the question come before those of its rewrites. Similarities to two queries cannot be compared; grades
    can, in tenths, below which they differ by chance.
    """
    graded = [decision for decision in state.get("decisions", ()) if decision.kind == "relevance"]
    grades: dict[str | None, int] = {}
    for each in graded:
        score = float(each.verdict == "relevant") if each.score is None else each.score
        grades[each.chunk_id] = max(int(10 * score), grades.get(each.chunk_id, 0))
    passages = {chunk_id(passage): passage for passage in state.get("nearest", ())}
    best_first = sorted(passages.values(), key=lambda passage: -grades.get(chunk_id(passage), 0))
    whys = {each.chunk_id: each.why for each in graded if each.chunk_id and each.why}
    return citations.nearest(best_first, question, whys, texts)


def _turn(state: State, deps: Deps, answer: Answer) -> dict[str, object]:
    """What the next question of the thread needs to know of this one."""
    return {
        "question": state["question"],
        "asked": standalone_of(state),
        "answer": answer.text,
        "language": answer.language,
        "shown": state.get("prompt_order", []),
        "indexes": list(deps.folders),
        "web_never": bool(deps.folder) and any(map(deps.kept_from_web, deps.folders)),
    }
