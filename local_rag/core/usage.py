"""Usage: what the calls of a task cost."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a language model, in the server's own figures; `seconds` is wall clock here.

    `prompt_tokens` counts the whole prompt, `prompt_seconds` what was really read, which a remembered prefix is not.
    `loaded`: the model had to be loaded first. `retry`: the reply before it was not usable. `role` names the prompt
    text that it was made of, or several joined by "+", and `prompt` is their digest: the first 12 hex digits of the
    SHA-256 of the system message and these texts, placeholders unfilled.
    """

    role: str
    model: str
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    load_seconds: float = 0.0
    prompt_seconds: float = 0.0
    output_seconds: float = 0.0
    loaded: bool = False
    retry: bool = False
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one task cost. `seconds` is wall clock; tokens are 0 where no language model was asked.

    `unparsed` counts verdicts that stayed unusable after the retry; `log` holds the single calls in their order;
    `notes` is what a person should know besides: a passage that did not fit, a verdict that could not be read.
    """

    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    loads: int = 0
    retries: int = 0
    unparsed: int = 0
    log: tuple[Call, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Lists, as a checkpoint gives them back, become tuples."""
        object.__setattr__(self, "log", tuple(self.log))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))
