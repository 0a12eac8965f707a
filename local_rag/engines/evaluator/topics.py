"""The topic of a question that asks what somebody or some document says of it: passages are read for the topic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.index.names import head
from local_rag.text.document_questions import document_question
from local_rag.text.words import content_words, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

_CLAUSE = re.compile(r"(?:what|which|how|where|when|who|why|is|are|does|do|can|must|may)\b", re.IGNORECASE)


def question_to_read(question: str, documents: Sequence[Document]) -> str:
    """The question as an evaluator reads it with these passages; whoever reads them for it reads with the same."""
    texts = [f"{head(document)} {document.page_content}" for document in documents]
    return topic(question, texts, named=any(document.metadata.get("named") for document in documents))


def topic(question: str, passages: Sequence[str], *, named: bool = False) -> str:
    """What a question is about when it asks what somebody or some document says of it, if the passages name that.

    The author of a text stands in its head, not in its sentences: "What does Ada say about engines?" would find the
    head. What no passage names stays in the question, and counts against every passage, unless the search `named` it.
    """
    form = document_question(question)
    if form is None or form.asks != "topic":
        return question
    who = set(content_words(form.name))
    if named or (who and any(who <= set(words(passage)) for passage in passages)):
        return f"{form.topic}?" if _CLAUSE.match(form.topic) else f"What about {form.topic}?"
    return question
