"""Every error a user can meet.

LocalRagError                 exit 1
├── UsageError                exit 2   the command or a value on it cannot be used
├── ConfigError               exit 2   config.yaml, models.yaml or a LOCAL_RAG_* variable is wrong
│   └── ConfigUnreadable      exit 1   one of these files is there and cannot be read
├── IndexMissing              exit 1   there is no index of that name or path
├── IndexMismatch             exit 1   another embedder, chunking or schema made this index
├── IndexBusy                 exit 1   another process is writing to it
├── IndexDamaged              exit 1   SQLite says the file is not whole
├── DiskFull                  exit 1   nothing more can be written; what was committed is kept
├── ModelMissing              exit 1   the weights are not on this machine
├── ModelChanged              exit 1   the weights are not the ones that models.yaml names
├── FileSkipped               -        one file could not be read; the sync goes on
├── NotLocal                  exit 2   a host or a model that is not on this machine, and that nobody allowed
├── EngineError               exit 1   the engine failed to do one of its tasks
│   └── ServerDown            exit 1   no Ollama server answers
├── ContextMissing            exit 1   a graph was run without the Deps of local_rag
└── Stopped                   exit 130 the run was told to stop
    └── DeadlineExceeded      -        the wall clock ran out; graphs turn it into `give_up`
"""

from __future__ import annotations


class LocalRagError(Exception):
    """What went wrong in one line, and in `hint` the next command to type."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(LocalRagError):
    exit_code = 2


class ConfigError(LocalRagError):
    exit_code = 2


class ConfigUnreadable(ConfigError):
    exit_code = 1


class IndexMissing(LocalRagError):
    pass


class IndexMismatch(LocalRagError):
    pass


class EarlierIndex(IndexMismatch):
    """An index of an earlier version, in whose place a new one is made."""


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
    """One file cannot be indexed; the message is the reason that the report shows.

    `passing`: its content is not the only cause, so that what was indexed of it stays. `lasting`: another attempt at
    the same content would fail, too.
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


class ContextMissing(LocalRagError):
    pass


class Stopped(LocalRagError):
    exit_code = 130


class DeadlineExceeded(Stopped):
    pass
