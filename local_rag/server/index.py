"""Describe an index, bring it up to date, take files out of it, and delete it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends
from pydantic import Field

from local_rag.core.cancel import Cancel, scope
from local_rag.core.documents import Skipped, SyncReport
from local_rag.core.errors import DeadlineExceeded, IndexMissing, NotFound
from local_rag.core.serialization import from_plain, to_plain
from local_rag.diagnostics.demo import INDEX as SAMPLE
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import NO_TEXT, OF_OTHER_KINDS, SCAN_SECONDS
from local_rag.runtime.dropped import delete_copies
from local_rag.server.answers import file_id
from local_rag.server.auth import Asking, Caller, person_only
from local_rag.server.documents import located
from local_rag.server.errors import ApiError
from local_rag.server.folders import COUNTING, Below, allowed_folder, allowed_roots
from local_rag.server.jobs import Job, JobEvent
from local_rag.server.listings import FileListing, safe_line
from local_rag.server.responses import Body, event_stream, job_response
from local_rag.server.work import worked
from local_rag.server.workspace import HEAVY, Here, Workspace
from local_rag.text.display import home_path, is_url, plural

LISTED = 100
"""The most removed files that a report names."""
MOST_CHANGES = 1000
"""The most files that are named of those that differ on the disk."""

ACTIONS = {
    NO_TEXT: "ocr",
    "may hold secrets": "secrets",
    "link out of the indexed folder": "follow_links",
    "took longer than": "retry",
    "the parser crashed": "retry",
    "of memory to read": "retry",
}
"""Texts in the reason for skipping a file, and the field of `Sync` that makes the file be read."""
OF_ROOT = ("secrets", "follow_links")
FIXES = {
    "are read": "split it into smaller files",
    " files cannot be read": "save it as PDF, DOCX, Markdown or text beside it",
    "is damaged": "open it in the program that made it, and save it anew",
    "could not be read (damaged)": "open it in the program that made it, and save it anew",
    "is not Unicode": "rename it",
    "cannot be opened": "allow this account to read it, then check for changes",
    "link leads in a circle": "remove the link",
    "zip bomb": "unzip it yourself if you trust it, and index what is in it",
    "DRM": "there is none: its publisher keeps programs from reading it",
}
"""Texts in the reason for skipping a file, and what a person can do about it."""

QUOTING = ("chat", "question", "feedback")
"""The kinds of records that are deleted with a file that they quote; the others are a person's own work."""

router = APIRouter()


@dataclass(frozen=True)
class SkippedView:
    """Describe a file that could not be indexed at all or in part (`partly`): why, and what helps ("" for nothing).

    `action` is the field of `Sync` that makes the file be read, and `root` is the ID of its indexed folder.
    """

    label: str
    reason: str
    fix: str
    action: str
    root: str
    partly: bool = False


@dataclass(frozen=True)
class RootView:
    """Describe a folder or file that was indexed by name: what it excludes, and whether it still exists (`there`).

    `not_read` counts its files of kinds that are not read: "2 .pptx and 1 .odt".
    """

    file_id: str
    label: str
    files: int
    excludes: Sequence[str]
    there: bool
    not_read: str


@dataclass(frozen=True)
class AllowedRoot:
    """Name a folder below which the page may index."""

    file_id: str
    label: str


@dataclass(frozen=True)
class IndexView:
    """Describe an index; if it does not exist all counts are 0, and `hint` says how to make it.

    `embedded` of its passages (`chunks`) have an embedding; `seconds_left` is the time for the rest at the last pace.
    `allowed` lists the folders below which the page may index. `watching` says what `serve --watch` does for the index
    (`state`), what it changed last (`changed`), each in a line, and when in ISO 8601 (`changed_at`); the last two are
    empty if nothing has changed since the server started. `watching` is null without --watch. `kinds` counts the files
    of each kind. `ocr`: what reads scans is installed.
    `ocr_seconds` is the time for the pages that wait for it at the last pace here, null before any page was read.
    """

    index: str
    exists: bool
    allowed: Sequence[AllowedRoot]
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
    kinds: Mapping[str, int] = field(default_factory=dict)
    skipped: Sequence[SkippedView] = ()
    watching: dict[str, str] | None = None
    ocr: bool = False
    ocr_seconds: float | None = None


