"""What is indexed, from where and how far; bringing it up to date, adding folders, forgetting files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from local_rag.core.errors import IndexMissing
from local_rag.server.endpoints import Endpoint, Request
from local_rag.server.errors import ApiError, NotFound
from local_rag.server.file_ids import file_id
from local_rag.server.file_listings import FileListing, listings_of, shown
from local_rag.server.folders import allowed_roots, folder_below, folders_in
from local_rag.server.indexing import Note, SyncProgress, indexing_of
from local_rag.server.page_pictures import pictures_of
from local_rag.server.sse import Events
from local_rag.text.display import plural, short_path
from local_rag.text.urls import is_url

if TYPE_CHECKING:
    from local_rag.core.documents import Skipped, SyncReport
    from local_rag.core.progress import Display
    from local_rag.server.place import Place

FOLDERS = 2_000
"""Folders of a folder that are listed."""

LISTED = 100
"""Files of a report that are named."""

FIXES = (
    ("encrypted with a password", "local-rag index --passwords"),
    ("no text layer", "make its text readable first, for instance with ocrmypdf, then bring the index up to date"),
    ("may hold secrets", "local-rag index --include-secrets {folder}"),
    ("link out of the indexed folder", "local-rag index --follow-links {folder}"),
    ("took longer than", "local-rag index --retry"),
    ("the parser crashed", "local-rag index --retry"),
    ("of memory to read", "local-rag index --retry"),
    ("are read", "split it into smaller files"),
    ("no loader for", "save it as PDF, DOCX, Markdown or text beside it"),
    ("is damaged", "open it in the program that made it, and save it anew"),
    ("could not be read (damaged)", "open it in the program that made it, and save it anew"),
    ("is not Unicode", "rename it"),
    ("cannot be opened", "allow this account to read it, then bring the index up to date"),
    ("link that leads in a circle", "remove the link"),
    ("zip bomb", "unzip it yourself if you trust it, and index what is in it"),
    ("DRM", "there is none: its publisher keeps programs from reading it"),
)
"""What stands in the reason of a skipped file, and what a person can do about it."""


class Of(Request):
    """Which index; by default that of the settings."""

    index: str | None = None


@dataclass(frozen=True, slots=True)
class RootView:
    """A folder or file that was indexed by name: what is left out of it, and whether it is there now.

    `again` has a command for each of `excludes`, and what it does.
    """

    file_id: str
    label: str
    files: int
    excludes: Sequence[str]
    again: Sequence[str]
    follow_links: bool
    secrets: bool
    there: bool


@dataclass(frozen=True, slots=True)
class SkippedView:
    """What could not be indexed, wholly or (`partly`) in part, why, and what to do about it ("" for nothing)."""

    label: str
    reason: str
    fix: str
    partly: bool = False


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


@dataclass(frozen=True, slots=True)
class Report:
    """What bringing an index up to date has done: counts of files, of passages, and what was skipped or kept unseen.

    `removed_files` are the first of those that left the index.
    """

    new: int
    updated: int
    unchanged: int
    removed: int
    moved: int
    chunks: int
    embedded: int
    not_embedded: int
    seconds: float
    skipped: Sequence[SkippedView]
    kept: Sequence[SkippedView]
    removed_files: Sequence[str]


class Below(Of):
    """A folder: `below` is its path in a root that may be indexed, with "/", "" for the root itself."""

    root: str
    below: str = Field("", max_length=4000)


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


class Forget(Of):
    """Files, pages and roots by their IDs; `keep_out` leaves them out of an indexed folder from now on, too."""

    files: Sequence[str] = Field(min_length=1, max_length=10_000)
    keep_out: bool = False


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many files have left the index, what is kept out from now on, and what still quotes them."""

    removed: int
    kept_out: Sequence[str]
    notes: Sequence[str]


def index(place: Place, request: Of) -> IndexView:
    from local_rag.runtime.indexing import command_of

    settings = place.settings_of(request.index)
    name = shown(short_path(settings.values.index))
    allowed = [AllowedRoot(key, shown(short_path(root))) for key, root in allowed_roots(place, request.index).items()]
    syncing = indexing_of(place).progress
    try:
        listing = listings_of(place).of(settings.index_path)
        status = listing.status
    except IndexMissing:
        return IndexView(name, False, allowed, syncing, "local-rag index FOLDER")
    return IndexView(
        name,
        True,
        allowed,
        syncing,
        "",
        about=shown(status.about or status.summary),
        **{each: getattr(status, each) for each in _SAME},
        embedder=shown(status.embedder),
        roots=_roots(listing, command_of(settings)),
        skipped=_skipped(listing),
    )


_SAME = ("files", "pages", "documents", "chunks", "embedded", "seconds_left", "bytes", "last_sync")
"""What an index view has of the status as it is."""


def folders(place: Place, request: Below) -> Folders:
    root = _allowed(place, request)
    folder = folder_below(root, request.below)
    names = folders_in(folder)
    indexed, coming = _indexed_in(place, request.index, folder)

    def view(name: str) -> FolderView:
        below = f"{request.below}/{name}".lstrip("/")
        return FolderView(shown(name), below, name in indexed, name in coming and name not in indexed)

    label = shown(short_path(folder))
    return Folders(label, request.below, [view(name) for name in names[:FOLDERS]], max(0, len(names) - FOLDERS))


def sync(place: Place, request: Of) -> Events:
    return _synced(place, request.index, [])


