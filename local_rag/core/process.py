"""Change settings of a whole process; all such changes are in this module.

`prepare_own_process` is for processes of our own: `cli.main` and the converter call it before they import anything
large. `import local_rag` and `Rag` never call it: in another program os.environ, gc and sys.modules stay unchanged.
There, other means give the same guarantees: models are loaded with `local_files_only`, `Rag` runs its graphs in a
tracing context that is off (`runtime.run`), and child processes get an environment of their own.

Two libraries have side effects when they are imported, so the modules that import them use `hidden` and `environment`,
which undo their changes after the import.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import cast

from local_rag.core.errors import LocalRagError, reason_of

GARBAGE = 100_000
"""New objects between two garbage collections; Python's default is 700."""

OFFLINE: Mapping[str, str] = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Keep Hugging Face's libraries from using the network, and from warning when a child process starts."""

TELEMETRY = "openvino_telemetry"
"""The module by which `import openvino` reports to its maker; where it is missing, a stub of openvino takes its place.
"""

_lock = threading.RLock()


def prepare_own_process() -> None:
    """Set up a process of our own: offline, no telemetry, private files, and rare garbage collection.

    Imports leave no garbage, and collecting takes a fifth of the time until the first answer.
    """
    gc.set_threshold(GARBAGE)
    os.umask(0o077)  # files of libraries are private too
    os.environ.update(OFFLINE)
    cast("dict[str, ModuleType | None]", sys.modules).setdefault(TELEMETRY, None)


INTERRUPTED, BROKEN_PIPE = 130, 141
"""Exit codes after Ctrl-C, and after the reader of stdout or stderr has gone."""


class StreamClosed(BaseException):
    """Report that the reader of stdout or stderr has gone (`local-rag … | head`).

    It is no OSError, because libraries turn those into other exit codes or ignore them.
    """


class _Stream(io.TextIOWrapper):
    """Wrap stdout or stderr if it is a pipe or a file; raise StreamClosed, or LocalRagError for a full disk."""

    def write(self, text: str, /) -> int:
        with _writing():
            return super().write(text)

    def flush(self) -> None:
        with _writing():
            super().flush()


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise StreamClosed from error
    except OSError as error:
        raise LocalRagError(f"the result cannot be written ({reason_of(error)})") from error


def prepare_streams() -> None:
    """Replace stdin, stdout and stderr by streams that a process of our own can use; call it first.

    A stream that was closed from the start (`>&-`) is replaced by the null device, because the next file to be opened
    would get its number. Writing to a pipe that nobody reads raises StreamClosed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
        elif number and not stream.isatty():
            setattr(sys, name, _Stream(stream.buffer, stream.encoding, stream.errors, line_buffering=number == 2))


@contextmanager
def hidden(name: str) -> Iterator[None]:
    """Let imports of a module fail inside the context, as if it were not installed, unless it is already imported."""
    modules = cast("dict[str, ModuleType | None]", sys.modules)
    with _lock:
        if name in modules:
            yield
            return
        modules[name] = None
        try:
            yield
        finally:
            del modules[name]


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set these environment variables inside the context, and restore the earlier values afterwards."""
    with _lock:
        before = {name: os.environ.get(name) for name in values}
        os.environ.update(values)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
