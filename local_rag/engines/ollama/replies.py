"""What is asked and what comes back: a reply is looked at for how it ended before its text counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local_rag.core.errors import EngineError
from local_rag.core.usage import Call
from local_rag.engines.ollama.context_window import Message, TooLong, Use, was_cut
from local_rag.engines.ollama.token_probabilities import Token

AGAIN = "ask again; if it happens often, try another model: local-rag models"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One prompt. `cap` is the most tokens of the reply, `schema` its JSON schema; `variant` 0 is the fixed seed at
    temperature 0, others are further tries at temperature 0.7. `logprobs`: ask for each token's log-probability, and
    for so many alternatives to it.
    """

    role: str
    use: Use
    messages: Sequence[Message]
    cap: int
    schema: Mapping[str, Any] | None = None
    logprobs: int | None = None
    variant: int = 0
    retry: bool = False


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


class Overlong(Exception):
    """The prompt does not fit into the window; `size` is what the server knows of it."""

    def __init__(self, size: TooLong) -> None:
        super().__init__(size)
        self.size = size


def check_end(request: ChatRequest, text: str, last: Mapping[str, Any]) -> bool:
    """Whether a reply was cut at its cap; `last` is the line with `done` and the figures, empty if none came.

    Raises BrokenOff without such a line, Overlong where the prompt was cut or filled the window, Empty without a text.
    """
    if not last.get("done"):
        raise BrokenOff(
            f"the reply of {request.use.model} broke off without an end, as Ollama does when a model repeats itself",
            hint=AGAIN,
        )
    counted, generated = last.get("prompt_eval_count"), int(last.get("eval_count") or 0)
    if was_cut(request.messages, counted, request.use.num_ctx):
        raise Overlong(TooLong())
    cut = last.get("done_reason") == "length"
    if cut and counted and counted + generated >= request.use.num_ctx:
        raise Overlong(TooLong(counted, request.use.num_ctx))
    if generated and not text.strip():
        raise _empty(request.use, generated)
    return cut


def _empty(use: Use, generated: int) -> Unusable:
    """What it means that tokens came and no text: thoughts, or a model that ended at once."""
    what = f"{use.model} generated {generated} tokens and returned no text"
    if use.thinks is False:
        return BrokenOff(f"{what}: it ended its reply at once", hint=AGAIN)
    if use.think:
        return Empty(f"{what}: its thoughts left no room for it", hint="take another model: local-rag models")
    where = f"under ollama: models: {use.model}: in your models.yaml"
    return Empty(
        f"{what}, as models do that think; it was sent think: false",
        hint=f"give it a line 'think: low' (gpt-oss) or 'think: true' {where}",
    )


def call_of(request: ChatRequest, last: Mapping[str, Any], seconds: float) -> Call:
    """The figures of the server, for the usage; `loaded` is for whoever knows what is usual."""
    load = _seconds(last, "load_duration")
    return Call(
        role=request.role,
        model=request.use.model,
        prompt_tokens=int(last.get("prompt_eval_count") or 0),
        output_tokens=int(last.get("eval_count") or 0),
        seconds=seconds,
        load_seconds=load,
        prompt_seconds=_seconds(last, "prompt_eval_duration"),
        output_seconds=_seconds(last, "eval_duration"),
        retry=request.retry,
    )


def _seconds(last: Mapping[str, Any], key: str) -> float:
    return float(last.get(key) or 0) / 1e9
