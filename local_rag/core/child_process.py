"""Processes that this program starts for itself: how one is started, waited for, limited and ended."""

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
"""Windows would open a console for a child of a program without one."""

_POLL = 0.05
"""Seconds between looks for a stop: a wait without end cannot be interrupted by Ctrl-C on Windows."""


class Finished(NamedTuple):
    """What a process left: `code` is None where its time was up and it was killed."""

    code: int | None
    output: bytes
    errors: bytes


def command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module. -P: the current folder is the user's, and a json.py in it would be imported."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment of this process, with its import path: the child finds the same packages in the same order."""
    package = str(Path(__file__).parents[2])
    entries = [entry for entry in sys.path if entry]
    path = entries if package in entries else [*entries, package]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def run(
    command: Sequence[str], request: bytes, seconds: float, env: Mapping[str, str], *, own_session: bool = False
) -> Finished:
    """Give a process its request on stdin and read what it writes. It has ended when this returns or raises.

    In a session of its own it does not hear the terminal's Ctrl-C. Raises Stopped, and OSError where it cannot be
    started.
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
                    unsent = None  # communicate remembers it
            process.kill()
            return Finished(None, *process.communicate())
        finally:
            process.kill()


def reply_stream() -> IO[bytes]:
    """In the child: stdout for the reply alone; what libraries print goes to stderr from here on."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def limit_memory(size: int) -> None:
    """In the child: allow `size` bytes of address space above what it has now.

    Only Linux enforces it: macOS accepts the limit and ignores it, Windows has none.
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
        except (ValueError, OSError):  # macOS refuses a limit below what is mapped already
            continue


def end_after(seconds: float) -> None:
    """In the child: let the system end it after twice the time, should it hang and its parent be gone; 0 for never."""
    if sys.platform != "win32":
        signal.alarm(int(2 * seconds) + 1 if seconds else 0)
