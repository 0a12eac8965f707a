"""The texts of the prompts, and whether a person's own can be used."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from local_rag.diagnostics.prompts import OURS, PromptCheck, ShownPrompt
from local_rag.terminal.console import indented
from local_rag.text.display import joined, plural, short_path


def prompt_parts(shown: Iterable[ShownPrompt]) -> Iterator[RenderableType]:
    """Each text: its name, what it is for, where it comes from, its digest, what its placeholders stand for."""
    for number, prompt in enumerate(shown):
        if number:
            yield ""
        own = prompt.origin != OURS
        origin = short_path(prompt.origin) if own else OURS
        yield Text.assemble((prompt.name, "bold cyan" if own else "bold"), (f"  {origin}, {prompt.digest}", "dim"))
        yield Text(f"({prompt.purpose})", "dim")
        for line in prompt.text.splitlines():
            yield indented(line)
        for name, meaning in prompt.placeholders.items():
            required = "required, " if name in prompt.required else ""
            yield Text(f"{{{name}}}: {required}{meaning}", "dim")


def check_parts(check: PromptCheck) -> Iterator[RenderableType]:
    """What is wrong, then each prompt as a model is told it."""
    for name, messages in check.examples.items():
        yield Text(f"--- {name}", "bold")
        for role, content in messages:
            yield Text(f"{role}:", "dim")
            yield from map(indented, content.split("\n"))
        yield ""
    path = short_path(check.file)
    for message, hint in check.mistakes:
        yield Text.assemble(("wrong: ", "red"), message)
        if hint:
            yield Text(f"  {hint}", "dim")
    if not check.exists:
        yield f"There is no {path}, so each text is that of local-rag. To begin with them:"
        file = Path(check.file)
        folder = "" if file.parent.is_dir() else f"mkdir -p {shlex.quote(str(file.parent))} && "
        yield f"  -> {folder}local-rag prompts show --default > {shlex.quote(check.file)}"
    elif not check.mistakes:
        own = f": {joined(check.own)}" if check.own else ""
        yield f"{path} can be used, with {plural(len(check.own), 'text')} of your own{own}."
