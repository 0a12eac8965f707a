"""`local-rag calibrate`: thresholds for answering and refusing, from labelled cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from local_rag.cli.options import EngineOptions, FormatOption, JsonOption, KOption, stderr_display, with_options
from local_rag.core.errors import UsageError
from local_rag.core.serialization import to_plain


@with_options
def calibrate(
    cases: Annotated[list[Path], typer.Argument(metavar="CASES", help="Labelled cases, as for eval.")],
    *,
    options: EngineOptions,
    corpus: Annotated[bool, typer.Option("--corpus", help="Index the set's own documents and ask those.")] = False,
    k: KOption = None,
    keep: Annotated[
        float | None,
        typer.Option("--keep", metavar="SHARE", help="Answer at least this share of the answerable: 0.95."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Ask only N cases, drawn by --seed.")
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed for drawing cases and for cross-validation.")
    ] = 0,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="The file for the plot: .png, .svg or .pdf.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the thresholds without storing them.")] = False,
    format: FormatOption = None,
    json: JsonOption = False,
) -> int:
    """Fit the thresholds for relevance and answers to labelled cases; store them for this engine and embedder.

    The cases must include questions that the index answers and questions that it does not. The web is off.
    """
    from local_rag.evaluation.calibration import CalibrationRequest
    from local_rag.evaluation.calibration import calibrate as fit
    from local_rag.terminal.calibration import calibration_parts
    from local_rag.terminal.console import write, write_json

    _check(options.index if corpus else None, keep, limit)
    request = CalibrationRequest(tuple(cases), format, corpus, limit, seed, keep, picture, dry_run)
    settings = options.settings(k=k, web__enabled="off")
    calibration = fit(settings, request, stderr_display())
    if json:
        plain = to_plain(calibration)
        write_json({name: value for name, value in plain.items() if name != "kept_in" or value is not None})
    else:
        write(*calibration_parts(calibration, settings))
    return 0


def _check(other_index: str | None, keep: float | None, limit: int | None) -> None:
    """Raises UsageError for an index beside --corpus, and for numbers out of range."""
    if other_index:
        raise UsageError("--corpus makes an index, so --index cannot name another", hint="leave one of them out")
    if keep is not None and not 0 < keep <= 1:
        raise UsageError(f"--keep is a share above 0 and up to 1, not {keep:g}", hint="--keep 0.95")
    if limit is not None and limit < 1:
        raise UsageError("--limit must be at least 1", hint="local-rag calibrate CASES --limit 200")
