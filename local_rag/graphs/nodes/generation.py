"""The nodes that write an answer, or end without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.documents import Document

from local_rag.core.answer import BudgetKind
from local_rag.core.events import Token
from local_rag.core.protocols import Attempt
from local_rag.core.verdicts import Usage
from local_rag.graphs import answering, drafts, outcome
from local_rag.graphs.answering import shape_of, texts_of
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.node import Emit, counted, node
from local_rag.graphs.state import State, standalone_of
from local_rag.text import citations
from local_rag.text.answer_texts import is_refusal


def _generate(state: State, deps: Deps, emit: Emit) -> State:
    """Write an answer from the documents and check its citations; without documents there is no answer."""
    documents, tries = state.get("documents", []), counted(state, "generations")
    attempt, text, usage = attempt_of(state, tries, deps), "", Usage()
    if documents:
        text, usage = write(standalone_of(state), documents, attempt, deps, emit)
    written = answering.as_written(state, deps, text or attempt.shape.refusal)
    return {**written, "grade": None, "removed": [], "tries": tries, "usage": usage}


_generate.__name__ = "generate"


def _writing(state: State, deps: Deps) -> str:
    return "writing again" if state.get("drafts") else "writing"


generate = node(_writing)(_generate)
generate_last = node(_writing, ends=True)(_generate)
"""The same in plain RAG, where nothing checks what is written."""


def attempt_of(state: State, tries: Mapping[BudgetKind, int], deps: Deps) -> Attempt:
    """Which try this is, and what was wrong with those before it: in English, as the prompts are."""
    failed = tuple((draft.text, drafts.why_rejected(draft.grade)) for draft in state.get("drafts", ()))
    shape, thoughts = shape_of(state, deps), tuple(state.get("thoughts", ()))
    graded = tuple(state.get("graded", ()))
    return Attempt(tries["generations"], failed, thoughts=thoughts, shape=shape, graded=graded)


@node("answering without your files", ends=True)
def llm_fallback(state: State, deps: Deps, emit: Emit) -> State:
    """Adaptive RAG, route `direct`: an answer without documents, and labelled so."""
    texts, attempt = texts_of(state, deps), Attempt(direct=True, shape=shape_of(state, deps))
    text, usage = write(standalone_of(state), [], attempt, deps, emit)
    silent = not text or is_refusal(text)
    return {
        "generation": text or texts.refusal,
        "documents": [],
        "status": "abstained" if silent else "direct",
        "reason": texts.without_passages if silent else texts.without_files,
        "tries": counted(state, "generations"),
        "usage": usage,
    }


@node("looking for the best answer so far", ends=True)
def give_up(state: State, deps: Deps, emit: Emit) -> State:
    """The budget is used up: the best draft that is worth showing, marked, or an abstention with its reason."""
    return outcome.best_or_abstention(state, deps)


def write(
    question: str,
    documents: Sequence[Document],
    attempt: Attempt,
    deps: Deps,
    emit: Emit,
    candidate: int = 1,
    before: str = "",
) -> tuple[str, Usage]:
    """What the engine writes, and what it cost.

    `before` is the text that stands in front of it while it is shown.
    """
    parts: list[str] = []
    usage = Usage()
    for delta in deps.engine.answer(question, documents, attempt):
        deps.cancel.check()
        if delta.restart:
            parts.clear()
        parts.append(delta.text)
        usage += delta.usage or Usage()
        if delta.text or delta.restart:
            text = f"{before} {delta.text}" if delta.restart and before else delta.text
            emit(Token(text, attempt.number, delta.restart, candidate))
    text = "".join(parts).strip()
    return (attempt.shape.refusal if citations.reads_as_refusal(text) else text), usage
