"""Copy files that a person drops on the page, piece by piece as requests are small, for indexing afterwards."""

from __future__ import annotations

import base64
import binascii
import filecmp
import re
import threading
import time
import unicodedata
from contextlib import suppress
from itertools import count
from pathlib import Path

from fastapi import APIRouter, Depends
from pydantic import Field

from local_rag.core.errors import LocalRagError, UsageError, reason_of
from local_rag.core.private_files import make_folder, opener
from local_rag.runtime.dropped import FOLDER, dropped_files
from local_rag.server.answers import file_id
from local_rag.server.auth import person_only
from local_rag.server.errors import ApiError
from local_rag.server.listings import safe_line
from local_rag.server.responses import Body
from local_rag.server.workspace import Here
from local_rag.text.display import seen_line

LARGEST = 200_000_000
"""The most bytes of one file that is copied."""
ALL = 4_000_000_000
"""The most bytes of all copies together."""
LEFT = 3600.0
"""Seconds after which an incomplete copy is deleted."""

LONGEST_STEM = 180
"""The most bytes in the name of a copy, without its suffix."""
_UNSAFE = re.compile(r'[<>:"|?*]')
_OF_WINDOWS = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")

_NAMING = threading.Lock()
"""The lock that is held while a copy gets its name, so that no two copies get the same name."""

router = APIRouter()


class Piece(Body):
    """Hold a piece of a file: its bytes in base64, from byte `at` on; `last` says that the piece completes the file.

    All pieces of a file have the same `upload`, and no other file has it.
    """

    name: str = Field(max_length=1000)
    upload: str = Field(pattern=r"^[0-9a-f]{16,64}$")
    at: int = Field(ge=0, le=LARGEST)
    data: str
    last: bool
    index: str | None = None


@router.post("/api/index/drop", dependencies=[Depends(person_only)])
def drop(piece: Piece, workspace: Here) -> dict[str, str]:
    """Copy a piece of a file into the data folder; after the last one return the `name` and the ID of the copy."""
    from local_rag.index.parse.loaders import loader, no_loader

    settings = workspace.settings_of(piece.index)
    name, folder = safe_name(piece.name), dropped_files(settings)
    if loader(Path(name)) is None:
        raise UsageError(no_loader(Path(name)))
    try:
        data = base64.b64decode(piece.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError("data is no base64") from error
    draft = folder / f".{piece.upload}.part"
    try:
        if piece.at == 0:
            _make_room(settings.data_folder / FOLDER)
            make_folder(folder)
            draft.unlink(missing_ok=True)
        elif not draft.exists() or draft.stat().st_size != piece.at:
            raise ApiError(409, "conflict", "the pieces of this file did not come one after the other", "drop it again")
        if piece.at + len(data) > LARGEST:
            draft.unlink(missing_ok=True)
            raise ApiError(
                413, "too_large", f"a file has at most {LARGEST:,} bytes here", "index the folder it lies in"
            )
        with open(draft, "ab", opener=opener) as file:
            file.write(data)
        copy = _kept(draft, folder, name) if piece.last else ""
        return {"name": safe_line(copy), "file_id": file_id(str(folder.resolve() / copy)) if copy else ""}
    except OSError as error:
        raise LocalRagError(f"this file could not be copied ({reason_of(error)})") from error


def safe_name(given: str) -> str:
    """Return a visible file name that is no path and valid in every file system, with the suffix of the given name."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", given))[-1]
    name = Path(_UNSAFE.sub("_", seen_line(last)).strip(". "))
    stem = name.stem.encode()[:LONGEST_STEM].decode("utf-8", "ignore")
    return f"{'_' * bool(_OF_WINDOWS.match(name.name))}{stem}{name.suffix}"


def _make_room(folder: Path) -> None:
    """Delete old incomplete copies; raise ApiError if the copies are too large together."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            about = path.lstat()
            if path.suffix == ".part" and path.name.startswith(".") and time.time() - about.st_mtime > LEFT:
                path.unlink()
            else:
                total += about.st_size
    if total > ALL:
        hint = "remove some in Files, or index the folder in which the files lie"
        raise ApiError(413, "too_large", f"the files that were dropped have more than {ALL:,} bytes together", hint)


def _kept(draft: Path, folder: Path, name: str) -> str:
    """Give the complete copy its name and return it, with a number if a different file has that name already."""
    wanted = Path(name)
    names = (name if number == 1 else f"{wanted.stem} {number}{wanted.suffix}" for number in count(1))
    with _NAMING:
        paths = map(folder.joinpath, names)
        path = next(path for path in paths if not path.exists() or filecmp.cmp(path, draft, shallow=False))
        draft.replace(path)
    return path.name
