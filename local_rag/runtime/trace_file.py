"""--trace-file: what a question did, one JSON line per event, with the state of the graph after each node.

Every line has `event`, the kind, and `at`, the seconds since the question was asked; the rest are the fields of that
event in `types`. The first line of a question is `asked`. A passage is written as chunk_id, source, page, heading,
start, end, score, origin and text.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import stat
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TextIO

from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.events import Event, Step

PASSAGE = ("chunk_id", "source", "page", "heading", "start", "end", "score", "origin")


class TraceFile:
    """Events are written to it as they happen; readable by its owner alone. Close it, or use it in a `with`."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self._path = path
        self._file = file

    @classmethod
    def open(cls, path: Path) -> TraceFile:
        """Make the file, or take an empty one. Raises UsageError for one that holds something or cannot be written."""
        try:
            handle = os.open(path, os.O_CREAT | os.O_WRONLY | getattr(os, "O_NONBLOCK", 0), 0o600)
        except OSError as error:
            raise UsageError(
                f"the trace cannot be written to {path}: {error.strerror or error}", hint="--trace-file run.jsonl"
            ) from error
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            os.close(handle)
            raise UsageError(
                f"the trace cannot be written to {path}: it is not a regular file", hint="--trace-file run.jsonl"
            )
        if found.st_size:
            os.close(handle)
            raise UsageError(
                f"the trace file {path} exists already and is not empty, so it is not overwritten",
                hint=f"name another, or: rm {shlex.quote(str(path))}",
            )
        if hasattr(os, "fchmod"):
            os.fchmod(handle, 0o600)
        return cls(path, os.fdopen(handle, "w", encoding="utf-8"))

    def following(self, events: Iterator[Event], **about: Any) -> Generator[Event, None, None]:
        """The same events, each written before it is handed on; `about` is written first, as the event `asked`."""
        started = time.monotonic()
        self._write({"event": "asked", "at": 0.0} | as_data(about))
        for event in events:
            self._write({"event": kind(event), "at": round(time.monotonic() - started, 4)} | event_data(event))
            yield event

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise LocalRagError(
                f"the trace file {self._path} cannot grow: {error.strerror or error}", hint="ask without --trace-file"
            ) from error

    def close(self) -> None:
        """What could not be written by now was said already."""
        try:
            self._file.close()
        except OSError:
            return

    def __enter__(self) -> TraceFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def kind(event: Event) -> str:
    """The name of an event: WebQuery is web_query."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def event_data(event: Event) -> dict[str, Any]:
    """The fields of an event as JSON knows them; those of the answer are its own."""
    data: dict[str, Any] = as_data(event)
    if isinstance(event, Step):
        data["state"] = dict(sorted(data["state"].items()))
    return data


def as_data(value: Any) -> Any:
    """Dataclasses, passages, paths and tuples as what JSON knows; a number that is none becomes null."""
    if isinstance(value, str):
        return str(value).encode("utf-8", "replace").decode()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: as_data(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_data(item) for item in value]
    if hasattr(value, "page_content"):
        return {name: as_data(value.metadata.get(name)) for name in PASSAGE} | {"text": as_data(value.page_content)}
    return as_data(float(value)) if hasattr(value, "__float__") else str(value)
