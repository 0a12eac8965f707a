"""Start, limit, await and end the child processes of this program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from local_rag.core import cancel

NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""The flag that keeps Windows from opening a console for a child of a program without one."""

_POLL = 0.05
"""Seconds between checks for a stop, because Ctrl-C on Windows cannot interrupt a wait without a limit."""


class Finished(NamedTuple):
    """Hold the results of a process; `code` is None if it was killed because its time was up."""

    code: int | None
    output: bytes
    errors: bytes


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module; -P keeps a json.py in the user's folder from being imported."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return this process's environment and import path, so that a child finds the same packages in the same order."""
    package = str(Path(__file__).parents[2])
    entries = [entry for entry in sys.path if entry]
    path = entries if package in entries else [*entries, package]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def run(
    command: Sequence[str], request: bytes, seconds: float, env: Mapping[str, str], *, own_session: bool = False
) -> Finished:
    """Send a request to a new process on stdin and return its output; the process has ended on return or error.

    With `own_session`, Ctrl-C in the terminal does not reach it. Raise Stopped, or OSError if it cannot be started.
    """
    until = time.monotonic() + seconds
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=env,
        creationflags=NO_WINDOW,
        start_new_session=own_session,
    ) as process:
        unsent: bytes | None = request
        try:
            while time.monotonic() < until:
                cancel.check()
                try:
                    output, errors = process.communicate(unsent, timeout=_POLL)
                    return Finished(process.returncode, output, errors)
                except subprocess.TimeoutExpired:
                    unsent = None  # communicate keeps the request
            process.kill()
            return Finished(None, *process.communicate())
        finally:
            process.kill()


def reply_stream() -> IO[bytes]:
    """Return stdout for the child's reply alone, and send what libraries print to stderr from now on."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def limit_memory(size: int) -> None:
    """Limit the child's address space to `size` bytes more than it has now.

    Only Linux enforces the limit: macOS accepts and ignores it, Windows has none.
    """
    if sys.platform == "win32":
        return
    import resource

    statm = Path("/proc/self/statm")
    used = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0
    for limit, most in ((resource.RLIMIT_AS, used + size), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(limit)[1]
        try:
            resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
        except (ValueError, OSError):  # macOS refuses a limit below the mapped memory
            continue


def end_after(seconds: float) -> None:
    """Let the system end the child after twice the time, in case it hangs and its parent is gone; 0 means never."""
    if sys.platform != "win32":
        signal.alarm(int(2 * seconds) + 1 if seconds else 0)
