"""Requests and replies: how a reply ended is checked first, then its text without thoughts counts."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local_rag.core.errors import EngineError
from local_rag.core.usage import Call
from local_rag.engines.language_model.context_window import Message, ModelSetup, PromptTooLong, was_cut
from local_rag.engines.language_model.token_probabilities import Token
from local_rag.text.display import plural

AGAIN = "ask again; if it happens often, try another model: local-rag models"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One prompt. `cap` is the most tokens of the reply, `schema` its JSON schema; `variant` 0 is the fixed seed at
    temperature 0, others are further tries at temperature 0.7. `logprobs`: ask for each token's log-probability, and
    for so many alternatives to it. `task` and `prompt` are those of `Call`.
    """

    role: str
    setup: ModelSetup
    messages: Sequence[Message]
    cap: int
    schema: Mapping[str, Any] | None = None
    logprobs: int | None = None
    variant: int = 0
    retry: bool = False
    task: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `cut`: it reached its cap or the end of the window. `note`: what a person should know of it.

    `tokens` make up all that came, thoughts and white space around the text included.
    """

    text: str
    cut: bool
    call: Call
    note: str = ""
    tokens: tuple[Token, ...] = ()


class Unusable(EngineError):
    """A call without a reply; `call` is what it cost."""

    call = Call("", "")


class BrokenOff(Unusable):
    """A reply that did not end as it should; the same call may work the next time."""


class Empty(Unusable):
    """Tokens were generated and no text came: a model that thinks and was told not to."""


class ThinkRefused(Unusable):
    """The server does not take this `think` for this model."""


def check_end(request: ChatRequest, text: str, last: Mapping[str, Any]) -> bool:
    """Whether a reply was cut at its cap; `last` is the line with `done` and the figures, empty if none came.

    Raises BrokenOff without such a line, PromptTooLong where the prompt was cut or filled the window, Empty
    without a text.
    """
    if not last.get("done"):
        raise BrokenOff(
            f"the reply of {request.setup.model} broke off without an end, as Ollama does when a model repeats itself",
            hint=AGAIN,
        )
    counted, generated = last.get("prompt_eval_count"), int(last.get("eval_count") or 0)
    if was_cut(request.messages, counted, request.setup.num_ctx):
        raise PromptTooLong()
    cut = last.get("done_reason") == "length"
    if cut and counted and counted + generated >= request.setup.num_ctx:
        raise PromptTooLong(counted, request.setup.num_ctx)
    if generated and not text.strip():
        raise _empty(request.setup, generated)
    return cut


def _empty(setup: ModelSetup, generated: int) -> Unusable:
    """What it means that tokens came and no text: thoughts, or a model that ended at once, with a single one."""
    what = f"{setup.model} generated {plural(generated, 'token')} and returned no text"
    if setup.thinks is False or generated == 1:
        return BrokenOff(f"{what}: it ended its reply at once", hint=AGAIN)
    why = ": its thoughts left no room for it" if setup.think else ", as models do that think; it was told not to"
    return Empty(f"{what}{why}", hint="take another model: local-rag models")


def call_of(request: ChatRequest, last: Mapping[str, Any], seconds: float) -> Call:
    """The figures of the server, for the usage; `loaded` is for whoever knows what is usual."""
    load = _seconds(last, "load_duration")
    return Call(
        role=request.role,
        model=request.setup.model,
        prompt_tokens=int(last.get("prompt_eval_count") or 0),
        output_tokens=int(last.get("eval_count") or 0),
        seconds=seconds,
        load_seconds=load,
        prompt_seconds=_seconds(last, "prompt_eval_duration"),
        output_seconds=_seconds(last, "eval_duration"),
        retry=request.retry,
        task=request.task,
        prompt=request.prompt,
    )


def _seconds(last: Mapping[str, Any], key: str) -> float:
    return float(last.get(key) or 0) / 1e9


# --- the text of a reply ----------------------------------------------------------------------------------------------

OPEN, CLOSE = "<think>", "</think>"


class Thoughts:
    """Takes a reply bit by bit and gives back what is not thought. `text` is what counts by now.

    Some templates and servers lose the opening mark. Then thoughts are given back like an answer until the closing
    mark comes, and `restarted` says that they are to be forgotten.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "before"
        self.text = ""
        self.restarted = False
        self._thought = False

    def feed(self, content: str) -> str:
        """The text that is certain by now, perhaps none; `restarted` is True where it replaces all before it."""
        self.restarted = False
        self._held += content
        if self._state == "before":
            start = self._held.lstrip()
            if start.startswith(OPEN):
                self._state = "thinking"
            elif not OPEN.startswith(start):
                self._state = "after"
        if self._state == "thinking" and CLOSE in self._held:
            self._state, self._held, self._thought = "between", self._held.partition(CLOSE)[2], True
        if self._state == "after" and self._was_thought(so_far := self.text + self._held):
            self.restarted = bool(self.text)
            self._state, self._held, self._thought = "between", so_far.partition(CLOSE)[2], True
            self.text = ""
        if self._state == "between" and self._held.strip():
            self._state, self._held = "after", self._held.lstrip()
        return self._give() if self._state == "after" else ""

    def end(self) -> str:
        """What was held back and is no thought after all; a thought that never ended leaves nothing."""
        self.restarted = False
        return self._give() if self._state == "before" else ""

    def _was_thought(self, so_far: str) -> bool:
        before, close, _ = so_far.partition(CLOSE)
        return bool(close) and OPEN not in before and not self._thought

    def _give(self) -> str:
        text, self._held = self._held, ""
        self.text += text
        return text


_LABEL = re.compile(
    r"^(?:[-*•>]\s+|\d+[.)]\s+)?(?:\W*(?:new |rewritten |search |web )*(?:query|question)\W*:\W*)?", re.I
)
_PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "*": "*"}


def first_line(reply: str) -> str:
    """The line that is meant: not the preamble before it, nor the marks and labels around it."""
    lines = [line.strip() for line in reply.splitlines() if line.strip() and not line.strip().startswith("```")]
    if len(lines) > 1 and lines[0].endswith(":"):
        del lines[0]
    line = _LABEL.sub("", lines[0]).strip() if lines else ""
    while len(line) > 1 and _PAIRS.get(line[0]) == line[-1] and line[0] not in line[1:-1]:
        line = line[1:-1].strip()
    return line.strip("*` ")[:300]


def drained(stream: Generator[Token | None, None, Reply]) -> Reply:
    """The whole reply, which a stream returns at its end."""
    while True:
        try:
            next(stream)
        except StopIteration as end:
            reply: Reply = end.value
            return reply
