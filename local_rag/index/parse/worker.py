"""The process that parses: `python -m local_rag.index.parse.worker`, a JSON request and a JSON reply per line.

A request is {"path": …, "seconds": …}; a reply has the fields of `ParsedFile`, or {"skipped": reason, "hint": …}, with
"passing" where the same content may be read another time. "exhausted" in a reply asks for a fresh worker: this one ran
out of memory, and what is left of it cannot be trusted. "loader" in a request names a function of somebody's own that
reads the file. "password" in a request opens a PDF, and "locked" in a reply
says that it takes another one; {"path": …, "seconds": …, "locked": true} asks for that alone. "page" in a request asks
for the picture of a page of a PDF; with "text", "start" and "end" for the place of a quote on it instead.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from local_rag.core.child_process import end_after, limit_memory
from local_rag.core.errors import FileSkipped
from local_rag.index.parse import pdf_page
from local_rag.index.parse.loaders import load, load_by_name
from local_rag.index.parse.pdf import is_locked
from local_rag.text.display import printable, shorten

MEMORY = 2 << 30
"""Bytes of address space above what the worker needs to start. Where the system enforces no limit, the time limit is
all that stops a parser."""


IDLE_SECONDS = 60.0
"""Without a request for so long the process ends."""


def main() -> None:
    """Answer requests until none comes for a while or the pipe closes, which it does when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = channel()
    limit_memory(MEMORY)
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_receive, args=(requests, lines), daemon=True).start()
    while True:
        try:
            request = json.loads(lines.get(timeout=IDLE_SECONDS))
        except queue.Empty:
            os._exit(0)  # the other thread reads
        end_after(request["seconds"])
        reply = answer(request)
        end_after(0)
        replies.write(json.dumps(reply, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
        replies.flush()


def channel() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes to the parent, under other numbers than 0 and 1, where native libraries read and print."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return requests, replies


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to a request."""
    path, password, own = Path(request["path"]), request.get("password", ""), request.get("loader", "")
    if request.get("locked"):
        return {"locked": is_locked(path, password)}
    if "text" in request:
        where = (request["page"], request["text"], request["start"], request["end"])
        return _guarded(path, password, lambda: asdict(pdf_page.placed(path, *where, password)))
    if "page" in request:
        return _guarded(path, password, lambda: _picture(path, request["page"], password))
    return parse(path, password, own)


def parse(path: Path, password: str = "", own: str = "") -> dict[str, Any]:
    """The reply about a file, whatever is in it."""
    return _guarded(path, password, lambda: asdict(load_by_name(own, path) if own else load(path, password)))


def _picture(path: Path, page: int, password: str) -> dict[str, Any]:
    picture = pdf_page.picture(path, page, password)
    return asdict(picture) | {"png": base64.b64encode(picture.png).decode()}


def _guarded(path: Path, password: str, read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The reply, whatever is in the file. No message of a library is passed on beside a password."""
    try:
        if path.exists() and not path.is_file():  # a pipe that came into its place just now would be waited for
            raise FileSkipped("is not a regular file")
        return read()
    except FileSkipped as skipped:
        passing = skipped.passing or _is_passing(skipped.__cause__)
        return {"skipped": str(skipped), "hint": skipped.hint, "passing": passing}
    except MemoryError:
        reason = f"needs more than {MEMORY >> 30} GB of memory to read"
        return {"skipped": reason, "hint": "", "exhausted": True, "passing": True}
    except RecursionError:
        return {"skipped": "is nested too deeply", "hint": ""}
    except Exception as error:  # any parser, any input: the reason travels, the traceback helps nobody here
        message = "" if password else shorten(printable(str(error)), 120)
        reason = ": ".join(filter(None, (type(error).__name__, message)))
        return {"skipped": f"the parser failed ({reason})", "hint": "", "passing": _is_passing(error)}


def _is_passing(error: BaseException | None) -> bool:
    """Whether the machine is the cause: no memory, no rights, a package that is not installed; else the content is."""
    return isinstance(error, MemoryError | ImportError) or (isinstance(error, OSError) and error.errno is not None)


def _receive(requests: IO[bytes], lines: queue.Queue[bytes]) -> None:
    """Hand over requests; at their end leave at once, even from the middle of a file."""
    for line in requests:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
