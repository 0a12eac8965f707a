"""The answer in the state: what an engine wrote, as a person reads it, and the words and the shape that it is given."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.documents import Document

from local_rag.core.protocols import Shape
from local_rag.graphs.deps import Deps
from local_rag.graphs.state import State, standalone_of
from local_rag.text import citations
from local_rag.text.answer_texts import ENGLISH, AnswerTexts, asked_language, is_refusal, texts_for
from local_rag.text.metadata import chunk_id


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


def useful(state: State) -> State:
    """The status of an answer that passed its graders: never better than its citations."""
    if state.get("status") in ("grounded", None):
        return {"status": "grounded", "reason": ""}
    return {"status": "partial", "reason": state.get("reason", "")}


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
