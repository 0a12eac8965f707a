"""Tokens before there is a tokenizer: estimates, what fits into a window, and signs that a prompt was cut."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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

SHRINK = 0.8
"""How many of the passages of an over-long prompt are tried next where the server does not say how long it was."""

Message = tuple[str, str]
"""(role, content)"""
Prompt = Callable[[Sequence[int]], Sequence[Message]]
"""A prompt with the passages of these numbers, from 0."""


@dataclass(frozen=True, slots=True)
class ModelSetup:
    """A model and its options, the same in every call: another `num_ctx` would load it again. Windows are in tokens.

    `think` is what is sent, `thinks` whether the model can (None where the server does not say), and `thoughts` how
    many tokens a reply may spend on it before it answers.
    """

    model: str
    num_ctx: int
    think: bool | str = False
    thinks: bool | None = None

    @property
    def thoughts(self) -> int:
        return min(1024, self.num_ctx // 2) if self.think else 0

    @property
    def options(self) -> dict[str, Any]:
        """What decides whether a loaded model can be used as it is."""
        return {"num_ctx": self.num_ctx}


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

    `order` names all of them, the most wanted first, so the last is given up first; of the last `spare` of them nobody
    is told. `cap` is the reply in tokens, or says it for so many passages. Raises DoesNotFit where not even the first
    `needed` passages fit.
    """

    def __init__(
        self,
        prompt: Prompt,
        order: Sequence[int],
        setup: ModelSetup,
        cap: int | Callable[[int], int],
        spare: int = 0,
        needed: int = 1,
    ) -> None:
        self._prompt, self.setup, self._cap_of = prompt, setup, cap
        self._wanted = list(order)
        self._all = len(self._wanted) - spare
        self._needed = min(needed, len(self._wanted))
        self._fit()

    def change(self, setup: ModelSetup) -> None:
        """The model is asked otherwise: the room beside its thoughts may be another."""
        self.setup = setup
        self._fit()

    def _fit(self) -> None:
        """Keep as many as fit by the estimate, which grows with each; those that are needed must."""
        wanted, window = self._wanted, self.setup.num_ctx
        fitting = bisect_right(range(1, len(wanted) + 1), window, key=lambda count: self._size(wanted[:count]))
        self._wanted = wanted[: max(self._needed, fitting)]
        if self._size(self._wanted) > window:
            raise self._hopeless(f"about {estimate(self.messages):,}")

    def _size(self, wanted: Sequence[int]) -> int:
        """Tokens of the prompt with these, and of its reply."""
        return estimate(self._prompt(sorted(wanted))) + self._reply(len(wanted))

    def _reply(self, count: int) -> int:
        cap = self._cap_of(count) if callable(self._cap_of) else self._cap_of
        return cap + self.setup.thoughts

    @property
    def _cap(self) -> int:
        return self._reply(len(self._wanted))

    @property
    def kept(self) -> list[int]:
        return sorted(self._wanted)

    @property
    def messages(self) -> Sequence[Message]:
        return self._prompt(self.kept)

    def shrink(self, size: PromptTooLong) -> None:
        """Give up at least one passage, by the exact counts where the server told them."""
        if len(self._wanted) <= self._needed:
            raise self._hopeless(f"{size.prompt:,}" if size.prompt else f"about {estimate(self.messages):,}")
        if not (size.prompt and size.window):
            del self._wanted[max(self._needed, int(len(self._wanted) * SHRINK)) :]
            return
        exact = size.prompt / estimate(self.messages)
        self._wanted.pop()
        while len(self._wanted) > self._needed and estimate(self.messages) * exact > size.window - self._cap:
            self._wanted.pop()

    @property
    def note(self) -> str:
        """What a person should know of it, empty if nothing was given up."""
        gone = self._all - len(self._wanted)
        if gone <= 0:
            return ""
        who = f"the {plural(gone, 'passage')} ranked lowest {'was' if gone == 1 else 'were'} left out"
        return f"{who}: the window of {self.setup.model} is {self.setup.num_ctx:,} tokens"

    def _hopeless(self, tokens: str) -> DoesNotFit:
        beside = f" with {self._cap:,} for the reply"
        least = ", even with one passage" if self._needed == 1 else ""
        return DoesNotFit(
            f"a prompt of {tokens} tokens{beside} does not fit the window of {self.setup.num_ctx:,} tokens of "
            f"{self.setup.model}{least}",
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
        match = re.search(r"\((\d+) tokens\).*?\((\d+) tokens\)", message)
        return PromptTooLong(int(match[1]), int(match[2])) if match else PromptTooLong()
