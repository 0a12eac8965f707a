"""What is changed for a whole process, and why. It is all in this module.

`prepare_own_process` is for processes of our own: `cli.main` and the converter call it before they import anything
large. `import local_rag` and `Rag` never do: in somebody's program os.environ, gc and sys.modules stay as they are.
What it guarantees holds there by other means: models are loaded with `local_files_only`, a `Rag` runs its graphs in a
tracing context that is off (`runtime.run`), and children get an environment of their own.

Two libraries act while they are imported, so the modules that import them use `hidden` and `environment`. Both undo
what they did once the import is done.
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
"""New objects between two looks for garbage; Python's own number is 700."""

OFFLINE: Mapping[str, str] = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Keeps Hugging Face's libraries from looking anything up, and from a warning when a child is started."""

TELEMETRY = "openvino_telemetry"
"""`import openvino` reports to its maker through this module (its own stub takes its place where it is missing)."""

_lock = threading.RLock()


def prepare_own_process() -> None:
    """Set up a process of our own: offline, without telemetry, writing for its owner alone, collecting garbage seldom.

    What is imported makes no garbage, and looking for it takes a fifth of the time until the first answer.
    """
    gc.set_threshold(GARBAGE)
    os.umask(0o077)  # what libraries write, too, is for its owner alone
    os.environ.update(OFFLINE)
    cast("dict[str, ModuleType | None]", sys.modules).setdefault(TELEMETRY, None)


INTERRUPTED, BROKEN_PIPE = 130, 141
"""Exit codes after Ctrl-C, and where nobody reads what is written."""


class StreamClosed(BaseException):
    """Whoever reads stdout or stderr of this process reads no more (`local-rag … | head`).

    Not an OSError: libraries that write give other exit codes to those, or go on.
    """


class _Stream(io.TextIOWrapper):
    """Stdout or stderr, where it is a pipe or a file. Raises StreamClosed, and LocalRagError for a full disk."""

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
    """Let a process of our own write to stdout and stderr whatever they are; call it first.

    A stream that was closed from the start (`>&-`) leads to nowhere; its number would be given to the next file that is
    opened. A pipe that nobody reads any more raises StreamClosed.
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
    """Let imports of a module fail inside, as where it is not installed; one that is imported already stays."""
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
    """These variables inside, those of before afterwards."""
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
