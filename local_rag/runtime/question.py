"""What a question must be."""

from __future__ import annotations

from local_rag.core.errors import UsageError

SEE = "docs/python.md says what a program may give"

LONGEST_QUESTION = 4_000
"""Characters: two pages of text. The embedder reads the first 254 tokens; what a graph does takes longer with each."""


def check_question(question: str) -> None:
    """Raises UsageError for a question that is no text, empty or too long."""
    if not isinstance(question, str):
        raise UsageError(f"a question is a text, not {type(question).__name__}", hint=SEE)
    if not question.strip():
        raise UsageError("the question is empty", hint='local-rag ask "What does the contract say about notice?"')
    if len(question) > LONGEST_QUESTION:
        raise UsageError(
            f"a question has at most {LONGEST_QUESTION:,} characters, and this one has {len(question):,}",
            hint="put the text into a file, index it, and ask about it: local-rag ask QUESTION --in FILE",
        )
