"""The folder of an index: the files in it that belong to the index."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path

from local_rag.core.errors import UsageError
from local_rag.core.private_files import make_folder

DATABASE = "index.sqlite"
DRAFT = f"new-{DATABASE}"
LOCK = "writer.lock"
VECTORS = "vectors.faiss"
"""The beginning of the name of FAISS's file; the token by which the database names it follows."""

SIDES = ("-wal", "-shm", "-journal")
"""The suffixes of the files that SQLite keeps beside a database: https://sqlite.org/tempfiles.html"""

_OURS = re.compile(
    rf"(?:(?:new-)?{re.escape(DATABASE)}|{re.escape(LOCK)})(?:{'|'.join(SIDES)})?"
    rf"|{re.escape(DATABASE)}\.part"  # a copy that a bundle's installer had not finished
    rf"|{re.escape(VECTORS)}\.[0-9a-f]{{16}}"
)


def prepare(folder: Path) -> None:
    """Make the folder, which only its owner may enter. Raises UsageError for a folder that holds other things."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"an index is a folder, and {folder} is a file", hint="local-rag … --index NAME")
    others = [entry.name for entry in folder.iterdir() if not is_ours(entry.name)] if folder.is_dir() else []
    if others:
        raise UsageError(
            f"{folder} holds other files, such as {min(others)}: an index needs a folder of its own",
            hint=f"local-rag … --index {shlex.quote(str(folder / 'index'))}",
        )
    make_folder(folder)
    folder.chmod(0o700)


def has_database(folder: Path) -> bool:
    """Return whether there is a database; an empty file of that name is none."""
    file = folder / DATABASE
    return file.is_file() and file.stat().st_size > 0


def is_ours(name: str) -> bool:
    """Return whether a file of exactly that name in the folder of an index is a part of it."""
    return _OURS.fullmatch(name) is not None


def our_files(folder: Path) -> list[Path]:
    """Return the files of the index."""
    return [entry for entry in folder.iterdir() if is_ours(entry.name) and (entry.is_file() or entry.is_symlink())]


def size(folder: Path) -> int:
    """Return the bytes on disk; a file that is just being replaced counts nothing."""
    total = 0
    for file in our_files(folder):
        with contextlib.suppress(FileNotFoundError):
            total += file.stat().st_size
    return total


def sides(file: Path) -> list[Path]:
    """Return the paths of the files that SQLite keeps beside a database."""
    return [file.with_name(f"{file.name}{side}") for side in SIDES]


def vectors_file(folder: Path, token: str) -> Path:
    """Return the path of the file of vectors with that token."""
    return folder / f"{VECTORS}.{token}"


def delete_all(folder: Path) -> None:
    """Delete the files of the index, the database first: without it there is none. The lock is held, and stays."""
    for file in sorted(our_files(folder), key=lambda file: file.name != DATABASE):
        if not file.name.startswith(LOCK):
            file.unlink(missing_ok=True)


def delete_other_vectors(folder: Path, token: str) -> None:
    """Delete the files of earlier tokens; a file that is still mapped (Windows) is deleted the next time."""
    for path in our_files(folder):
        if path.name.startswith("vectors.") and path != vectors_file(folder, token):
            with contextlib.suppress(OSError):
                path.unlink()