@dataclass(frozen=True)
class ChangedFile:
    """Name a file that is "new", "changed" or "gone" on the disk since it was indexed."""

    file_id: str
    label: str
    became: str


@dataclass(frozen=True)
class Changes:
    """List files that differ on the disk, with the number of each kind; `whole`: all folders were seen in time."""

    files: Sequence[ChangedFile]
    counts: Mapping[str, int]
    whole: bool


_SAME = ("pages", "documents", "chunks", "embedded", "seconds_left", "bytes", "last_sync")
"""The fields that an index view takes unchanged from the status."""
WATCHED = ("state", "changed", "changed_at")
"""The fields that an index view takes from the watcher of the index."""


class Sync(Body):
    """Say which index to bring up to date; without `stream` only the report is sent, at the end.

    Only a person at the page may set the other fields. `ocr` reads scans, `retry` reads again the files that could not
    be read, and `url` is a web page to index. For the folder with the ID `root`, `secrets` takes in files that may hold
    secrets, `follow_links` follows links, and `take_in` takes in the files that these patterns excluded.
    """

    index: str | None = None
    ocr: bool = False
    retry: bool = False
    url: str = Field("", max_length=2000, pattern=r"^(https?://\S+)?$")
    root: str = ""
    secrets: bool = False
    follow_links: bool = False
    take_in: Sequence[str] = Field((), max_length=1000)
    stream: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """The options of the request besides looking for changes, in the form of `runtime.indexing.Request`."""
        given = {
            "retry": self.retry,
            "urls": [self.url] if self.url else [],
            "secrets": self.secrets,
            "no_excludes": self.take_in,
            "follow_links": self.follow_links,
        }
        return {name: value for name, value in given.items() if value}


class Add(Below):
    """Name a folder to index; `name` is a new or existing index for it.

    The root "sample" is the handbook that ships with local-rag, which is indexed as "demo".
    """

    name: str = Field("", max_length=60, pattern=r"^([\w-][\w.-]*)?$")
    stream: bool = True


class OfIndex(Body):
    """Name an index."""

    index: str


class Forget(Body):
    """Name files, web pages and roots to take out of the index, by their IDs.

    `keep_out` also excludes the files from later updates, and `quoting` deletes the chats, records and judgements that
    quote them.
    """

    files: Sequence[str] = Field(min_length=1, max_length=10_000)
    keep_out: bool = False
    quoting: bool = False
    index: str | None = None


@router.get("/api/index")
def index(workspace: Here, caller: Asking, index: str | None = None) -> IndexView:
    """Describe an index: what it holds, from where, and what was skipped."""
    from local_rag.index.parse import ocr
    from local_rag.runtime.opening import missing

    settings = workspace.settings_of(index)
    name = safe_line(home_path(settings.values.index))
    roots = allowed_roots(workspace, index, caller)
    allowed = [AllowedRoot(key, safe_line(home_path(root))) for key, root in roots.items()]
    try:
        listing = workspace.files.of(settings.index_path)
        status, reported = listing.status, listing.read(Store.reported)
    except IndexMissing:
        return IndexView(name, False, allowed, missing(settings).hint)
    not_read = {path: why.removeprefix(OF_OTHER_KINDS) for path, why in reported if why.startswith(OF_OTHER_KINDS)}
    skipped = {(path, why) for path, why in reported if not why.startswith(OF_OTHER_KINDS)}
    views = [_skipped(listing, path, why) for path, why in skipped]
    watched = workspace.watched.get(settings.index_path)
    return IndexView(
        name,
        True,
        allowed,
        "",
        about=safe_line(status.about or status.summary),
        files=sum(not is_url(path) for path in listing.files),
        **{each: getattr(status, each) for each in _SAME},
        embedder=safe_line(status.embedder),
        roots=_roots(listing, not_read),
        kinds=listing.kinds,
        ocr=not ocr.missing(settings.values.ocr.languages),
        ocr_seconds=_ocr_seconds(listing),
        skipped=sorted(views, key=lambda view: (view.reason, view.label.casefold())),
        watching={name: safe_line(getattr(watched, name)) for name in WATCHED} if watched else None,
    )


