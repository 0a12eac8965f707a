"""Bringing an index up to date: all of it, or a folder that is added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.server.endpoints import Endpoint, OfIndex
from local_rag.server.file_listings import FileListing, listings_of, shown
from local_rag.server.folders import Below, allowed_folder
from local_rag.server.indexing import Note, SyncProgress, indexing_of
from local_rag.server.page_pictures import pictures_of
from local_rag.server.skipped_files import SkippedView, skipped_view
from local_rag.server.sse import Events

if TYPE_CHECKING:
    from local_rag.core.documents import Skipped, SyncReport
    from local_rag.core.progress import Display
    from local_rag.server.place import Place

LISTED = 100
"""Files of a report that are named."""


@dataclass(frozen=True, slots=True)
class Report:
    """What bringing an index up to date has done: counts of files, of passages, and what was skipped or kept unseen.

    `removed_files` are the first of those that left the index.
    """

    new: int
    updated: int
    unchanged: int
    removed: int
    chunks: int
    embedded: int
    not_embedded: int
    seconds: float
    skipped: Sequence[SkippedView]
    kept: Sequence[SkippedView]
    removed_files: Sequence[str]


def sync(place: Place, request: OfIndex) -> Events:
    return _synced(place, request.index, [])


def add(place: Place, request: Below) -> Events:
    return _synced(place, request.index, [allowed_folder(place, request)])


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


def _report(report: SyncReport, listing: FileListing) -> Report:
    def views(files: Sequence[Skipped]) -> list[SkippedView]:
        return [skipped_view(listing, file.path, file.reason) for file in files]

    return Report(
        new=len(report.new),
        updated=len(report.updated),
        unchanged=report.unchanged,
        removed=len(report.removed),
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
    Endpoint("POST", "/api/index/sync", sync, OfIndex, Events, events=_EVENTS, summary="bring the index up to date"),
    Endpoint("POST", "/api/index/add", add, Below, Events, events=_EVENTS, summary="index a folder"),
)
