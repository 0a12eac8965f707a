"""What a client sees of a judged answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_rag.runtime.feedback import Feedback


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


def feedback_view(feedback: Feedback) -> FeedbackView:
    """Feedback as a list shows it."""
    names = FeedbackView.__dataclass_fields__
    return FeedbackView(**{name: getattr(feedback, name) for name in names})
