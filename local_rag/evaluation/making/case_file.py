"""The file that `eval make` writes: cases as JSON lines, each appended whole and at once."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from local_rag.core.errors import DiskFull, UsageError
from local_rag.evaluation.cases import Case, line_of, read_cases
from local_rag.evaluation.making.proposals import named, same
from local_rag.evaluation.matching import last_part, same_file
from local_rag.text.display import short_path


class CaseFile:
    """A set of cases that grows. It is made with its first case; what is in it is never changed.

    It quotes a person's files, so a new one is readable by its owner only.
    """

    def __init__(self, path: Path) -> None:
        """Raises UsageError for what cannot be such a file, and for one with a line that is no case."""
        self.path = path.expanduser()
        if self.path.is_dir():
            raise UsageError(f"{short_path(path)} is a folder, not a file", hint="local-rag eval make CASES.jsonl")
        if not self.path.parent.is_dir():
            raise UsageError(
                f"there is no folder {short_path(self.path.parent)}",
                hint=f"mkdir -p {shlex.quote(str(self.path.parent))}",
            )
        filled = self.path.exists() and self.path.stat().st_size > 0
        self.cases: list[Case] = list(read_cases(self.path)) if filled else []

    def has(self, question: str) -> bool:
        """Whether the same question is there."""
        return named(question) in {case.id for case in self.cases} or same(question) in {
            same(case.question) for case in self.cases
        }

    def foreign_to(self, sources: Iterable[str]) -> int:
        """How many of the cases name only files that are not among these."""
        held: dict[str, list[str]] = {}
        for source in sources:
            held.setdefault(last_part(source), []).append(source)
        named_files = [{target.file for target in case.relevant if target.file} for case in self.cases]
        return sum(
            not any(same_file(file, source) for file in files for source in held.get(last_part(file), ()))
            for files in named_files
            if files
        )

    def append(self, case: Case) -> None:
        """Write one line, to the disk: all of it or, where the disk is full (DiskFull), nothing."""
        try:
            with _opened(self.path) as file:
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
                raise DiskFull(
                    f"cannot write to {short_path(self.path)}: {error.strerror}; what was stored before is kept"
                ) from error
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


def _opened(path: Path) -> BinaryIO:
    return open(path, "ab", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))
