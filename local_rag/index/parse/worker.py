"""The process that parses: `python -m local_rag.index.parse.worker`, a JSON request and a JSON reply per line.

A request is {"path": …, "seconds": …}; a reply is what `parsed.to_wire` makes, or {"skipped": reason, "hint": …}.
"spent" in a reply asks for a fresh worker: this one ran out of memory, and what is left of it cannot be trusted.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import IO, Any

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.loaders import load
from local_rag.index.parse.parsed import to_wire
from local_rag.text.display import printable, shorten

MEMORY = 2 << 30
"""Bytes of address space above what the worker needs to start. Only Linux enforces it: macOS accepts the limit and
ignores it, Windows has none; there the time limit is all that stops a parser."""


def main() -> None:
    """Answer requests until the pipe closes, which it does when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = _channel()
    _limit_memory()
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_receive, args=(requests, lines), daemon=True).start()
    while True:
        request = json.loads(lines.get())
        _alarm(request["seconds"])
        reply = _answer(Path(request["path"]))
        _alarm(0)
        replies.write(json.dumps(reply, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
        replies.flush()


def _channel() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes to the parent, under other numbers than 0 and 1, where native libraries read and print."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return requests, replies


def _limit_memory() -> None:
    if sys.platform == "win32":
        return
    import resource

    statm = Path("/proc/self/statm")
    used = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0
    for limit, most in ((resource.RLIMIT_AS, used + MEMORY), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(limit, (most, hard))
        except (ValueError, OSError):  # macOS refuses a limit below what is mapped already
            continue


def _receive(requests: IO[bytes], lines: queue.Queue[bytes]) -> None:
    """Hand over requests; at their end leave at once, even from the middle of a file."""
    for line in requests:
        lines.put(line)
    os._exit(0)


def _alarm(seconds: float) -> None:
    """Let the system end this process after twice the time, should a parser hang and the parent be gone."""
    if sys.platform != "win32":
        signal.alarm(int(2 * seconds) + 1 if seconds else 0)


def _answer(path: Path) -> dict[str, Any]:
    try:
        return to_wire(load(path))
    except FileSkipped as skipped:
        return {"skipped": str(skipped), "hint": skipped.hint}
    except MemoryError:
        return {"skipped": f"needs more than {MEMORY >> 30} GB of memory to read", "hint": "", "spent": True}
    except RecursionError:
        return {"skipped": "is nested too deeply", "hint": ""}
    except Exception as error:  # any parser, any input: the reason travels, the traceback helps nobody here
        return {"skipped": f"the parser failed ({_named(error)})", "hint": ""}


def _named(error: Exception) -> str:
    said = shorten(printable(str(error)), 120)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


if __name__ == "__main__":
    main()
