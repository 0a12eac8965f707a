"""The tutorials' grading calls: one per document and one per check, each with the tutorials' inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.engines.ollama.context_window import Message
from local_rag.engines.ollama.prompts import passage
from local_rag.text.fences import fenced

if TYPE_CHECKING:
    from langchain_core.documents import Document

RETRIEVAL = (
    "You grade whether a retrieved document is relevant to a user's question. If it has keywords or meaning related to "
    'the question, it is relevant. The test need not be strict: the aim is to filter out stray results. "yes" or "no". '
    'Answer in JSON: {"r": "…"}'
)
HALLUCINATION = (
    "You grade whether an answer is grounded in, that is supported by, a set of retrieved facts. "
    '"yes" or "no". Answer in JSON: {"s": "…"}'
)
ANSWER = 'You grade whether an answer resolves the question that was asked. "yes" or "no". Answer in JSON: {"u": "…"}'


def retrieval(question: str, document: Document) -> list[Message]:
    """One document and the question."""
    text = fenced(document.page_content)
    return [("system", RETRIEVAL), ("user", f"Retrieved document:\n\n{text}\n\nQuestion: {fenced(question)}")]


def hallucination(documents: Sequence[Document], numbers: Sequence[int], generation: str) -> list[Message]:
    """The documents and the generation, not the question."""
    facts = "\n\n".join(passage(number + 1, documents[number]) for number in numbers)
    return [("system", HALLUCINATION), ("user", f"Facts:\n\n{facts}\n\nAnswer: {fenced(generation)}")]


def answer(question: str, generation: str) -> list[Message]:
    """The question and the generation, no documents."""
    return [("system", ANSWER), ("user", f"Question:\n\n{fenced(question)}\n\nAnswer: {fenced(generation)}")]
