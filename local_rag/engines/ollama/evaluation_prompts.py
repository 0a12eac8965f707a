"""What the models are told in an evaluation: to judge an answer, and to propose a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.engines.ollama.context_window import Message
from local_rag.engines.ollama.prompts import chat, fenced
from local_rag.text.display import shorten

if TYPE_CHECKING:
    from langchain_core.documents import Document

LONGEST_REFERENCE = 400
"""Characters of a reference answer that the judge is shown."""


def judge_task(references: Sequence[str], answer: str) -> str:
    """The judge of a test run: the question stands before it, no passage, and not who wrote the answer."""
    listed = "\n".join(f"- {fenced(shorten(reference, LONGEST_REFERENCE))}" for reference in references)
    which = "this is the right answer" if len(references) == 1 else "each of these is a right answer"
    return (
        f"Judge an answer to the question. In the test, {which}:\n{listed}\nThe answer to be judged:\n"
        f"<answer>\n{fenced(answer)}\n</answer>\n"
        '"right" if it says the same thing as a right answer, in whatever words, perhaps with more besides. "wrong" if '
        "it says something else, contradicts a right answer, leaves out what was asked, or does not answer. "
        'Answer in JSON: {"j": "…"}'
    )


PROPOSE = (
    "Write one question for a test of how well these files are searched: a question that a person could ask who does "
    'not see the passage and that the passage answers. Name the thing that is asked about, never say "the passage", '
    'and ask in the language of the passage. "q" is the question. "a" are the words of the passage that answer it, '
    'copied exactly, as few as possible. Answer in JSON: {"q": "…", "a": "…"}'
)
MISSING = (
    "Write one question for a test of how well these files are searched: a question about the matter of the passage "
    "that a person could well ask, but whose answer does not stand in the passage. Name the thing that is asked about, "
    'never say "the passage", and ask in the language of the passage. Answer in JSON: {"q": "…"}'
)


def propose(document: Document, task: str) -> list[Message]:
    """One passage and what is wanted of it."""
    return chat(task, "", [document], [0])