@router.get("/api/index/changes", dependencies=HEAVY)
def changes(workspace: Here, index: str | None = None) -> Changes:
    """List the files that differ on the disk from what was indexed, by size and time, and those that are new there."""
    from local_rag.index.sync.walk import Walk, walk

    listing = workspace.listing(index)
    rows, reported = listing.read(Store.files), listing.read(Store.reported)
    became: dict[str, str] = {row.path: how for row in rows if (how := row.became)}
    known, walked, whole = {row.path for row in rows}, Walk(), False
    with suppress(DeadlineExceeded), scope(Cancel(COUNTING)):
        walk(listing.roots, listing.roots, known, walked=walked)
        whole = True
    became |= dict.fromkeys(walked.files.keys() - known - {path for path, _ in reported}, "new")
    named = [ChangedFile(file_id(path), safe_line(listing.label(path)), became[path]) for path in sorted(became)]
    return Changes(named[:MOST_CHANGES], Counter(became.values()), whole)


def _ocr_seconds(listing: FileListing) -> float | None:
    pages = sum(len(file.scans) for file in listing.read(Store.scanned))
    seconds = listing.read(Store.meta).get(SCAN_SECONDS)
    return pages * float(seconds) if seconds else None


def _roots(listing: FileListing, not_read: Mapping[str, str]) -> list[RootView]:
    return [
        RootView(
            file_id(root.path),
            safe_line(home_path(root.path)),
            listing.counts.get(file_id(root.path), 0),
            tuple(map(safe_line, root.excludes)),
            Path(root.path).exists(),
            safe_line(not_read.get(root.path, "")),
        )
        for root in listing.roots
    ]


def _skipped(listing: FileListing, path: str, reason: str) -> SkippedView:
    """Return a skipped file as a client sees it; a file that is in the index was skipped in part."""
    fix, action = (next((what for sign, what in table.items() if sign in reason), "") for table in (FIXES, ACTIONS))
    root = next((root.path for root in listing.roots if Path(path).is_relative_to(root.path)), "")
    reason = next((sign for sign, what in ACTIONS.items() if what == action in OF_ROOT), reason)  # without options
    label, identity = safe_line(listing.label(path)), file_id(root) if root else ""
    return SkippedView(label, safe_line(reason), fix, action, identity, path in listing.files)


