"""What an answer is to look like, and the sentences of the program in it, in the language of the answer."""

from __future__ import annotations

from local_rag.core.generation import Shape
from local_rag.graphs.deps import Deps
from local_rag.graphs.state import State, standalone_of
from local_rag.text.answer_texts import ENGLISH, AnswerTexts, asked_language, texts_for


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
