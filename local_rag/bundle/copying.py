"""Files on their way into a bundle."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from local_rag.bundle.large_files import Progress, sum_of
from local_rag.core.errors import DiskFull, LocalRagError, reason_of

Say = Callable[[str], None]
"""Shows a line of progress."""

_FAT32 = 4_294_967_295
"""Bytes of the largest file on FAT32."""


def copy(source: Path, target: Path, progress: Progress | None = None, sha256: str = "") -> str:
    """Copy through a file beside it, unless the same is there; SHA-256 in hex of what lies there then.

    `sha256` is that of the source, if it is known. Raises DiskFull and LocalRagError.
    """
    with translated(target):
        if target.is_file() and target.stat().st_size == source.stat().st_size:
            digest = sum_of(target, progress)
            if digest == (sha256 or sum_of(source)):
                return digest
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.part")
        digest = sum_of(source, progress, draft)
        draft.replace(target)
        return digest


def write(target: Path, data: bytes) -> None:
    """Write a small file in one step."""
    with translated(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.part")
        draft.write_bytes(data)
        draft.replace(target)


@contextmanager
def translated(target: Path) -> Iterator[None]:
    """Errors of the disk as ours."""
    try:
        yield
    except OSError as error:
        again = "then the same command: it continues"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no space left for {target}", hint=f"free some space, {again}") from error
        if error.errno == errno.EFBIG:
            raise LocalRagError(
                f"the disk takes no file as large as {target} (FAT32 ends at {_FAT32:,} bytes)",
                hint=f"format it as exFAT, {again}",
            ) from error
        raise LocalRagError(
            f"{target} cannot be written: {reason_of(error)}", hint=f"make it writable, {again}"
        ) from error
