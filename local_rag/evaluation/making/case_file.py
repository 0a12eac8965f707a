"""The file that `eval make` writes: cases as JSON lines, each appended whole and at once."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterable
from pathlib import Path

from local_rag.core.errors import DiskFull, UsageError, reason_of
from local_rag.evaluation.cases import Case, line_of, read_cases
from local_rag.evaluation.folder import append_line
from local_rag.evaluation.making.proposals import named, same
from local_rag.evaluation.matching import lookup
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
        return any(named(question) == case.id or same(question) == same(case.question) for case in self.cases)

    def foreign_to(self, sources: Iterable[str]) -> int:
        """How many of the cases name only files that are not among these."""
        sources_of = lookup(sources)
        named_files = [{target.file for target in case.relevant if target.file} for case in self.cases]
        return sum(not any(map(sources_of, files)) for files in named_files if files)

    def append(self, case: Case) -> None:
        """Write one line, to the disk: all of it or, where the disk is full (DiskFull), nothing."""
        try:
            append_line(self.path, line_of(case), synced=True)
        except OSError as error:
            name = short_path(self.path)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(f"cannot write to {name}: {reason_of(error)}; what was stored before is kept") from error
            raise UsageError(f"{name} cannot be written: {reason_of(error)}", hint="choose another file") from error
        self.cases.append(case)