def synced(
    workspace: Workspace,
    caller: Caller,
    name: str | None,
    paths: Sequence[Path] = (),
    *,
    sample: bool = False,
    ocr: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Job:
    """Begin a job that brings an index up to date: all of it, or only these folders, which then belong to the index.

    `options` are those of `Sync.options`.
    """
    is_new = bool(paths or sample or (options or {}).get("urls"))
    settings = workspace.settings_of(name, new=is_new)
    if not is_new:
        workspace.files.of(settings.index_path)  # raises IndexMissing before anything is made
    flags = {**workspace.flags, **({} if name is None else {"index": name}), **({"ocr__enabled": True} if ocr else {})}

    def work(job: Job) -> Generator[JobEvent]:
        request = {"paths": paths, "sample": sample, "options": options or {}}
        with workspace.unfinished.kept(settings.values.index, paths, sample=sample) as told:
            report = from_plain(SyncReport, (yield from worked(job, "index", flags, told, **request)))
        workspace.pages.forget()
        job.report = report
        yield "report", _report(report, workspace.files.of(settings.index_path))

    about = {
        "index": safe_line(home_path(settings.values.index)),
        "folders": [safe_line(home_path(path)) for path in paths],
    }
    return workspace.jobs.work(Job("index", caller, about, work))


def _report(report: SyncReport, listing: FileListing) -> dict[str, Any]:
    """Return the counts of a sync, with the files that were skipped or kept, and the first of those removed."""

    def views(files: Sequence[Skipped]) -> list[SkippedView]:
        return [_skipped(listing, file.path, file.reason) for file in files]

    names = ("unchanged", "chunks", "embedded", "not_embedded", "seconds")
    return {
        **{name: len(getattr(report, name)) for name in ("new", "updated", "removed")},
        **{name: getattr(report, name) for name in names},
        "skipped": to_plain(views(report.skipped)),
        "kept": to_plain(views(report.kept)),
        "removed_files": [safe_line(listing.label(path)) for path in report.removed[:LISTED]],
    }


@router.post("/api/index/sync")
async def sync(request: Sync, workspace: Here, caller: Asking) -> Any:
    """Bring the index up to date."""

    def begin() -> Job:
        if caller != "cookie" and (request.ocr or request.options):
            raise ApiError(403, "forbidden", "only a person at the page may ask for more than to look for changes")
        paths = [Path(located(workspace, request.root, request.index)[1])] if request.root else []
        return synced(workspace, caller, request.index, paths, ocr=request.ocr, options=request.options)

    return await job_response(begin, workspace.limits, stream=request.stream)


@router.post("/api/index/add")
async def add(request: Add, workspace: Here, caller: Asking) -> Any:
    """Index a folder."""

    def begin() -> Job:
        if request.root == "sample":
            return synced(workspace, caller, SAMPLE, sample=True)
        return synced(workspace, caller, request.name or request.index, [allowed_folder(workspace, request, caller)])

    return await job_response(begin, workspace.limits, stream=request.stream)


@router.post("/api/index/resume", dependencies=[Depends(person_only)])
def resume(request: OfIndex, workspace: Here, caller: Asking) -> Any:
    """Resume the indexing that the end of a server cut off."""
    cut_off = workspace.unfinished.all().get(request.index)
    if cut_off is None:
        raise NotFound("the indexing of this index has ended")
    job = synced(workspace, caller, request.index, [*map(Path, cut_off["paths"])], sample=cut_off["sample"])
    return event_stream(job, workspace.limits.heartbeat)


@router.post("/api/index/delete")
def delete(request: OfIndex, workspace: Here) -> dict[str, int]:
    """Delete an index, the records (`runs`) of questions about it, and the copies of files dropped for it."""
    from local_rag.index.index import Index

    settings = workspace.settings_of(request.index)
    workspace.files.of(settings.index_path)
    with workspace.jobs.writing():
        if not workspace.rags.let_go(settings.index_path):
            raise ApiError(409, "conflict", "a question asks this index now", "wait until it is answered")
        Index.destroy(settings.index_path)
        delete_copies(settings)
        workspace.unfinished.drop(settings.values.index)
    workspace.pages.forget()
    return {"runs": workspace.history.delete_of_index(settings.index_path)}


@router.post("/api/index/forget")
def forget(request: Forget, workspace: Here) -> dict[str, Any]:
    """Take files out of the index; send how many were `removed`, what is `kept_out`, and the records that quote them.

    `kept_out` has the patterns that exclude them from now on. Of the chats, records and judgements that quote them
    `deleted` counts those that were deleted, and `quoting` those that are left.
    """
    from local_rag.diagnostics import kept
    from local_rag.runtime.opening import open_index

    settings = workspace.settings_of(request.index)
    listing = workspace.files.of(settings.index_path)
    if unknown := [identity for identity in request.files if identity not in listing.paths]:
        raise NotFound(f"{plural(len(unknown), 'of these is', 'of these are')} not in the index (any more)")
    names = [listing.paths[identity] for identity in request.files]
    roots = {root.path for root in listing.roots}
    files = [Path(name) for name in names if not is_url(name) and name not in roots]
    with workspace.jobs.writing(), open_index(settings, reembed=True) as opened:
        patterns = opened.keep_out(files) if request.keep_out and files else []
        removed = opened.remove([name if is_url(name) else Path(name) for name in names], missing_ok=True)
    delete_copies(settings, names)
    workspace.pages.forget()
    quoting = kept.about(kept.kept(settings), removed) if removed else []
    deleted = [item for item in quoting if request.quoting and item.kind in QUOTING]
    kept.delete(settings, deleted)
    left = [item for item in quoting if item not in deleted]
    return {
        "removed": len(removed),
        "kept_out": [safe_line(pattern) for pattern in patterns],
        "deleted": kept.counted(deleted),
        "quoting": kept.counted(left),
    }
