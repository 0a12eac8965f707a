"""List the folders that a page may index.

They lie below a root that a person named at the terminal, or for a signed-in page in the person's home. A request names
them by a root's ID and names of existing folders.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from local_rag.core.cancel import Cancel, scope
from local_rag.core.errors import DeadlineExceeded, IndexMissing, NotFound, reason_of
from local_rag.index.store.values import Root
from local_rag.runtime.dropped import dropped_files
from local_rag.server.answers import file_id
from local_rag.server.auth import Asking, Caller
from local_rag.server.errors import ApiError
from local_rag.server.listings import safe_line
from local_rag.server.responses import Body
from local_rag.server.workspace import HEAVY, Here, Workspace
from local_rag.text.display import by_count, home_path, kinds_in_words

FOLDERS = 2_000
"""The most folders of a folder that are listed."""
COUNTING = 3.0
"""The longest time in seconds for counting the files of a folder."""
KINDS = 6
"""The most kinds of files that are named; the others are counted together."""
DROPPED = "dropped"
"""The name, in place of an ID, of the root with the files that were dropped."""

router = APIRouter()


def allowed_roots(workspace: Workspace, index: str | None, caller: Caller) -> dict[str, Path]:
    """Return the folders below which a caller may index, by ID.

    They are the person's home if the caller is a page, the folders of `serve --root`, and the indexed folders. A folder
    that has become a link is left out.
    """
    settings = workspace.settings_of(index)
    roots = list(workspace.roots)
    with suppress(RuntimeError):
        home = Path.home().resolve()
        if caller == "cookie" and home.parent != home:  # some accounts without a person have a whole file system
            roots.insert(0, home)
    with suppress(IndexMissing):
        listing = workspace.files.of(settings.index_path)
        roots += [Path(root.path) for root in listing.roots if Path(root.path) != dropped_files(settings)]
    return {file_id(str(root)): root for root in roots if root.is_dir() and root.resolve() == root}


class Below(Body):
    """Name a folder: `below` is its path in an allowed root, with "/", or "" for the root itself.

    The root "dropped" holds the copies of files that were dropped on the page.
    """

    root: str
    below: str = Field("", max_length=4000)
    index: str | None = None


@dataclass(frozen=True)
class FolderView:
    """Describe a folder and its path in the root.

    `indexed`: the index holds files below it. `coming`: the next update of an indexed folder around it takes it in.
    """

    name: str
    below: str
    indexed: bool
    coming: bool


@dataclass(frozen=True)
class Folders:
    """List the folders in a folder by name; `more` counts those left out."""

    label: str
    below: str
    folders: Sequence[FolderView]
    more: int


@dataclass(frozen=True)
class FolderFiles:
    """Say how many files of a folder would be indexed, and of which kinds, such as "20 .pdf and 3 .md".

    `not_read` counts the files of other kinds. `whole`: all files were counted in the time allowed.
    """

    files: int
    kinds: str
    not_read: str
    whole: bool


@router.get("/api/index/folders")
def folders(workspace: Here, request: Annotated[Below, Query()], caller: Asking) -> Folders:
    """List the folders in a folder that may be indexed."""
    folder = allowed_folder(workspace, request, caller)
    names = sorted((entry.name for entry in _entries(folder)), key=str.casefold)
    indexed, coming = _indexed_in(workspace, request.index, folder)

    def view(name: str) -> FolderView:
        below = f"{request.below}/{name}".lstrip("/")
        return FolderView(safe_line(name), below, name in indexed, name in coming and name not in indexed)

    more = max(0, len(names) - FOLDERS)
    return Folders(safe_line(home_path(folder)), request.below, [view(name) for name in names[:FOLDERS]], more)


@router.get("/api/index/folders/files", dependencies=HEAVY)
def folder_files(workspace: Here, request: Annotated[Below, Query()], caller: Asking) -> FolderFiles:
    """Count the files in and below a folder that may be indexed, by kind."""
    from local_rag.index.sync.walk import Walk, walk

    folder, walked, whole = allowed_folder(workspace, request, caller), Walk(), False
    with suppress(DeadlineExceeded), scope(Cancel(COUNTING)):
        walk([Root(str(folder))], walked=walked)
        whole = True
    kinds = Counter(Path(name).suffix.lower() or "(none)" for name in walked.files)
    return FolderFiles(len(walked.files), _in_words(kinds), _in_words(walked.ignored[str(folder)]), whole)


def _in_words(kinds: Counter[str]) -> str:
    """Return the most frequent kinds with their counts, in words."""
    most = by_count(kinds)
    named = dict([*most.items()][:KINDS])
    others = kinds.total() - sum(named.values())
    return safe_line(kinds_in_words(named | ({"of other kinds": others} if others else {})))


def allowed_folder(workspace: Workspace, request: Below, caller: Caller) -> Path:
    """Return the folder that a request names; raise ApiError if it may not be indexed, NotFound if it is missing."""
    if request.root == DROPPED:
        return _folder_below(dropped_files(workspace.settings_of(request.index)), request.below)
    roots = allowed_roots(workspace, request.index, caller)
    if request.root not in roots:
        raise ApiError(
            403,
            "outside",
            "this folder was neither indexed at the terminal nor named with --root, and the page alone sees your home",
            "start the server with --root FOLDER, or index it at the terminal",
        )
    return _folder_below(roots[request.root], request.below)


def _folder_below(root: Path, below: str) -> Path:
    """Return the folder with this path ("a/b", or "" for the root) in a resolved root.

    Links are not followed, hidden folders not entered, and ".." is refused. Raise NotFound for any other name than that
    of a folder, and ApiError for a root that has become a link.
    """
    folder = root
    for name in below.split("/") if below else ():
        if name not in {entry.name for entry in _entries(folder)}:
            raise NotFound("there is no such folder", "the list of folders says what there is")
        folder = folder / name
    if not folder.resolve().is_relative_to(root):
        raise ApiError(403, "outside", "this folder lies outside of the folders that may be indexed")
    return folder


def _indexed_in(workspace: Workspace, name: str | None, folder: Path) -> tuple[set[str], set[str]]:
    """Return two sets of folder names: those with indexed files below, and those that the next update enters."""
    from local_rag.index.sync.walk import folders_entered

    try:
        listing = workspace.listing(name)
    except IndexMissing:
        return set(), set()
    start = f"{folder}{os.sep}".replace(2 * os.sep, os.sep)
    below = (path.removeprefix(start).partition(os.sep) for path in listing.files if path.startswith(start))
    roots = {Path(root.path).name for root in listing.roots if Path(root.path).parent == folder}
    return {first for first, inside, _ in below if inside}, roots | folders_entered(listing.roots, folder)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False) and os.access(entry.path, os.R_OK | os.X_OK)
                is_text = entry.name == entry.name.encode("utf-8", "ignore").decode()  # names are bytes
                if is_folder and is_text and not entry.name.startswith("."):
                    yield entry
    except OSError as error:
        raise ApiError(403, "forbidden", f"this folder cannot be looked into ({reason_of(error)})") from error
