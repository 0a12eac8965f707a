"""The parser, which reads files in another process: what hangs, crashes or eats memory there is one skipped file
here.
"""

from __future__ import annotations

import base64
import json
import queue
import re
import shlex
import stat
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import IO, Any

from pydantic import TypeAdapter

from local_rag.core import cancel, child_process
from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped, reason_of
from local_rag.index.parse.parsed_file import MAX_BYTES, ParsedFile
from local_rag.index.parse.pdf_page import PagePicture, PlacedQuote
from local_rag.text.display import format_bytes

PART_SECONDS = 60.0
"""Seconds per part of a file. The slowest of 497 real documents took under 3 s on two cores."""

_PARSED, _READ = TypeAdapter(ParsedFile), TypeAdapter(LoadedDocument)

_POLL = 0.05
"""Seconds between looks at the worker: a wait without end cannot be interrupted by Ctrl-C on Windows."""


class Parser:
    """A worker process, started by the first file. For one thread and one file at a time; close it, or use `with`."""

    def __init__(self, seconds: float = PART_SECONDS, loaders: Mapping[str, str] = MappingProxyType({})) -> None:
        """Prepare a parser. `seconds` is the wall clock that one part may take; `loaders` are as `loaders.names_of`
        returns them.
        """
        self.seconds = seconds
        self._loaders = dict(loaders)
        self._worker: _Worker | None = None
        self._stopped = threading.Event()

    def __enter__(self) -> Parser:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker, if there is one; another file starts another."""
        worker, self._worker = self._worker, None
        if worker:
            worker.end()

    def stop(self) -> None:
        """Skip at once, from another thread, whatever is being parsed, and all that would come after it."""
        self._stopped.set()
        worker = self._worker
        if worker:
            worker.process.kill()

    @property
    def pid(self) -> int | None:
        """Return the id of the worker process; None before the first file."""
        return self._worker.process.pid if self._worker else None

    def parse(self, path: Path) -> Iterator[ParsedFile]:
        """Yield the parts of a file: most files have one, a mailbox has many. The time limit holds for each part.

        Raises FileSkipped with the reason: unreadable, too slow, too large, a crash.
        """
        part = 0
        while (reply := self._ask(path, loaders=self._loaders, part=part))["documents"] is not None:
            yield _PARSED.validate_python(reply)
            part += 1

    def read_page(self, path: Path, page: int, languages: Sequence[str] = ()) -> LoadedDocument:
        """Return the text that OCR reads on a page, counted from 1, of a PDF or an image. Raises as `picture` does."""
        return _READ.validate_python(self._ask(path, page=page, languages=languages))

    def picture(self, path: Path, page: int) -> PagePicture:
        """Return a page of a PDF or an image, counted from 1. Raises FileSkipped as `parse` does, and for no such
        page.
        """
        reply = self._ask(path, page=page)
        return PagePicture(**reply | {"png": base64.b64decode(reply["png"])})

    def placed(self, path: Path, page: int, text: str, spans: Sequence[Sequence[int]]) -> PlacedQuote:
        """Return where code points [start, end) of the stored text of a page stand on it. Raises as `picture` does."""
        reply = self._ask(path, page=page, text=text, spans=spans)
        return PlacedQuote(**reply | {"rectangles": tuple(map(tuple, reply["rectangles"]))})

    def _ask(self, path: Path, **more: Any) -> dict[str, Any]:
        """Return the reply of the worker. One that fails after other files gets no say: a fresh one tries the file
        again.
        """
        if not more.get("part"):
            _refuse(path)
        request = {"path": str(path.absolute()), "seconds": self.seconds, **more}
        while not self._stopped.is_set():
            again = self._worker is not None and not more.get("part")
            worker = self._worker = self._worker or _Worker()
            if self._stopped.is_set():  # while the worker was starting
                worker.process.kill()
            try:
                reply = worker.ask(request, self.seconds)
            except BaseException:
                self.close()  # a reply that comes later would be taken for the next file's
                raise
            if reply.pop("exhausted", False):
                self.close()
                if again and not reply.get("lasting"):
                    continue
            if "skipped" in reply:
                raise FileSkipped(reply.pop("skipped"), **reply)
            return reply
        raise FileSkipped("was not read any more", passing=True)


def _refuse(path: Path) -> None:
    """Raise FileSkipped for what needs no parser to be skipped: reading a pipe would wait for ever."""
    try:
        status = path.stat()
    except OSError as error:
        raise FileSkipped(f"cannot be opened ({reason_of(error)})", passing=True) from error
    if not stat.S_ISREG(status.st_mode):
        raise FileSkipped("is not a regular file")
    refuse_large(path, status.st_size)


def refuse_large(path: Path, size: int) -> None:
    """Raise FileSkipped for a file that is too large to be looked into; a mailbox is read in parts, whatever its
    size.
    """
    if size > MAX_BYTES and path.suffix.lower() != ".mbox":
        pattern = re.sub(r"([\\*?\[\]!#])", r"\\\1", path.name)
        raise FileSkipped(
            f"is {format_bytes(size)} large, up to {format_bytes(MAX_BYTES)} are read",
            hint=f"split it, or leave it out with --exclude {shlex.quote(pattern)}",
        )


class _Worker:
    """One worker process, the thread that reads its replies, and the folder for its temporary files."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="local-rag-", ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            child_process.command("local_rag.index.parse.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=child_process.NO_WINDOW,
            env=child_process.environment() | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder.name),
        )
        self._replies: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=_receive, args=(self.process.stdout, self._replies), daemon=True).start()

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Return the worker's reply, or one in its place: "exhausted" when it crashed or did not answer in time.

        Raises Stopped.
        """
        assert self.process.stdin
        with suppress(OSError):  # it has ended: so do its replies
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            cancel.check()
            with suppress(queue.Empty):
                line = self._replies.get(timeout=_POLL)
                if line.endswith(b"\n"):
                    reply: dict[str, Any] = json.loads(line)
                    return reply
                crashed = f"the parser crashed (exit code {self.process.wait()})"
                return {"skipped": crashed, "passing": True, "exhausted": True}
        late = f"took longer than {seconds:g} s to read"
        return {"skipped": late, "passing": True, "lasting": True, "exhausted": True}

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        with suppress(OSError):  # half a request was still to be written
            if self.process.stdin:
                self.process.stdin.close()
        self._folder.cleanup()


def _receive(replies: IO[bytes], lines: queue.Queue[bytes]) -> None:
    """Hand over replies; the last is b"", the end of the pipe."""
    with replies:
        for line in replies:
            lines.put(line)
    lines.put(b"")
