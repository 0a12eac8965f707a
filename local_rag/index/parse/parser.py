"""Files are parsed in another process: what hangs, crashes or eats memory there is one skipped file here."""

from __future__ import annotations

import atexit
import base64
import errno
import json
import os
import queue
import re
import shlex
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from pydantic import TypeAdapter

from local_rag.core import cancel, child_process
from local_rag.core.errors import FileSkipped
from local_rag.core.reasons import reason_of
from local_rag.index.parse.parsed_file import ParsedFile
from local_rag.index.parse.pdf_page import PagePicture, PlacedQuote
from local_rag.text.display import format_bytes

SECONDS = 60.0
"""Per file. The slowest of 497 real documents took under 3 s on two cores."""

MAX_BYTES = 500_000_000

_PARSED = TypeAdapter(ParsedFile)

_POLL = 0.05
"""Seconds between looks at the worker: a wait without end cannot be interrupted by Ctrl-C on Windows."""


class Parser:
    """A warm worker process, started by the first file. For one thread at a time; close it, or use it in `with`.

    Starting a worker takes a fifth of a second of a processor, so the worker of a closed parser waits for the next one.
    """

    def __init__(self, seconds: float = SECONDS, loaders: Mapping[str, str] = MappingProxyType({})) -> None:
        """`seconds` is the wall clock that one file may take; `loaders` as `loaders.names_of` gives them."""
        self.seconds = seconds
        self._loaders = loaders
        self._worker: _Worker | None = None
        self._stopped = threading.Event()

    def __enter__(self) -> Parser:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the worker, if there is one: it ends by itself when nothing is to be parsed for a while.

        One that imported somebody's loaders or was given a password ends at once.
        """
        worker, self._worker = self._worker, None
        if worker and (self._loaders or self._stopped.is_set()):
            worker.end()
        elif worker:
            _keep(worker)

    def stop(self) -> None:
        """From another thread: whatever is being parsed is skipped at once, and so is all that would come after it."""
        self._stopped.set()
        worker = self._worker
        if worker:
            worker.process.kill()

    @property
    def pid(self) -> int | None:
        """The id of the worker process; None before the first file."""
        return self._worker.process.pid if self._worker else None

    def parse(self, path: Path, password: str = "") -> Iterator[ParsedFile]:
        """The documents of a file. Raises FileSkipped with the reason: unreadable, too slow, too large, a crash.

        A worker that fails on memory or crashes after other files gets no say: a fresh one tries the file again.
        """
        own = self._loaders.get(path.suffix.lower())
        reply = self._reply(path.absolute(), {"password": password} | ({"loader": own} if own else {}))
        yield _PARSED.validate_python(_unless_skipped(reply))

    def is_locked(self, path: Path, password: str = "") -> bool:
        """Whether a PDF needs a password, and another one than this. Raises FileSkipped where it cannot be opened."""
        reply = self._reply(path.absolute(), {"locked": True, "password": password})
        return bool(reply.get("locked", False))

    def picture(self, path: Path, page: int) -> PagePicture:
        """A page of a PDF as a picture, counted from 1. Raises FileSkipped as `parse` does, and for no such page."""
        reply = _unless_skipped(self._reply(path.absolute(), {"page": page}))
        return PagePicture(**reply | {"png": base64.b64decode(reply["png"])})

    def placed(self, path: Path, page: int, text: str, start: int, end: int) -> PlacedQuote:
        """Where code points [start, end) of the stored text of a page stand on it. Raises as `picture` does."""
        more = {"page": page, "text": text, "start": start, "end": end}
        reply = _unless_skipped(self._reply(path.absolute(), more))
        return PlacedQuote(**reply | {"rectangles": tuple(map(tuple, reply["rectangles"]))})

    def _reply(self, path: Path, more: Mapping[str, Any]) -> dict[str, Any]:
        _refuse(path)
        try:
            return self._ask({"path": str(path), "seconds": self.seconds, **more})
        except BaseException:
            self._end()  # a reply that comes later would be taken for the next file's
            raise

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        while not self._stopped.is_set():
            worker = self._worker = self._worker or _waiting() or _Worker()
            if self._stopped.is_set():  # while the worker was starting
                worker.process.kill()
            others = worker.replies
            reply = worker.ask(request, self.seconds)
            if not reply.get("exhausted"):
                return reply
            self._end()
            if reply.get("late") or not others:
                return reply
        return {"skipped": "was not read any more", "hint": "", "passing": True}

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker:
            worker.end()


def _unless_skipped(reply: dict[str, Any]) -> dict[str, Any]:
    if "skipped" in reply:
        passing, lasting = reply.get("passing", False), reply.get("late", False)
        raise FileSkipped(reply["skipped"], hint=reply["hint"], passing=passing, lasting=lasting)
    return reply


def _refuse(path: Path) -> None:
    """What needs no parser to be skipped: reading a pipe would wait for ever."""
    try:
        status = path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileSkipped("is a link that leads in a circle") from error
        raise FileSkipped(f"cannot be opened ({reason_of(error)})", passing=True) from error
    if not stat.S_ISREG(status.st_mode):
        raise FileSkipped("is not a regular file")
    refuse_large(path, status.st_size)


def refuse_large(path: Path, size: int) -> None:
    """Raises FileSkipped for a file that is not even looked into: reading it would take long to no avail."""
    if size > MAX_BYTES:
        raise FileSkipped(f"is {format_bytes(size)} large, up to {format_bytes(MAX_BYTES)} are read", too_large(path))


def too_large(path: Path) -> str:
    """What to do about a file that is above a limit."""
    pattern = re.sub(r"([\\*?\[\]!#])", r"\\\1", path.name)
    return f"split it, or leave it out with --exclude {shlex.quote(pattern)}"


class _Worker:
    """One worker process and the thread that reads its replies. `replies` counts them."""

    def __init__(self) -> None:
        self.replies, self.has_secret = 0, False
        self.started_as = _circumstances()
        self.process = subprocess.Popen(
            child_process.command("local_rag.index.parse.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=child_process.NO_WINDOW,
            env=child_process.environment(),
        )
        self._replies: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=_receive, args=(self.process.stdout, self._replies), daemon=True).start()

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The worker's reply, or one in its place: "exhausted" when it crashed or did not answer in time.

        Raises Stopped.
        """
        assert self.process.stdin
        self.has_secret |= bool(request.get("password"))
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return self._crashed()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            cancel.check()
            try:
                line = self._replies.get(timeout=_POLL)
            except queue.Empty:
                continue
            if not line.endswith(b"\n"):
                return self._crashed()
            reply: dict[str, Any] = json.loads(line)
            self.replies += 1
            return reply
        late = f"took longer than {seconds:g} s to read"
        return {"skipped": late, "hint": "", "passing": True, "exhausted": True, "late": True}

    def may_wait(self) -> bool:
        """Whether another parser of this process can go on with it."""
        return not self.has_secret and self.process.poll() is None and self.started_as == _circumstances()

    def end(self) -> None:
        process = self.process
        process.kill()
        process.wait()
        if process.stdin:
            with suppress(OSError):  # half a request was still to be written
                process.stdin.close()

    def _crashed(self) -> dict[str, Any]:
        code = self.process.wait()
        how = f"signal {-code}, {_signal_name(-code)}" if code < 0 else f"exit code {code}"
        return {"skipped": f"the parser crashed ({how})", "hint": "", "passing": True, "exhausted": True}


_WAITING: list[_Worker] = []
"""At most one worker without a parser."""


def _keep(worker: _Worker) -> None:
    if _WAITING or not worker.may_wait():
        worker.end()
    else:
        _WAITING.append(worker)


def _waiting() -> _Worker | None:
    try:
        worker = _WAITING.pop()
    except IndexError:
        return None
    if worker.may_wait():
        return worker
    if worker.started_as[0] == os.getpid():  # else it is the worker of the process that this one was forked from
        worker.end()
    return None


def _circumstances() -> tuple[int, str, str]:
    """What a worker has from the process that starts it: which one, the path of its imports, the time zone."""
    return os.getpid(), child_process.environment()["PYTHONPATH"], os.environ.get("TZ", "")


@atexit.register
def _end_waiting() -> None:
    while worker := _waiting():
        worker.end()


def _receive(replies: IO[bytes], lines: queue.Queue[bytes]) -> None:
    """Hand over replies; the last is b"", the end of the pipe."""
    with replies:
        for line in replies:
            lines.put(line)
    lines.put(b"")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
