"""Implement `local-rag prompts`: show the prompts of a language model."""

from __future__ import annotations

from typing import Annotated

import typer

from local_rag.cli.options import JsonOption, argument, option, settings_of, write_result

prompts_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show the texts sent to a model.")

NameArgument = Annotated[str | None, argument("NAME", "A prompt; all if left out.")]


@prompts_app.command("show")
def prompts_show(
    name: NameArgument = None,
    default: Annotated[bool, option("--default", "Show the texts of local-rag in the form of prompts.yaml.")] = False,
    json: JsonOption = False,
) -> int:
    """Show each prompt text and its origin.

    The digest and the placeholders are shown too. To replace a text, write it under its name into prompts.yaml in the
    folder of config.yaml; this command names the first mistake in it. A text states the task; the program adds the
    passages with their fences and order, and the form of the reply.
    """
    from local_rag.diagnostics.prompts import as_yaml, shown_prompts
    from local_rag.terminal.diagnostics import prompt_parts

    shown = shown_prompts(settings_of(), name, default=default)
    write_result(shown, as_yaml(shown) if default else prompt_parts(shown), as_json=json)
    return 0
