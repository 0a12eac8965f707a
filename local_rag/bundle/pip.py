"""pip of the running Python, asked for wheels."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from local_rag.core.errors import LocalRagError

_QUIET = ("--disable-pip-version-check", "--no-input", "--quiet")


def run_pip(arguments: Sequence[str]) -> tuple[int, str]:
    """The exit status of one command of pip, and what it wrote. Raises LocalRagError where there is no pip."""
    command, *rest = arguments
    done = subprocess.run(
        [sys.executable, "-m", "pip", command, *_QUIET, *rest],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    output = done.stdout.decode(errors="replace")
    if done.returncode and "No module named pip" in output:
        raise LocalRagError(f"{sys.executable} has no pip, which fetches the wheels", hint="python -m ensurepip")
    return done.returncode, output


def last_line(output: str) -> str:
    """The last thing that pip complained about."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["nothing was said"])[-1]
