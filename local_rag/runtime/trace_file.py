"""--trace-file: what a question did, one JSON line per event, with the state of the graph after each node.

Every line has `event`, the kind, and `at`, the seconds since the question was asked; the rest are the fields of that
event in `types`. The first line of a question is `asked`. A passage is written as chunk_id, source, page, heading,
start, end, score, origin and text.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.events import Event, Step
from local_rag.core.serialization import to_plain

PASSAGE = ("chunk_id", "source", "page", "heading", "start", "end", "score", "origin")


class TraceFile:
    """Events are written to it as they happen; readable by its owner alone. Close it, or use it in a `with`."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self._path = path
        self._file = file

    @classmethod
    def open(cls, path: Path) -> TraceFile:
        """Make the file, or take an empty one. Raises UsageError for one that holds something or cannot be written."""
        hint = "--trace-file run.jsonl"
        try:
            handle = os.open(path, os.O_CREAT | os.O_WRONLY | getattr(os, "O_NONBLOCK", 0), 0o600)
        except OSError as error:
            raise UsageError(f"the trace cannot be written to {path}: {error.strerror or error}", hint=hint) from error
        status, why = os.fstat(handle), ""
        if not stat.S_ISREG(status.st_mode):
            why = f"the trace cannot be written to {path}: it is not a regular file"
        elif status.st_size:
            why = f"the trace file {path} exists already and is not empty, so it is not overwritten"
            hint = f"name another, or: rm {shlex.quote(str(path))}"
        if why:
            os.close(handle)
            raise UsageError(why, hint=hint)
        if hasattr(os, "fchmod"):
            os.fchmod(handle, 0o600)
        return cls(path, os.fdopen(handle, "w", encoding="utf-8", errors="replace"))

    def following(self, events: Iterator[Event], **details: Any) -> Generator[Event, None, None]:
        """The same events, each written before it is handed on; `details` are written first, as the event `asked`."""
        started = time.monotonic()
        self._write({"event": "asked", "at": 0.0} | to_plain(details))
        for event in events:
            self._write({"event": kind(event), "at": round(time.monotonic() - started, 4)} | event_data(event))
            yield event

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise LocalRagError(
                f"cannot write to the trace file {self._path}: {error.strerror or error}",
                hint="ask without --trace-file",
            ) from error

    def close(self) -> None:
        """What could not be written by now was said already."""
        with suppress(OSError):
            self._file.close()

    def __enter__(self) -> TraceFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def kind(event: Event) -> str:
    """The name of an event: WebQuery is web_query."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def event_data(event: Event) -> dict[str, Any]:
    """The fields of an event as JSON knows them; those of the answer are its own."""
    data: dict[str, Any] = _shortened(to_plain(event))
    if isinstance(event, Step):
        data["state"] = dict(sorted(data["state"].items()))
    return data


def _shortened(value: Any) -> Any:
    """Plain values with every LangChain document in them as a passage of the trace."""
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "Document":
        return {name: value["metadata"].get(name) for name in PASSAGE} | {"text": value["page_content"]}
    return {key: _shortened(item) for key, item in value.items()}
