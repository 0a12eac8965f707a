"""What a client sees of a judged answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_rag.runtime.kept import Judgement


@dataclass(frozen=True, slots=True)
class FeedbackView:
    """A judged answer in a list."""

    run: str
    at: str
    good: bool
    note: str
    expected: str
    unanswerable: bool
    question: str
    text: str
    status: str
    graph: str
    index: str


def feedback_view(feedback: Judgement) -> FeedbackView:
    """Feedback as a list shows it."""
    of_answer = ("text", "status", "graph")
    names = FeedbackView.__dataclass_fields__
    return FeedbackView(**{name: getattr(feedback.answer if name in of_answer else feedback, name) for name in names})
