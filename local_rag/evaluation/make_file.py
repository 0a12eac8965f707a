"""The file that `eval make` writes: cases as JSON lines, each appended whole and at once."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from local_rag.errors import DiskFull, UsageError
from local_rag.evaluation.cases import Case, line_of, read_cases
from local_rag.evaluation.proposing import named, same
from local_rag.show import short_path


class CaseFile:
    """A set of cases that grows. It is made with its first case; what is in it is never changed."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError for what cannot be such a file, and for one with a line that is no case."""
        self.path = path.expanduser()
        if self.path.is_dir():
            raise UsageError(f"{short_path(path)} is a folder, not a file", hint="local-rag eval make CASES.jsonl")
        if not self.path.parent.is_dir():
            raise UsageError(
                f"there is no folder {short_path(self.path.parent)}", hint="local-rag eval make CASES.jsonl"
            )
        filled = self.path.exists() and self.path.stat().st_size > 0
        self.cases: list[Case] = list(read_cases(self.path)) if filled else []

    def has(self, question: str) -> bool:
        """Whether the same question is there."""
        return named(question) in {case.id for case in self.cases} or same(question) in {
            same(case.question) for case in self.cases
        }

    def append(self, case: Case) -> None:
        """Write one line, to the disk: all of it or, where the disk is full (DiskFull), nothing."""
        try:
            with self.path.open("ab", buffering=0) as file:
                before = file.seek(0, os.SEEK_END)
                line = self._border(before) + line_of(case).encode() + b"\n"
                try:
                    if file.write(line) != len(line):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    os.fsync(file.fileno())
                except OSError:
                    with suppress(OSError):
                        file.truncate(before)
                    raise
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(f"{short_path(self.path)} cannot grow: {error.strerror}; all before is kept") from error
            raise UsageError(
                f"{short_path(self.path)} cannot be written: {error.strerror}", hint="choose another file"
            ) from error
        self.cases.append(case)

    def _border(self, size: int) -> bytes:
        """A line end where the last line has none, as editors leave it."""
        if not size:
            return b""
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return b"" if file.read(1) == b"\n" else b"\n"
