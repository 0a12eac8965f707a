"""Implement `local-rag models`: list language models, download them with `pull`, and test them with `try`."""

from __future__ import annotations

from typing import Annotated

import typer

from local_rag.cli.options import (
    JsonOption,
    ProfileOption,
    argument,
    settings_of,
    stderr_display,
    write_result,
)
from local_rag.core.errors import UsageError

models_app = typer.Typer(rich_markup_mode=None, help="List, download and try language models.")

NameArgument = Annotated[str | None, argument("NAME", "A model of Ollama; the profile's if left out.")]


@models_app.callback(invoke_without_command=True)
def list_models(
    context: typer.Context,
    profile: ProfileOption = None,
    json: JsonOption = False,
) -> int:
    """List the language models: offered, installed, loaded, and whether they fit this machine."""
    if context.invoked_subcommand:
        if profile or json:
            raise UsageError(
                f"options of {context.invoked_subcommand} belong after it",
                hint=f"local-rag models {context.invoked_subcommand} --help",
            )
        return 0
    from local_rag.diagnostics.models import model_report
    from local_rag.runtime.engine_choice import QUICK
    from local_rag.terminal.diagnostics import model_parts

    report = model_report(settings_of(profile=profile), QUICK)
    write_result(report, model_parts(report), as_json=json)
    return 0


@models_app.command()
def pull(
    name: NameArgument = None,
    profile: ProfileOption = None,
) -> int:
    """Let Ollama download the missing models.

    A stopped download continues where it stopped. A model that Ollama already has is updated.
    """
    from local_rag.diagnostics.models import pull_models
    from local_rag.terminal.console import write
    from local_rag.text.display import format_bytes

    settings = settings_of(model=name, profile=profile)
    for pulled in pull_models(settings, stderr_display()):
        size = format_bytes(pulled.size)
        write(f"{pulled.name} is installed ({size}); try it: local-rag models try {pulled.name}")
    return 0


@models_app.command("try")
def try_(
    name: NameArgument = None,
    profile: ProfileOption = None,
    json: JsonOption = False,
) -> int:
    """Try a model's tasks and measure its grades.

    The verdicts, seconds and tokens for a small fixed example are shown, then how good the model's grades of forty
    answers are. If they are good, it is asked about each answer from then on (grading: auto). The exit code is 0 if
    each verdict had the required form at the first try, else 1.
    """
    from contextlib import closing

    from local_rag.diagnostics.trial import run_trial
    from local_rag.runtime.engine_choice import open_language_model
    from local_rag.terminal.console import write
    from local_rag.terminal.diagnostics import trial_parts

    settings = settings_of(model=name, profile=profile)
    with closing(open_language_model(settings, trial=True)) as engine:
        if not json:
            write(engine.describe)
        trial = run_trial(settings, engine, stderr_display())
    write_result(trial, trial_parts(trial), as_json=json)
    return 0 if trial.honoured else 1
