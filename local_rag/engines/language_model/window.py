"""Tokens before there is a tokenizer: estimates, what fits into a window, and signs that a prompt was cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from local_rag.core.errors import EngineError
from local_rag.text.display import plural

ASCII_PER_TOKEN = 3.6
"""Characters per token of plain English, on the careful side: vocabularies of today's models reach 4.2 to 4.7."""
BYTES_PER_TOKEN = 3.0
"""UTF-8 bytes per token of everything else: one Chinese character, one and a half Cyrillic letters."""
PER_MESSAGE = 8
"""Tokens that a chat template puts around a message."""
FEWEST = 8.0
"""Characters per token that no natural text exceeds; a prompt counted shorter than that was cut.

Characters, not bytes: a vocabulary that knows a script of three bytes a letter has tokens for its words too. A run of
one mark or of spaces counts as one character, because a line of dots is a token or two.
"""
_RUN = re.compile(r"([\W_])\1{3,}")

T = TypeVar("T")

Message = tuple[str, str]
"""(role, content)"""
Prompt = Callable[[Sequence[int]], Sequence[Message]]
"""A prompt with the passages of these numbers, from 0."""


@dataclass(frozen=True, slots=True)
class ModelSetup:
    """A model and its options, the same in every call: another `num_ctx` would load it again. Windows are in tokens.

    `think` is what is sent, and `thoughts` how many tokens a reply may spend on it before it answers.
    """

    model: str
    num_ctx: int
    think: bool | str = False

    @property
    def thoughts(self) -> int:
        return min(1024, self.num_ctx // 2) if self.think else 0


class PromptTooLong(Exception):
    """A prompt does not fit: its tokens and the window as the server counts them, None where it does not say."""

    def __init__(self, prompt: int | None = None, window: int | None = None) -> None:
        super().__init__(prompt, window)
        self.prompt = prompt
        self.window = window


class DoesNotFit(EngineError):
    """Not even what a prompt must show fits the window."""


def estimate(messages: Sequence[Message]) -> int:
    """Tokens of a prompt, rather too many than too few."""
    return sum(PER_MESSAGE + _tokens(content) for _, content in messages)


def _tokens(text: str) -> int:
    """Digits count one each, as in the vocabularies of Qwen and Gemma: a table of numbers is long."""
    plain, digits = len(text.encode("ascii", "ignore")), sum(map(text.count, "0123456789"))
    return round(digits + (plain - digits) / ASCII_PER_TOKEN + (len(text.encode()) - plain) / BYTES_PER_TOKEN)


class FittedPrompt:
    """A prompt with as many of its passages as fit beside the reply; `kept` are their numbers, from 0, in order.

    `order` names all of them, the most wanted first, so the last is given up first. `cap` says how many tokens the
    reply about so many passages may have. Raises DoesNotFit where not even the first `needed` passages fit.
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
        """What a person should know of it, empty if nothing was given up."""
        gone = len(self._order) - self._count
        if not gone:
            return ""
        who = f"the {plural(gone, 'passage')} ranked lowest {'was' if gone == 1 else 'were'} left out"
        return f"{who}: the window of {self._setup.model} is {self._setup.num_ctx:,} tokens"

    def sent(self, send: Callable[[Sequence[Message]], T]) -> T:
        """What `send` makes of the prompt, with fewer passages each time that it raises PromptTooLong."""
        while True:
            try:
                return send(self.messages)
            except PromptTooLong as size:
                self.shrink(size)

    def shrink(self, size: PromptTooLong) -> None:
        """Give up at least one passage, by the exact counts where the server told them."""
        tokens = estimate(self.messages)
        if self._count <= self._needed:
            raise self._hopeless(size.prompt or tokens)
        self._count -= 1
        self._fit((size.prompt or tokens) / tokens, size.window or self._setup.num_ctx)

    def _fit(self, exact: float, window: int) -> int:
        """Keep as many as fit, and those that are needed: the tokens of the prompt then.

        `exact` is what the server counts for a token of the estimate.
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
    """Whether a server has read less than it was given, in silence.

    Recorded for 2,017 tokens in a window of 512: v0.33 read 258, half of it; v0.24 read 512, all of it. Some servers
    leave the count out: then nothing is known.
    """
    if not counted:
        return False
    size = sum(len(_RUN.sub(r"\1", content)) for _, content in messages)
    return counted >= window or counted < size / FEWEST


_WORDINGS = ("exceeds the available context size", "input length exceeds the context length", "prompt is longer than")


def too_long(status: int, message: str) -> PromptTooLong | None:
    """Read the three wordings of a 400 (v0.33, v0.24, and v0.33 where only `shift` was refused)."""
    if status != 400 or not any(wording in message for wording in _WORDINGS):
        return None
    try:
        error = json.loads(message)["error"]
        return PromptTooLong(int(error["n_prompt_tokens"]), int(error["n_ctx"]))
    except (ValueError, KeyError, TypeError):
        return PromptTooLong()
