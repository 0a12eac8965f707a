"""Implement `local-rag calibrate`, which fits the thresholds for answering and refusing to labelled cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from local_rag.cli.options import (
    EngineOptions,
    FormatOption,
    JsonOption,
    KOption,
    argument,
    option,
    stderr_display,
    with_options,
    write_result,
)
from local_rag.core.errors import UsageError
from local_rag.core.serialization import to_plain


@with_options
def calibrate(
    cases: Annotated[list[Path], argument("CASES", "Labelled cases, as for eval.")],
    *,
    options: EngineOptions,
    corpus: Annotated[bool, option("--corpus", "Index and search the set's own documents.")] = False,
    k: KOption = None,
    keep: Annotated[
        float | None,
        option("--keep", "Answer at least this share of answerable cases: 0.95.", "SHARE"),
    ] = None,
    limit: Annotated[int | None, option("--limit", "Ask only N cases, drawn by --seed.", "N", min=1)] = None,
    seed: Annotated[int, option("--seed", "Seed for drawing cases and for cross-validation.", "N")] = 0,
    dry_run: Annotated[bool, option("--dry-run", "Show the thresholds without storing them.")] = False,
    format: FormatOption = None,
    json: JsonOption = False,
) -> int:
    """Fit answer thresholds to labelled cases.

    The thresholds for relevance and answers are stored for this engine and embedder. The cases must include questions
    that the index answers and questions that it does not answer. The web is off.
    """
    from local_rag.evaluation.calibrate import CalibrationRequest
    from local_rag.evaluation.calibrate import calibrate as fit
    from local_rag.terminal.evaluation import calibration_parts

    if corpus and options.index:
        raise UsageError("--corpus makes an index, so --index cannot name another", hint="leave one of them out")
    if keep is not None and not 0 < keep <= 1:
        raise UsageError(f"--keep is a share above 0 and up to 1, not {keep:g}", hint="--keep 0.95")
    request = CalibrationRequest(tuple(cases), format, corpus, limit, seed, keep, dry_run)
    settings = options.settings(k=k, web__enabled="off", web__source="")
    calibration = fit(settings, request, stderr_display())
    plain = {name: value for name, value in to_plain(calibration).items() if name != "kept_in" or value is not None}
    write_result(plain, calibration_parts(calibration, settings), as_json=json)
    return 0
