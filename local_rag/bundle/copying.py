"""Files on their way into a bundle."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from local_rag.errors import DiskFull, LocalRagError

Say = Callable[[str], None]
"""Shows a line of progress."""

_PIECE = 1 << 22
_FAT32 = 4_294_967_295
"""Bytes of the largest file on FAT32."""


def copy(source: Path, target: Path) -> str:
    """Copy through a file beside it, unless the same is there; SHA-256 in hex of what was read.

    Raises DiskFull and LocalRagError.
    """
    with translated(target):
        if target.is_file() and target.stat().st_size == source.stat().st_size:
            digest = sha256(target)
            if digest == sha256(source):
                return digest
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.part")
        digest_so_far = hashlib.sha256()
        with source.open("rb") as stream, draft.open("wb") as out:
            for piece in iter(lambda: stream.read(_PIECE), b""):
                digest_so_far.update(piece)
                out.write(piece)
        draft.replace(target)
        return digest_so_far.hexdigest()


def write(target: Path, data: bytes) -> None:
    """Write a small file in one step."""
    with translated(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.part")
        draft.write_bytes(data)
        draft.replace(target)


def sha256(file: Path) -> str:
    """SHA-256 of a file in hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def translated(target: Path) -> Iterator[None]:
    """Errors of the disk as ours."""
    try:
        yield
    except OSError as error:
        again = "then the same command: it goes on"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no space left for {target}", hint=f"free some space, {again}") from error
        if error.errno == errno.EFBIG:
            raise LocalRagError(
                f"the disk takes no file as large as {target} (FAT32 ends at {_FAT32:,} bytes)",
                hint=f"format it as exFAT, {again}",
            ) from error
        raise LocalRagError(
            f"{target} cannot be written: {error.strerror or error}", hint=f"mend that, {again}"
        ) from error
