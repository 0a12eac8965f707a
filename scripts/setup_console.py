"""What the setup shows: a line per stage with its time, the whole output of what failed, one line per error."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

STOPPED = 130
"""Exit status after Ctrl-C: 128 and the number of SIGINT."""

TICK, BEAT = 1.0, 10.0
"""Seconds between two looks at a child, and between two dots that say that it works where there is no terminal."""

GRACE = 5.0
"""Seconds that a child gets to end by itself after Ctrl-C, and then again after being told to."""


class SetupError(Exception):
    """What went wrong in one line, and in `hint` what to do next."""

    def __init__(self, message: str, hint: str, status: int = 1) -> None:
        super().__init__(message)
        self.hint = hint
        self.status = status


def run(main: Callable[[], int]) -> int:
    """Run a script's main and turn its errors and Ctrl-C into a line and an exit status."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a Windows console without …
    try:
        return main()
    except SetupError as error:
        say(f"{error}\n  try: {error.hint}", to=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        say("\nstopped; the same command goes on from here", to=sys.stderr)
        return STOPPED


def say(text: str, end: str = "\n", to: TextIO | None = None) -> None:
    print(text, end=end, file=to or sys.stdout, flush=True)


def call(command: Sequence[str | Path], environment: Mapping[str, str], folder: Path) -> int:
    """Run a command on this terminal and return its exit status. Ctrl-C reaches it too, and it may end by itself."""
    with subprocess.Popen([*map(str, command)], env=environment, cwd=folder) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            _end(process)
            raise


@contextmanager
def beside(command: Sequence[str | Path], environment: Mapping[str, str], folder: Path) -> Iterator[Callable[[], int]]:
    """Run a command beside others. What this yields waits for its end, shows its output and returns its exit status."""
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            [*map(str, command)],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):

        def finish() -> int:
            process.wait()
            output.seek(0)
            say(output.read().decode(errors="replace").rstrip())
            return process.returncode

        try:
            yield finish
        except BaseException:
            _end(process)
            raise


def quietly(doing: str, command: Sequence[str | Path], environment: Mapping[str, str], folder: Path) -> tuple[int, str]:
    """Run a command while `doing` and the seconds stand on the screen; its exit status and its output.

    The line is left open, for `done` to close.
    """
    say(f"{doing}…", end="")
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            [*map(str, command)],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            _wait(process, doing)
        except KeyboardInterrupt:
            _end(process)
            raise
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace").strip()


def done(doing: str, since: float, outcome: str = "") -> None:
    """Close the line of a stage that began at `since` (of time.monotonic)."""
    seconds = f"{time.monotonic() - since:.0f} s"
    _line(doing, f"{outcome} ({seconds})" if outcome else seconds, end="\n")


def _wait(process: subprocess.Popen[bytes], doing: str) -> None:
    start = beat = time.monotonic()
    while True:
        try:
            process.wait(timeout=TICK)
            return
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            if sys.stdout.isatty():
                _line(doing, f"{now - start:.0f} s")
            elif now - beat >= BEAT:
                say(".", end="")
                beat = now


def _line(doing: str, rest: str, end: str = "") -> None:
    if sys.stdout.isatty():
        say(f"\r{doing}… {rest}", end=end)
    else:
        say(f" {rest}", end=end)


def _end(process: subprocess.Popen[bytes]) -> None:
    for tell in (process.terminate, process.kill):
        try:
            process.wait(timeout=GRACE)
            return
        except subprocess.TimeoutExpired:
            tell()


def variables(given: Mapping[str, str], programs: Path) -> dict[str, str]:
    """The variables of an activated environment, without those that send pip or Python elsewhere."""
    misleading = {"PYTHONHOME", "PYTHONPATH", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "__PYVENV_LAUNCHER__"}
    kept = {name: value for name, value in given.items() if name.upper() not in misleading}
    path = os.pathsep.join(filter(None, [str(programs), given.get("PATH", "")]))
    return kept | {
        "VIRTUAL_ENV": str(programs.parent),
        "PATH": path,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }
