"""The process that parses: `python -m local_rag.index.parse.worker`, a JSON request and a JSON reply per line.

A request is {"path": …, "seconds": …} and what is asked: "part", the number of a part of the file, with "loaders" of
somebody's own; "page", for a picture of a page; that with "text", "start" and "end", for the place of a quote, or with
"languages", for the text that OCR reads on it. A reply has the fields of `ParsedFile`, of which "documents" is null
behind the last part, those of `PagePicture`, `PlacedQuote` or `LoadedDocument`, or {"skipped": reason} with the fields
of `FileSkipped`. "exhausted" asks for a fresh worker: this one ran out of memory, and what is left of it cannot be
trusted.
"""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from local_rag.core.child_process import end_after, limit_memory
from local_rag.core.errors import FileSkipped
from local_rag.index.parse import ocr, pdf_page
from local_rag.index.parse.loaders import parts, told
from local_rag.index.parse.parsed_file import ParsedFile

MEMORY = 2 << 30
"""Bytes of address space above those that the worker needs to start. Where the system enforces no limit, only the time
limit stops a parser.
"""

IDLE_SECONDS = 30.0
"""Seconds; the system ends the process without a request for twice as long, and between two files."""


class Worker:
    """The part of the process that answers requests; it holds the file of which more parts may be asked for."""

    def __init__(self) -> None:
        self.parts: Iterator[ParsedFile] | None = None
        """The further parts of a file that is read in the middle."""

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a request, whatever is in the file."""
        try:
            with told():
                return self._reply(Path(request["path"]), request)
        except FileSkipped as skipped:
            return {"skipped": str(skipped), "hint": skipped.hint, "passing": skipped.passing}
        except MemoryError:
            reason = f"needs more than {MEMORY >> 30} GB of memory to read"
            return {"skipped": reason, "passing": True, "exhausted": True}

    def _reply(self, path: Path, request: Mapping[str, Any]) -> dict[str, Any]:
        if "text" in request:
            return asdict(pdf_page.placed(path, request["page"], request["text"], request["spans"]))
        if "languages" in request:
            return asdict(ocr.read_page(path, request["page"], request["languages"]))
        if "page" in request:
            picture = pdf_page.picture(path, request["page"])
            return asdict(picture) | {"png": base64.b64encode(picture.png).decode()}
        found, self.parts = self.parts if request["part"] else parts(path, request["loaders"]), None
        part = next(found, None) if found else None
        if part is None:
            return {"documents": None}
        self.parts = found
        return asdict(part)


def main() -> None:
    """Answer requests until none comes for a while or the pipe closes, which it does when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = channel()
    limit_memory(MEMORY)
    worker = Worker()
    for line in requests:
        request = json.loads(line)
        end_after(request["seconds"])
        reply = worker.answer(request)
        replies.write(json.dumps(reply, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
        replies.flush()
        end_after(0 if worker.parts else IDLE_SECONDS)


def channel() -> tuple[IO[bytes], IO[bytes]]:
    """Return the pipes to the parent, under other numbers than 0 and 1, where native libraries read and print."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return requests, replies


if __name__ == "__main__":
    main()