def add(place: Place, request: Below) -> Events:
    return _synced(place, request.index, [folder_below(_allowed(place, request), request.below)])


def forget(place: Place, request: Forget) -> Forgotten:
    from local_rag.diagnostics.kept import about, kept
    from local_rag.runtime.opening import open_index

    settings = place.settings_of(request.index)
    listing = listings_of(place).of(settings.index_path)
    if unknown := [identity for identity in request.files if identity not in listing.paths]:
        raise NotFound(f"{plural(len(unknown), 'of these is', 'of these are')} not in the index (any more)")
    names = [listing.paths[identity] for identity in request.files]
    roots = {root.path for root in listing.roots}
    files = [Path(name) for name in names if not is_url(name) and name not in roots]
    with indexing_of(place).alone(), open_index(settings, reembed=True) as opened:
        patterns = opened.keep_out(files) if request.keep_out and files else []
        removed = opened.remove([name if is_url(name) else Path(name) for name in names], missing_ok=True)
    pictures_of(place).forget()
    quoting = about(kept(settings), removed)
    notes = (
        [
            f"{plural(len(quoting), 'chat, run or report', 'chats, runs and reports')} may still quote what has left"
            " the index: local-rag kept   lists and deletes them"
        ]
        if quoting
        else []
    )
    return Forgotten(len(removed), [shown(pattern) for pattern in patterns], notes)


def _synced(place: Place, name: str | None, paths: list[Path]) -> Events:
    """Bring an index up to date: all of it, or these folders alone, which are known from then on."""
    from local_rag.runtime.index_request import Request as Wanted
    from local_rag.runtime.indexing import index_files

    settings = place.settings_of(name)
    listings, pictures = listings_of(place), pictures_of(place)  # the place may be closing when the work ends
    if not paths:
        listings.of(settings.index_path)  # raises IndexMissing before anything is made

    def work(display: Display) -> Report:
        report, _ = index_files(settings, Wanted(paths), display)
        pictures.forget()
        return _report(report, listings.of(settings.index_path))

    return indexing_of(place).events(work)


def _allowed(place: Place, request: Below) -> Path:
    roots = allowed_roots(place, request.index)
    if request.root not in roots:
        raise ApiError(
            403,
            "outside",
            "this folder was neither indexed at the terminal nor named with --root",
            "local-rag serve --root FOLDER   or   local-rag index FOLDER",
        )
    return roots[request.root]


def _indexed_in(place: Place, name: str | None, folder: Path) -> tuple[set[str], set[str]]:
    """The names of the folders in a folder with indexed files below them, and of those that the next update enters."""
    from local_rag.index.sync.walk import folders_entered

    try:
        listing = listings_of(place).of(place.settings_of(name).index_path)
    except IndexMissing:
        return set(), set()
    start = f"{folder}{os.sep}".replace(2 * os.sep, os.sep)
    below = (path.removeprefix(start).partition(os.sep) for path in listing.files if path.startswith(start))
    roots = {Path(root.path).name for root in listing.roots if Path(root.path).parent == folder}
    return {first for first, inside, _ in below if inside}, roots | folders_entered(listing.roots, folder)


def _roots(listing: FileListing, command: str) -> list[RootView]:
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
        )
        for root in listing.roots
    ]


def _skipped(listing: FileListing) -> list[SkippedView]:
    """What the last syncs reported, by reason and name."""
    views = [
        _skipped_view(listing, path, reason, path in listing.files)
        for path, reason in listing.library.not_indexed().reported
    ]
    return sorted(views, key=lambda view: (view.reason, view.label.casefold()))


def _skipped_view(listing: FileListing, path: str, reason: str, partly: bool) -> SkippedView:
    fix = next((fix for sign, fix in FIXES if sign in reason), "")
    if "{folder}" in fix:
        folders = (root.path for root in listing.roots if Path(path).is_relative_to(root.path))
        fix = fix.format(folder=shlex.quote(next(folders, "FOLDER")))
    return SkippedView(shown(listing.label(path)), shown(reason), shown(fix), partly)


def _report(report: SyncReport, listing: FileListing) -> Report:
    def views(files: Sequence[Skipped]) -> list[SkippedView]:
        return [_skipped_view(listing, file.path, file.reason, file.path in listing.files) for file in files]

    return Report(
        new=len(report.new),
        updated=len(report.updated),
        unchanged=report.unchanged,
        removed=len(report.removed),
        moved=sum(way.files for way in report.moved),
        chunks=report.chunks,
        embedded=report.embedded,
        not_embedded=report.not_embedded,
        seconds=report.seconds,
        skipped=views(report.skipped),
        kept=views(report.kept),
        removed_files=[shown(listing.label(path)) for path in report.removed[:LISTED]],
    )


_EVENTS = {"progress": SyncProgress, "note": Note, "report": Report}

ENDPOINTS = (
    Endpoint("GET", "/api/index", index, Of, IndexView, summary="what is indexed, from where, and what was skipped"),
    Endpoint("GET", "/api/index/folders", folders, Below, Folders, summary="the folders that may be indexed"),
    Endpoint("POST", "/api/index/sync", sync, Of, Events, events=_EVENTS, summary="bring the index up to date"),
    Endpoint("POST", "/api/index/add", add, Below, Events, events=_EVENTS, summary="index a folder"),
    Endpoint("POST", "/api/index/forget", forget, Forget, Forgotten, summary="take files out of the index"),
)
