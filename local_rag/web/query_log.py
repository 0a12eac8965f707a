"""The log of what was sent to a search engine: one JSON line for each time, written before the words leave."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

NAME = "web-queries.log"


def record(folder: Path, query: str, engines: Sequence[str], when: datetime) -> None:
    """Append {"time", "engines", "query"} to the log in a folder, for its owner's eyes only.

    Raises OSError unless the whole line was written: what cannot be logged must not be sent.
    """
    row = {"time": when.isoformat(timespec="seconds"), "engines": list(engines), "query": query}
    line = json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / NAME
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        path.chmod(0o600)
        if os.write(handle, line) != len(line):
            raise OSError(f"only a part of a line was written to {path}")
    finally:
        os.close(handle)
