"""Estimate tokens without a tokenizer, fit prompts into a window, and recognise a prompt that was cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from local_rag.core.errors import EngineError
from local_rag.text.display import plural

ASCII_PER_TOKEN = 3.6
"""Characters per token of plain English, a cautious value: vocabularies of today's models reach 4.2 to 4.7."""
BYTES_PER_TOKEN = 3.0
"""UTF-8 bytes per token of everything else: one Chinese character, one and a half Cyrillic letters."""
PER_MESSAGE = 8
"""The tokens that a chat template adds around a message."""
FEWEST = 8.0
"""The characters per token that no natural text exceeds; a prompt with a lower count of tokens was cut.

These are characters, not bytes: a vocabulary that knows a script of three bytes per letter has tokens for its words
too. A run of one mark or of spaces counts as one character, because a line of dots is a token or two.
"""
_RUN = re.compile(r"([\W_])\1{3,}")

T = TypeVar("T")

Message = tuple[str, str]
"""(role, content)"""
Prompt = Callable[[Sequence[int]], Sequence[Message]]
"""A function that makes a prompt with the passages of these numbers, from 0."""


class ModelSetup(NamedTuple):
    """Hold a model and its options, the same in every call: another `num_ctx` would load it again. Windows are in
    tokens.

    `think` is the option as it is sent, and `thoughts` the most tokens of thoughts before the answer.
    """

    model: str
    num_ctx: int
    think: bool | str = False

    @property
    def thoughts(self) -> int:
        return min(1024, self.num_ctx // 2) if self.think else 0


class PromptTooLong(Exception):
    """Report that a prompt does not fit, with its tokens and the window as the server counts them, None if unknown."""

    def __init__(self, prompt: int | None = None, window: int | None = None) -> None:
        super().__init__(prompt, window)
        self.prompt = prompt
        self.window = window


class DoesNotFit(EngineError):
    """Report that not even the necessary part of a prompt fits the window."""


def estimate(messages: Sequence[Message]) -> int:
    """Estimate the tokens of a prompt, rather too many than too few."""
    return sum(PER_MESSAGE + _tokens(content) for _, content in messages)


def _tokens(text: str) -> int:
    """Estimate the tokens of a text. Each digit counts as one, as in the vocabularies of Qwen and Gemma."""
    plain, digits = len(text.encode("ascii", "ignore")), sum(map(text.count, "0123456789"))
    return round(digits + (plain - digits) / ASCII_PER_TOKEN + (len(text.encode()) - plain) / BYTES_PER_TOKEN)


class FittedPrompt:
    """Fit as many passages into a prompt as possible beside the reply; `kept` are their numbers, from 0, in order.

    `order` names all of them, the most wanted first, so the last is left out first. `cap` returns the most tokens of
    the reply about so many passages. Raises DoesNotFit if not even the first `needed` passages fit.
    """

    def __init__(
        self, prompt: Prompt, order: Sequence[int], setup: ModelSetup, cap: Callable[[int], int], needed: int = 1
    ) -> None:
        self._prompt, self._order, self._setup, self._cap = prompt, list(order), setup, cap
        self._needed = min(needed, len(self._order))
        self._count = len(self._order)
        if (tokens := self._fit(1.0, setup.num_ctx)) > setup.num_ctx - self._reply:
            raise self._hopeless(tokens)

    @property
    def kept(self) -> list[int]:
        return sorted(self._order[: self._count])

    @property
    def messages(self) -> Sequence[Message]:
        return self._prompt(self.kept)

    @property
    def note(self) -> str:
        """A note on the passages that were left out; empty if there are none."""
        gone = len(self._order) - self._count
        if not gone:
            return ""
        who = f"the {plural(gone, 'passage')} ranked lowest {'was' if gone == 1 else 'were'} left out"
        return f"{who}: the window of {self._setup.model} is {self._setup.num_ctx:,} tokens"

    def sent(self, send: Callable[[Sequence[Message]], T]) -> T:
        """Return the result of `send` for the prompt, with fewer passages each time that it raises PromptTooLong."""
        while True:
            try:
                return send(self.messages)
            except PromptTooLong as size:
                self.shrink(size)

    def shrink(self, size: PromptTooLong) -> None:
        """Leave out at least one passage, by the exact counts if the server told them."""
        tokens = estimate(self.messages)
        if self._count <= self._needed:
            raise self._hopeless(size.prompt or tokens)
        self._count -= 1
        self._fit((size.prompt or tokens) / tokens, size.window or self._setup.num_ctx)

    def _fit(self, exact: float, window: int) -> int:
        """Keep as many passages as fit, and those that are needed; return the tokens of the prompt.

        `exact` is the server's count per estimated token.
        """
        while (tokens := round(exact * estimate(self.messages))) + self._reply > window and self._count > self._needed:
            self._count -= 1
        return tokens

    @property
    def _reply(self) -> int:
        return self._cap(self._count) + self._setup.thoughts

    def _hopeless(self, tokens: int) -> DoesNotFit:
        least = ", even with one passage" if self._needed == 1 else ""
        return DoesNotFit(
            f"a prompt of about {tokens:,} tokens with {self._reply:,} for the reply does not fit the window of "
            f"{self._setup.num_ctx:,} tokens of {self._setup.model}{least}",
            hint="ask a shorter question, or give the model more num_ctx in your models.yaml (it costs memory)",
        )


def was_cut(messages: Sequence[Message], counted: int | None, window: int) -> bool:
    """Return whether a server has silently read less than it was given.

    Recorded for 2,017 tokens in a window of 512: v0.33 read 258, half of it; v0.24 read 512, all of it. Some servers
    omit the count, and then nothing is known.
    """
    if not counted:
        return False
    size = sum(len(_RUN.sub(r"\1", content)) for _, content in messages)
    return counted >= window or counted < size / FEWEST


_WORDINGS = ("exceeds the available context size", "input length exceeds the context length", "prompt is longer than")


def too_long(status: int, message: str) -> PromptTooLong | None:
    """Recognise the three wordings of a 400 (v0.33, v0.24, and v0.33 if only `shift` was refused)."""
    if status != 400 or not any(wording in message for wording in _WORDINGS):
        return None
    try:
        error = json.loads(message)["error"]
        return PromptTooLong(int(error["n_prompt_tokens"]), int(error["n_ctx"]))
    except (ValueError, KeyError, TypeError):
        return PromptTooLong()
