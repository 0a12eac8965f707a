"""The folder of an index: which files in it belong to the index, and the command that builds it anew."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable
from pathlib import Path

from local_rag.core.errors import IndexMissing, UsageError
from local_rag.core.private_files import make_folder

DATABASE = "index.sqlite"
DRAFT = f"new-{DATABASE}"
LOCK = "writer.lock"
VECTORS = "vectors.cache"
"""Files of quantized vectors begin so; the token that the database names one by follows."""


def prepare(folder: Path) -> None:
    """Make the folder, for nobody but its owner to enter. Raises UsageError for one that holds other things."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"an index is a folder, and {folder} is a file", hint="local-rag … --index NAME")
    if folder.is_dir() and not all(is_ours(entry.name) for entry in folder.iterdir()):
        raise UsageError(
            f"{folder} holds other files: an index needs a folder of its own",
            hint=f"local-rag … --index {folder / 'index'}",
        )
    make_folder(folder)
    folder.chmod(0o700)


def has_database(folder: Path) -> bool:
    """Whether there is an index."""
    return (folder / DATABASE).is_file()


def is_ours(name: str) -> bool:
    """Whether a file of that name in the folder of an index is a part of it, SQLite's own side files included."""
    return name.startswith((DATABASE, DRAFT, LOCK, VECTORS))


def our_files(folder: Path) -> list[Path]:
    """The files of the index."""
    return [entry for entry in folder.iterdir() if is_ours(entry.name) and entry.is_file()]


def size(folder: Path) -> int:
    """Bytes on disk; a file that is just being replaced counts nothing."""
    return sum(entry.stat().st_size for entry in our_files(folder) if entry.exists())


def vectors_file(folder: Path, token: str) -> Path:
    """The file of quantized vectors with that token."""
    return folder / f"{VECTORS}.{token}"


def delete_other_vectors(folder: Path, token: str) -> None:
    """Delete the files of earlier tokens; one that is still mapped (Windows) goes the next time."""
    for path in folder.glob(f"{VECTORS}*"):
        if path != vectors_file(folder, token):
            with contextlib.suppress(OSError):
                path.unlink()


def must_be_index(folder: Path) -> None:
    """Raises IndexMissing for a folder that we did not make: other programs have an index.sqlite, but not our lock."""
    if not (has_database(folder) and (folder / LOCK).is_file()):
        raise IndexMissing(f"there is no index at {folder}", hint="local-rag index PATH…")


def rebuild(folder: Path, roots: Iterable[str] = ()) -> str:
    """The command that makes an index anew."""
    paths = " ".join(map(shlex.quote, roots)) or "PATH…"
    return f"local-rag remove --index {quoted(folder)} && local-rag index {paths} --index {quoted(folder)}"


def quoted(folder: Path) -> str:
    """The folder as it is typed into a shell."""
    return shlex.quote(str(folder))
