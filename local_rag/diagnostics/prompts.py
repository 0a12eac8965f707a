"""Show the prompts in force with their origins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.engines.language_model.prompt_texts import TEXTS, PromptTexts
from local_rag.runtime.engine_choice import prompt_texts

OURS = "local-rag"
"""The origin of a text that nobody replaced."""


@dataclass(frozen=True)
class ShownPrompt:
    """Hold a prompt text in force, its `origin`, and the `digest` of calls that use this text alone.

    `placeholders` explains each name that is filled in, and `required` lists the names that the text must contain.
    """

    name: str
    purpose: str
    origin: str
    digest: str
    text: str
    placeholders: Mapping[str, str]
    required: tuple[str, ...]


def shown_prompts(settings: Settings, name: str | None, *, default: bool) -> list[ShownPrompt]:
    """Return every text in force, or that of one name; with `default`, the texts of local-rag.

    Raise UsageError for an unknown name.
    """
    texts = PromptTexts() if default else prompt_texts(settings)
    return [
        ShownPrompt(
            known,
            TEXTS[known].purpose,
            texts.origin.get(known, OURS),
            texts.digest([known]),
            texts.template(known),
            TEXTS[known].placeholders,
            tuple(TEXTS[known].required),
        )
        for known in _named(name)
    ]


def _named(name: str | None) -> Sequence[str]:
    if name is not None and name not in TEXTS:
        raise UsageError(f"there is no prompt {name!r}: there are {', '.join(TEXTS)}", hint="local-rag prompts show")
    return [name] if name else list(TEXTS)


def as_yaml(shown: Sequence[ShownPrompt]) -> Iterator[str]:
    """Yield the lines of a prompts.yaml with these texts; comments explain the placeholders."""
    for number, prompt in enumerate(shown):
        if number:
            yield ""
        yield f"# {prompt.purpose}"
        for name, meaning in prompt.placeholders.items():
            yield f"# {{{name}}}{' (required)' if name in prompt.required else ''}: {meaning}"
        yield f"{prompt.name}: |-"
        yield from (f"  {line}" for line in prompt.text.splitlines())
