"""What is indexed, from where, how far, and what was skipped."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.errors import IndexMissing
from local_rag.index.store import reads
from local_rag.index.store.schema import OF_OTHER_KINDS
from local_rag.server.endpoints import Endpoint, OfIndex
from local_rag.server.file_ids import file_id
from local_rag.server.file_listings import FileListing, listings_of, shown
from local_rag.server.folders import allowed_roots
from local_rag.server.indexing import SyncProgress, indexing_of
from local_rag.server.skipped_files import SkippedView, skipped_files
from local_rag.text.display import short_path

if TYPE_CHECKING:
    from local_rag.server.place import Place


@dataclass(frozen=True, slots=True)
class RootView:
    """A folder or file that was indexed by name: what is left out of it, and whether it is there now.

    `again` has a command for each of `excludes`, and what it does. `not_read` counts its files of kinds that are not
    read: "2 .pptx and 1 .odt".
    """

    file_id: str
    label: str
    files: int
    excludes: Sequence[str]
    again: Sequence[str]
    follow_links: bool
    secrets: bool
    there: bool
    not_read: str


@dataclass(frozen=True, slots=True)
class AllowedRoot:
    """A folder below which the page may index."""

    file_id: str
    label: str


@dataclass(frozen=True, slots=True)
class IndexView:
    """An index as a page shows it; without one (`exists`) all counts are 0, and `hint` says how to make it.

    Of its passages (`chunks`) that many are `embedded`; `seconds_left` is what the rest takes at the last pace.
    `allowed` are the folders below which the page may index. `syncing` says how far a running job is.
    """

    index: str
    exists: bool
    allowed: Sequence[AllowedRoot]
    syncing: SyncProgress | None
    hint: str
    about: str = ""
    files: int = 0
    pages: int = 0
    documents: int = 0
    chunks: int = 0
    embedded: int = 0
    seconds_left: float | None = None
    bytes: int = 0
    embedder: str = ""
    last_sync: str = ""
    roots: Sequence[RootView] = ()
    skipped: Sequence[SkippedView] = ()


def index(place: Place, request: OfIndex) -> IndexView:
    from local_rag.runtime.indexing import command_of
    from local_rag.runtime.opening import missing

    settings = place.settings_of(request.index)
    name = shown(short_path(settings.values.index))
    allowed = [AllowedRoot(key, shown(short_path(root))) for key, root in allowed_roots(place, request.index).items()]
    syncing = indexing_of(place).progress
    try:
        listing = listings_of(place).of(settings.index_path)
        status, reported = listing.status, listing.read(reads.reported)
    except IndexMissing:
        return IndexView(name, False, allowed, syncing, missing(settings).hint)
    kinds = {path: why.removeprefix(OF_OTHER_KINDS) for path, why in reported if why.startswith(OF_OTHER_KINDS)}
    skipped = {(path, why) for path, why in reported if not why.startswith(OF_OTHER_KINDS)}
    return IndexView(
        name,
        True,
        allowed,
        syncing,
        "",
        about=shown(status.about or status.summary),
        **{each: getattr(status, each) for each in _SAME},
        embedder=shown(status.embedder),
        roots=_roots(listing, command_of(settings), kinds),
        skipped=skipped_files(listing, skipped),
    )


_SAME = ("files", "pages", "documents", "chunks", "embedded", "seconds_left", "bytes", "last_sync")
"""What an index view has of the status as it is."""


def _roots(listing: FileListing, command: str, not_read: Mapping[str, str]) -> list[RootView]:
    return [
        RootView(
            file_id(root.path),
            shown(short_path(root.path)),
            listing.counts.get(root.path, 0),
            tuple(map(shown, root.excludes)),
            tuple(
                shown(f"{command} --no-exclude {shlex.quote(pattern)}   takes it in again") for pattern in root.excludes
            ),
            root.follow_links,
            root.secrets,
            Path(root.path).exists(),
            shown(not_read.get(root.path, "")),
        )
        for root in listing.roots
    ]


ENDPOINTS = (
    Endpoint(
        "GET", "/api/index", index, OfIndex, IndexView, summary="what is indexed, from where, and what was skipped"
    ),
)
