"""The folders that a page may index, one level at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_rag.server.endpoints import Endpoint
from local_rag.server.file_listings import shown
from local_rag.server.folders import Below, allowed_folder, folders_in, indexed_in
from local_rag.text.display import short_path

if TYPE_CHECKING:
    from local_rag.server.place import Place

FOLDERS = 2_000
"""Folders of a folder that are listed."""


@dataclass(frozen=True, slots=True)
class FolderView:
    """A folder and its path in the root: the index holds files below it (`indexed`), or an indexed folder around it
    takes it in with the next update (`coming`).
    """

    name: str
    below: str
    indexed: bool
    coming: bool


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders in a folder, by name; `more` were left out."""

    label: str
    below: str
    folders: Sequence[FolderView]
    more: int


def folders(place: Place, request: Below) -> Folders:
    folder = allowed_folder(place, request)
    names = folders_in(folder)
    indexed, coming = indexed_in(place, request.index, folder)

    def view(name: str) -> FolderView:
        below = f"{request.below}/{name}".lstrip("/")
        return FolderView(shown(name), below, name in indexed, name in coming and name not in indexed)

    label = shown(short_path(folder))
    return Folders(label, request.below, [view(name) for name in names[:FOLDERS]], max(0, len(names) - FOLDERS))


ENDPOINTS = (Endpoint("GET", "/api/index/folders", folders, Below, Folders, summary="the folders that may be indexed"),)
