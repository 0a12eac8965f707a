"""`local-rag doctor`: checks of this machine, and a record of whom a question contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from local_rag.cli.options import EngineOptions, JsonOption, stderr_display, with_options
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from local_rag.config.settings import Settings


@with_options
def doctor(
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="The question to ask with --network.")
    ] = None,
    *,
    options: EngineOptions,
    network: Annotated[
        bool, typer.Option("--network", help="Ask a question and list every host that is contacted.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Check this machine, the model and the index; each problem comes with the command that fixes it."""
    from local_rag.diagnostics.doctor import run_checks
    from local_rag.terminal.checks import checks_table
    from local_rag.terminal.console import write, write_json

    settings = options.settings()
    if network:
        return _record(settings, question or "", as_json=json)
    if question:
        raise UsageError("doctor takes a question only with --network", hint="local-rag doctor --network …")
    checks = run_checks(settings)
    if json:
        write_json(checks)
    else:
        write(checks_table(checks))
    return 0 if all(check.state != "bad" for check in checks) else 1


def _record(settings: Settings, question: str, *, as_json: bool) -> int:
    """0 if the question was answered or abstained from, and nothing but this machine was contacted; otherwise 1."""
    from local_rag.diagnostics.recorder import record_question
    from local_rag.terminal.console import write, write_json
    from local_rag.terminal.recording import recording_parts

    recording, ollama = record_question(settings, question, stderr_display())
    if as_json:
        write_json({"recording": recording, "ollama": ollama.lines, "ok": recording.code == 0})
    else:
        write(*recording_parts(recording, ollama.lines))
    return recording.code
