"""`local-rag doctor`: checks of this machine, and a record of whom a question contacts."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from local_rag.cli.options import (
    EmbedderOption,
    EngineOption,
    IndexOption,
    JsonOption,
    ModelOption,
    ModelsOption,
    ProfileOption,
    TrustOption,
    settings_of,
    stderr_console,
)
from local_rag.core.errors import UsageError


def doctor(
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="The question to ask with --network.")
    ] = None,
    index: IndexOption = None,
    embedder: EmbedderOption = None,
    engine: EngineOption = None,
    model: ModelOption = None,
    profile: ProfileOption = None,
    models: ModelsOption = None,
    trust_models_here: TrustOption = None,
    network: Annotated[
        bool, typer.Option("--network", help="Ask a question and list every host that is contacted.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Check this machine, the model and the index; each problem comes with the command that fixes it."""
    from local_rag.diagnostics.doctor import examine
    from local_rag.terminal.show import check_lines, columns_of, write, write_json

    flags = {"embedder": embedder, "engine": engine, "model": model, "profile": profile}
    settings = settings_of(index, models, trust_models_here, **flags)
    if network:
        from local_rag.diagnostics.recorder import run_network

        return run_network(settings, question or "", stderr_console(), as_json=json)
    if question:
        raise UsageError("doctor takes a question only with --network", hint="local-rag doctor --network …")
    checks = examine(settings)
    if json:
        write_json(checks)
    else:
        for line in check_lines(checks, colour=sys.stdout.isatty(), width=columns_of(sys.stdout)):
            write(line)
    return 0 if all(check.state != "bad" for check in checks) else 1
