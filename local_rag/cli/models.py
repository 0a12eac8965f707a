"""`local-rag models`: which language models there are, `pull` them through Ollama, and `try` them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from local_rag.cli.options import (
    JsonOption,
    ModelOption,
    ModelsOption,
    ProfileOption,
    TrustOption,
    settings_of,
    stderr_console,
)
from local_rag.core.errors import UsageError

models_app = typer.Typer(rich_markup_mode=None, help="List language models, download them (pull), try them out (try).")

NameArgument = Annotated[
    str | None, typer.Argument(metavar="NAME", help="A model as Ollama names it; by default those of the profile.")
]


@models_app.callback(invoke_without_command=True)
def list_models(
    context: typer.Context,
    profile: ProfileOption = None,
    models: ModelsOption = None,
    trust_models_here: TrustOption = None,
    json: JsonOption = False,
) -> int:
    """List the language models: offered, installed, loaded, and whether they fit this machine."""
    if context.invoked_subcommand:
        if profile or models or trust_models_here or json:
            raise UsageError(
                f"options of {context.invoked_subcommand} belong after it",
                hint=f"local-rag models {context.invoked_subcommand} --help",
            )
        return 0
    from local_rag.diagnostics.model_list import model_report, report_lines
    from local_rag.runtime.engine_choice import QUICK
    from local_rag.terminal.show import columns_of, write, write_json

    report = model_report(settings_of(None, models, trust_models_here, profile=profile), QUICK)
    if json:
        write_json(report)
        return 0
    for line in report_lines(report, columns_of(sys.stdout)):
        write(line)
    return 0


@models_app.command()
def pull(
    name: NameArgument = None,
    model: ModelOption = None,
    profile: ProfileOption = None,
    models: ModelsOption = None,
    trust_models_here: TrustOption = None,
) -> int:
    """Let Ollama download the missing models.

    A stopped download continues where it stopped. A model that Ollama already has is updated.
    """
    from local_rag.diagnostics.pull import pull_models

    settings = settings_of(None, models, trust_models_here, model=name or model, profile=profile)
    return pull_models(settings, stderr_console())


@models_app.command("try")
def try_(
    name: NameArgument = None,
    model: ModelOption = None,
    profile: ProfileOption = None,
    models: ModelsOption = None,
    trust_models_here: TrustOption = None,
    json: JsonOption = False,
) -> int:
    """Give a model each of the eight tasks once.

    Shows verdicts, seconds and tokens on a small fixed example. The exit code is 0 if each verdict had the
    required form at the first try, else 1.
    """
    from local_rag.diagnostics.trial import try_model

    settings = settings_of(None, models, trust_models_here, model=name or model, profile=profile)
    return try_model(settings, stderr_console(), json=json)
