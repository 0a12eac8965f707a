"""An index: what it holds, from where, and what was skipped; brought up to date, and files taken out of it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends
from pydantic import Field

from local_rag.core.documents import Skipped, SyncReport
from local_rag.core.errors import IndexMissing, NotFound
from local_rag.core.serialization import to_plain
from local_rag.diagnostics.demo import INDEX as SAMPLE
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import NO_TEXT, OF_OTHER_KINDS
from local_rag.runtime.dropped import delete_copies
from local_rag.server.answers import file_id
from local_rag.server.auth import Asking, Caller, person_only
from local_rag.server.documents import located
from local_rag.server.errors import ApiError, hint_view
from local_rag.server.folders import Below, allowed_folder, allowed_roots
from local_rag.server.indexing import indexed
from local_rag.server.jobs import Job, JobEvent
from local_rag.server.listings import FileListing, safe_line
from local_rag.server.responses import Body, job_response
from local_rag.server.workspace import Here, Workspace
from local_rag.text.display import home_path, is_url, plural

LISTED = 100
"""Files of a report that are named."""

ACTIONS = (
    (NO_TEXT, "ocr"),
    ("may hold secrets", "secrets"),
    ("link out of the indexed folder", "follow_links"),
    ("took longer than", "retry"),
    ("the parser crashed", "retry"),
    ("of memory to read", "retry"),
)
"""What stands in the reason of a skipped file, and the field of `Sync` that reads it."""
OF_ROOT = ("secrets", "follow_links")
FIXES = (
    ("are read", "split it into smaller files"),
    (" files cannot be read", "save it as PDF, DOCX, Markdown or text beside it"),
    ("is damaged", "open it in the program that made it, and save it anew"),
    ("could not be read (damaged)", "open it in the program that made it, and save it anew"),
    ("is not Unicode", "rename it"),
    ("cannot be opened", "allow this account to read it, then check for changes"),
    ("link leads in a circle", "remove the link"),
    ("zip bomb", "unzip it yourself if you trust it, and index what is in it"),
    ("DRM", "there is none: its publisher keeps programs from reading it"),
)
"""What stands in the reason of a skipped file, and what a person can do about it."""

QUOTING = ("chat", "question", "feedback")
"""What the page deletes with a file that it quotes; the rest is a person's own work."""

router = APIRouter()


@dataclass(frozen=True)
class SkippedView:
    """What could not be indexed, wholly or (`partly`) in part, why, and what to do about it ("" for nothing).

    `action` is the field of `Sync` that reads it all the same, `root` the ID of the folder that it is in.
    """

    label: str
    reason: str
    fix: str
    action: str
    root: str
    partly: bool = False


@dataclass(frozen=True)
class RootView:
    """A folder or file that was indexed by name: what is left out of it, and whether it is there now.

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
    """A folder below which the page may index."""

    file_id: str
    label: str


@dataclass(frozen=True)
class IndexView:
    """An index as a page shows it; without one (`exists`) all counts are 0, and `hint` says how to make it.

    Of its passages (`chunks`) that many are `embedded`; `seconds_left` is what the rest takes at the last pace.
    `allowed` are the folders below which the page may index, `job` is the ID of the job that writes to an index now.
    `changed` files are not on the disk as they were indexed. `watching` says what `serve --watch` does for it
    (`state`), what that changed last, each in a line, and when in ISO 8601 (`changed`, `changed_at`; empty where
    nothing has changed since the server started); null without --watch. `ocr` says how what reads scans is installed,
    "" where it is.
    """

    index: str
    exists: bool
    allowed: Sequence[AllowedRoot]
    job: str
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
    changed: int = 0
    roots: Sequence[RootView] = ()
    skipped: Sequence[SkippedView] = ()
    watching: dict[str, str] | None = None
    ocr: Mapping[str, str] = field(default_factory=dict)


_SAME = ("pages", "documents", "chunks", "embedded", "seconds_left", "bytes", "last_sync")
"""What an index view has of the status as it is."""
WATCHED = ("state", "changed", "changed_at")
"""And of who watches it."""


class Sync(Body):
    """Which index is brought up to date; without `stream` the report alone is sent, at the end.

    For a person at the page `ocr` reads scans, `retry` reads what could not be read, and `url` is a page of the web to
    take in. Of the folder with the ID `root` `secrets` and `follow_links` take in what they say, and `take_in` what
    was left out by these patterns.
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
        """Return what the request asks for beyond looking for changes, as `runtime.indexing.Request` has it."""
        urls = [self.url] if self.url else []
        given = {"retry": self.retry, "urls": urls, "secrets": self.secrets, "no_excludes": self.take_in}
        given["follow_links"] = self.follow_links
        return {name: value for name, value in given.items() if value}


class Add(Below):
    """A folder to index; `name` names an index that is made for it, or is there.

    The root "sample" is the handbook that ships with local-rag, as the index "demo".
    """

    name: str = Field("", max_length=60, pattern=r"^([\w-][\w.-]*)?$")
    stream: bool = True


class OfIndex(Body):
    """An index by its name."""

    index: str


class Forget(Body):
    """Files, pages and roots by their IDs; `keep_out` leaves them out of an indexed folder from now on, too, and
    `quoting` deletes the chats, records and judgements that quote them.
    """

    files: Sequence[str] = Field(min_length=1, max_length=10_000)
    keep_out: bool = False
    quoting: bool = False
    index: str | None = None


