"""Questions that a language model proposes, each checked against the index before anyone sees it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, TypeVar

from local_rag.core.protocols import Attempt
from local_rag.evaluation.making.wording import located
from local_rag.index.search import document
from local_rag.text.citations import reads_as_refusal
from local_rag.text.display import plural
from local_rag.text.sentences import sentences

if TYPE_CHECKING:
    from local_rag.engines.language_model.judge import QuestionProposer
    from local_rag.index.index import Index
    from local_rag.index.store.schema import Passage
    from local_rag.text.sentences import Span

T = TypeVar("T")

USELESS = 8
"""Replies of a model in a row that cannot be used before it is asked no more, and rules go on."""
NEAREST = 4
"""Passages from which a model must not be able to answer what is to have no answer."""

_POINTS = re.compile(r"\b(?:this|the|that) (?:passage|excerpt|text|paragraph|extract)\b|\b(?:above|provided)\b", re.I)


class ModelQuestions:
    """Asks a model for questions until it gives nothing that can be used.

    `thrown` counts replies that are not shown, by why; `notes` are for the person.
    """

    def __init__(self, proposer: QuestionProposer, index: Index, thrown: Counter[str], notes: list[str]) -> None:
        self.name = proposer.engine.name
        self.given_up = False
        """Whether the model gave nothing usable for too long."""
        self.unanswered_given_up = False
        """The same for questions without an answer."""
        self._proposer, self._index = proposer, index
        self._thrown, self._notes = thrown, notes

    def answered(self, passages: Iterable[Passage]) -> Iterator[tuple[Passage, str, Span]]:
        """A passage, a question, and where in the passage its answer stands."""
        useful, useless = yield from _until_useless(map(self._answered, passages))
        self.given_up = useless >= USELESS or (not useful and useless > 0)
        if self.given_up:
            self._notes.append(f"the model gave nothing usable {plural(useless, 'time')} in a row; going on with rules")

    def unanswered(self, passages: Iterable[Passage]) -> Iterator[str]:
        """Questions that the model raises and then cannot answer from the passages nearest to them."""
        passages = takewhile(lambda _: not self.given_up, passages)
        useful, useless = yield from _until_useless(map(self._unanswered, passages))
        self.unanswered_given_up = self.given_up or useless >= USELESS or not useful
        if self.unanswered_given_up and useless and not self.given_up:
            times = plural(useless, "time")
            self._notes.append(f"the model raised no question without an answer {times} in a row; going on with rules")

    def _answered(self, passage: Passage) -> tuple[Passage, str, Span] | None:
        question, words = self._proposer.propose(document(passage))
        answer = located(words, passage.text) if words else None
        if not self._is_question(question):
            return None
        if answer is None:
            self._thrown["the words of the answer are not in the passage"] += 1
            return None
        return passage, question, answer

    def _unanswered(self, passage: Passage) -> str | None:
        question = self._proposer.propose_missing(document(passage))
        if not self._is_question(question):
            return None
        text = ""
        for delta in self._proposer.engine.answer(question, self._index.search(question, NEAREST), Attempt()):
            text = "" if delta.restart else text + delta.text
        if _begins_with_refusal(text):
            return question
        self._thrown["the files answer what was to have no answer"] += 1
        return None

    def _is_question(self, question: str) -> bool:
        """Whether a model's question can be shown; if not, why is counted."""
        if not question:
            self._thrown["the reply could not be read"] += 1
        elif _POINTS.search(question):
            self._thrown["the question points at its passage"] += 1
        elif not 8 <= len(question) <= 300:
            self._thrown["the question is too short or too long"] += 1
        else:
            return True
        return False


def _until_useless(replies: Iterable[T | None]) -> Generator[T, None, tuple[int, int]]:
    """What is not None, until USELESS replies in a row are; how many were useful, and how many at the end were not."""
    useful = useless = 0
    for reply in replies:
        if reply is not None:
            useful, useless = useful + 1, 0
            yield reply
        elif (useless := useless + 1) >= USELESS:
            break
    return useful, useless


def _begins_with_refusal(text: str) -> bool:
    """Whether an answer says first that the passages do not have it; models like to go on after that."""
    return any(reads_as_refusal(span.of(text)) for span in sentences(text)[:1])
