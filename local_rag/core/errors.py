"""Define every error that a user can meet.

LocalRagError                 exit 1
├── UsageError                exit 2   the command or one of its values cannot be used
│   └── NotFound              exit 2   nothing has that name
├── ConfigError               exit 2   config.yaml, models.yaml or a LOCAL_RAG_* variable is wrong
│   └── ConfigUnreadable      exit 1   one of these files exists and cannot be read
├── IndexMissing              exit 1   there is no index of that name or path
├── IndexMismatch             exit 1   another embedder, chunking or schema made this index
├── IndexBusy                 exit 1   another process is writing to it
├── IndexDamaged              exit 1   SQLite reports that the file is damaged
├── DiskFull                  exit 1   nothing more can be written; what was committed is kept
├── ModelMissing              exit 1   the weights are not on this machine
├── ModelChanged              exit 1   the weights are not the ones that models.yaml names
├── FileSkipped               -        one file could not be read; the sync goes on
├── NotLocal                  exit 2   a host or a model is not on this machine, and nobody allowed it
├── EngineError               exit 1   the engine failed at one of its tasks
│   └── ServerDown            exit 1   no Ollama server answers
└── Stopped                   exit 130 the run was told to stop
    └── DeadlineExceeded      -        the time limit was reached; graphs turn it into `give_up`
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from json import JSONDecodeError
from typing import Any


class LocalRagError(Exception):
    """State in one line what went wrong, and in `hint` the next command to type."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(LocalRagError):
    exit_code = 2


class NotFound(UsageError):
    pass


class ConfigError(LocalRagError):
    exit_code = 2


class ConfigUnreadable(ConfigError):
    exit_code = 1


class IndexMissing(LocalRagError):
    pass


class IndexMismatch(LocalRagError):
    pass


class EarlierIndex(IndexMismatch):
    """Report an index that an earlier version made; a new index takes its place."""


class IndexBusy(LocalRagError):
    pass


class IndexDamaged(LocalRagError):
    pass


class DiskFull(LocalRagError):
    pass


class ModelMissing(LocalRagError):
    pass


class ModelChanged(LocalRagError):
    pass


class FileSkipped(LocalRagError):
    """Report that one file cannot be indexed; the message is the reason that the report shows.

    `passing`: something other than the file's content contributed, so what was indexed of it before is kept. `lasting`:
    another attempt at the same content would fail too.
    """

    def __init__(self, message: str, hint: str = "", *, passing: bool = False, lasting: bool = False) -> None:
        super().__init__(message, hint)
        self.passing, self.lasting = passing, lasting


class NotLocal(LocalRagError):
    exit_code = 2


class EngineError(LocalRagError):
    pass


class ServerDown(EngineError):
    pass


class Stopped(LocalRagError):
    exit_code = 130


class DeadlineExceeded(Stopped):
    pass


_SYSTEM = {
    errno.ENOENT: "there is no such file or folder",
    errno.EACCES: "you have no permission",
    errno.EPERM: "you have no permission",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "a part of its path is no folder",
    errno.EEXIST: "it exists already",
    errno.ENOSPC: "there is no space left on the disk",
    errno.EDQUOT: "there is no space left on the disk",
    errno.EROFS: "the disk can only be read",
    errno.EIO: "the disk fails",
    errno.ELOOP: "a link leads in a circle",
    errno.ENAMETOOLONG: "its name is too long",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.EADDRINUSE: "another program listens there",
    errno.EADDRNOTAVAIL: "this machine has no such address",
}

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "string": "text",
    "string_pattern_mismatch": "text of another form",
    "path": "a path",
    "list": "a list",
    "tuple": "a list",
    "dict": "names with values",
    "mapping": "names with values",
    "model": "names with values",
    "missing": "a value",
    "json_invalid": "JSON",
}
"""Texts for the error types of pydantic, by whole name or first part;
https://docs.pydantic.dev/latest/errors/validation_errors
"""

_BOUNDS = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "too_short": "{min_length} or more entries",
    "too_long": "{max_length} or fewer entries",
    "literal_error": "{expected}",
    "enum": "{expected}",
}


def reason_of(error: BaseException) -> str:
    """Return why a file cannot be read or written, or an address cannot be used; the caller names the file."""
    if isinstance(error, UnicodeError):
        return "it is no text in UTF-8"
    if isinstance(error, JSONDecodeError):
        return f"it is no JSON (line {error.lineno}, column {error.colno})"
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    if isinstance(error, TypeError | AttributeError | IndexError):
        return "its contents are of another form"
    if isinstance(error, OSError):
        system = error.strerror or ""
        return _SYSTEM.get(error.errno or 0) or system[:1].lower() + system[1:] or str(error)
    return str(error) or type(error).__name__


def mistake_of(details: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, for one entry of pydantic's `errors()`.

    It reads "expected a whole number", or is the text of our own ValueError.
    """
    kind, bounds = details["type"], details.get("ctx", {})
    context = {name: f"{each:g}" if isinstance(each, float) else each for name, each in bounds.items()}
    if kind in ("value_error", "assertion_error"):
        return str(details["msg"]).partition(", ")[2]
    if kind in _BOUNDS:
        return f"expected {_BOUNDS[kind].format_map(context).replace(chr(39), '')}"
    return f"expected {_KINDS.get(kind) or _KINDS.get(kind.partition('_')[0], 'another kind of value')}"