@router.get("/api/index")
def index(workspace: Here, caller: Asking, index: str | None = None) -> IndexView:
    """What is indexed, from where, and what was skipped."""
    from local_rag.index.parse import ocr
    from local_rag.runtime.opening import missing

    settings = workspace.settings_of(index)
    name = safe_line(home_path(settings.values.index))
    roots = allowed_roots(workspace, index, caller)
    allowed = [AllowedRoot(key, safe_line(home_path(root))) for key, root in roots.items()]
    indexing = workspace.jobs.indexing
    job = indexing.id if indexing else ""
    try:
        listing = workspace.files.of(settings.index_path)
        status, reported = listing.status, listing.read(Store.reported)
    except IndexMissing:
        return IndexView(name, False, allowed, job, missing(settings).hint)
    kinds = {path: why.removeprefix(OF_OTHER_KINDS) for path, why in reported if why.startswith(OF_OTHER_KINDS)}
    skipped = {(path, why) for path, why in reported if not why.startswith(OF_OTHER_KINDS)}
    views = [_skipped(listing, path, why) for path, why in skipped]
    watched = workspace.watched.get(settings.index_path)
    return IndexView(
        name,
        True,
        allowed,
        job,
        "",
        about=safe_line(status.about or status.summary),
        files=sum(not is_url(path) for path in listing.files),
        **{each: getattr(status, each) for each in _SAME},
        embedder=safe_line(status.embedder),
        changed=sum(map(bool, (file.became for file in listing.read(Store.files)))),
        roots=_roots(listing, kinds),
        ocr=hint_view(ocr.missing(settings.values.ocr.languages)),
        skipped=sorted(views, key=lambda view: (view.reason, view.label.casefold())),
        watching={name: safe_line(getattr(watched, name)) for name in WATCHED} if watched else None,
    )


def _roots(listing: FileListing, not_read: Mapping[str, str]) -> list[RootView]:
    return [
        RootView(
            file_id(root.path),
            safe_line(home_path(root.path)),
            listing.counts.get(root.path, 0),
            tuple(map(safe_line, root.excludes)),
            Path(root.path).exists(),
            safe_line(not_read.get(root.path, "")),
        )
        for root in listing.roots
    ]


def _skipped(listing: FileListing, path: str, reason: str) -> SkippedView:
    """A file as a client sees it; what is in the index all the same was skipped in part."""
    fix, action = (next((what for sign, what in table if sign in reason), "") for table in (FIXES, ACTIONS))
    root = next((root.path for root in listing.roots if Path(path).is_relative_to(root.path)), "")
    reason = next((sign for sign, what in ACTIONS if what == action in OF_ROOT), reason)  # without options
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
    """A job that brings an index up to date: all of it, or these folders alone, which are known from then on.

    `options` are further ones of the request, see `Sync`.
    """
    is_new = bool(paths or sample or (options or {}).get("urls"))
    settings = workspace.settings_of(name, new=is_new)
    if not is_new:
        workspace.files.of(settings.index_path)  # raises IndexMissing before anything is made
    flags = {**workspace.flags, **({} if name is None else {"index": name}), **({"ocr__enabled": True} if ocr else {})}

    def work(job: Job) -> Generator[JobEvent]:
        yield "begun", {"id": job.id, **job.about}
        with workspace.unfinished.kept(settings.values.index, paths, sample=sample) as told:
            report = yield from indexed(job, flags, paths, told, sample=sample, options=options or {})
        workspace.pages.forget()
        job.report = report
        yield "report", _report(report, workspace.files.of(settings.index_path))

    about = {
        "index": safe_line(home_path(settings.values.index)),
        "folders": [safe_line(home_path(path)) for path in paths],
    }
    return workspace.jobs.index(Job("index", caller, about, work))


def _report(report: SyncReport, listing: FileListing) -> dict[str, Any]:
    """What a sync has done, in counts; files are named where something is wrong with them, and the first that left."""

    def views(files: Sequence[Skipped]) -> list[SkippedView]:
        return [_skipped(listing, file.path, file.reason) for file in files]

    names = ("unchanged", "chunks", "embedded", "not_embedded", "seconds")
    counts = {name: len(getattr(report, name)) for name in ("new", "updated", "removed")}
    return {
        **counts,
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
async def resume(request: OfIndex, workspace: Here, caller: Asking) -> Any:
    """Go on with the indexing that the end of a server has cut off."""

    def begin() -> Job:
        cut_off = workspace.unfinished.all().get(request.index)
        if cut_off is None:
            raise NotFound("the indexing of this index has ended")
        return synced(workspace, caller, request.index, [*map(Path, cut_off["paths"])], sample=cut_off["sample"])

    return await job_response(begin, workspace.limits, stream=True)


@router.post("/api/index/delete")
def delete(request: OfIndex, workspace: Here) -> dict[str, int]:
    """Delete an index with the records (`runs`) of questions about it, and the copies of what was dropped for it."""
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
    """Take files out of the index: how many were `removed`, what is `kept_out` from now on, what still quotes them.

    `deleted` counts what quoted them and is deleted, `quoting` what is left of that.
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
