"""Implement `local-rag doctor`: check this machine, and record which hosts a question contacts."""

from __future__ import annotations

from typing import Annotated

from local_rag.cli.options import (
    EngineOptions,
    JsonOption,
    argument,
    option,
    stderr_display,
    with_options,
    write_result,
)
from local_rag.core.errors import UsageError


@with_options
def doctor(
    question: Annotated[str | None, argument("[QUESTION]", "The question to ask with --network.")] = None,
    *,
    options: EngineOptions,
    network: Annotated[bool, option("--network", "Ask a question and list every host that is contacted.")] = False,
    deep: Annotated[
        bool, option("--deep", "Compare every row of the index with its digest, however large it is.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Check machine, model and index for problems.

    Each problem comes with the command that fixes it.
    """
    from local_rag.diagnostics.doctor import run_checks
    from local_rag.diagnostics.network import record_question
    from local_rag.terminal.diagnostics import checks_table, recording_parts

    settings = options.settings()
    if network:
        recording, ollama = record_question(settings, question or "", stderr_display())
        plain = {"recording": recording, "ollama": ollama, "ok": recording.code == 0}
        write_result(plain, recording_parts(recording, ollama), as_json=json)
        return recording.code
    if question:
        raise UsageError("doctor takes a question only with --network", hint="local-rag doctor --network …")
    checks = run_checks(settings, deep=deep)
    write_result(checks, [checks_table(checks)], as_json=json)
    return 0 if all(check.state != "bad" for check in checks) else 1
