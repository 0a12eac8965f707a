"""Files are parsed in another process: what hangs, crashes or eats memory there is one skipped file here."""

from __future__ import annotations

import errno
import json
import os
import queue
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import local_rag
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.parsed import Parsed, from_wire

SECONDS = 60.0
"""Per file. The slowest of 497 real documents took under 3 s on two cores."""

MAX_BYTES = 500_000_000

_POLL = 0.05
"""Seconds between looks at the worker: a wait without end cannot be interrupted by Ctrl-C on Windows."""


class Parser:
    """A warm worker process, started by the first file. For one thread at a time; close it, or use it in `with`."""

    def __init__(self, seconds: float = SECONDS) -> None:
        """`seconds` is the wall clock that one file may take."""
        self.seconds = seconds
        self._worker: _Worker | None = None
        self._stopped = False

    def __enter__(self) -> Parser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker, if there is one. The next file would start another."""
        worker, self._worker = self._worker, None
        if worker:
            worker.end()

    def stop(self) -> None:
        """From another thread: whatever is being parsed is skipped at once, and so is all that would come after it."""
        self._stopped = True
        worker = self._worker
        if worker:
            worker.kill()

    def _end_if_stopped(self) -> None:
        """A stop may have come while the worker was starting."""
        if self._stopped and self._worker:
            self._worker.kill()

    def parse(self, path: Path) -> Parsed:
        """The documents of a file. Raises FileSkipped with the reason: unreadable, too slow, too large, a crash.

        A worker that fails on memory or crashes after other files gets no say: a fresh one tries the file again.
        """
        path = path.absolute()
        _refuse(path)
        fresh = self._worker is None
        try:
            reply = self._ask(path)
            if reply.get("spent") and not reply.get("late") and not fresh:
                reply = self._ask(path)
        except BaseException:
            self.close()  # a reply that comes later would be taken for the next file's
            raise
        if "skipped" in reply:
            raise FileSkipped(reply["skipped"], hint=reply["hint"])
        return from_wire(reply)

    def _ask(self, path: Path) -> dict[str, Any]:
        if self._stopped:
            return {"skipped": "was not read any more", "hint": ""}
        if self._worker is None:
            self._worker = _Worker()
            self._end_if_stopped()
        reply = self._worker.ask(path, self.seconds)
        if reply.get("spent"):
            self.close()
        return reply


def _refuse(path: Path) -> None:
    """What needs no parser to be skipped: reading a pipe would wait for ever."""
    try:
        found = path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileSkipped("is a link that leads in a circle") from error
        raise FileSkipped(f"cannot be opened ({error.strerror or error})") from error
    if not stat.S_ISREG(found.st_mode):
        raise FileSkipped("is not a regular file")
    if found.st_size > MAX_BYTES:
        raise FileSkipped(f"is {found.st_size // 1_000_000:,} MB large; up to {MAX_BYTES // 1_000_000} MB are read")


class _Worker:
    """One worker process and the thread that reads its replies."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            # -P: the current folder is the user's, and a json.py in it would be imported
            [sys.executable, "-P", "-m", "local_rag.index.parse.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(import_path())},
        )
        self._replies: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=_receive, args=(self._process.stdout, self._replies), daemon=True).start()

    def ask(self, path: Path, seconds: float) -> dict[str, Any]:
        """The worker's reply, or one in its place: "spent" when it crashed or did not answer in time."""
        request = json.dumps({"path": str(path), "seconds": seconds}).encode() + b"\n"
        assert self._process.stdin
        try:
            self._process.stdin.write(request)
            self._process.stdin.flush()
        except OSError:
            return self._crashed()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                line = self._replies.get(timeout=_POLL)
            except queue.Empty:
                continue
            if not line.endswith(b"\n"):
                return self._crashed()
            reply: dict[str, Any] = json.loads(line)
            return reply
        return {"skipped": f"took longer than {seconds:g} s to read", "hint": "", "spent": True, "late": True}

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        process = self._process
        process.kill()
        process.wait()
        if process.stdin:
            with suppress(OSError):  # half a request was still to be written
                process.stdin.close()

    def _crashed(self) -> dict[str, Any]:
        code = self._process.wait()
        how = f"signal {-code}, {_signal(-code)}" if code < 0 else f"exit code {code}"
        return {"skipped": f"the parser crashed ({how})", "hint": "", "spent": True}


def _receive(replies: IO[bytes], lines: queue.Queue[bytes]) -> None:
    """Hand over replies; the last is b"", the end of the pipe."""
    with replies:
        for line in replies:
            lines.put(line)
    lines.put(b"")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def import_path() -> list[str]:
    """The import path of this process, so that the worker finds the same packages in the same order."""
    package = str(Path(local_rag.__file__).parents[1])
    entries = [entry for entry in sys.path if entry]
    return entries if package in entries else [*entries, package]
