"""Index files, folders and named pages, and show the progress, for `local-rag index`, the demo and `eval`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from local_rag.config.settings import Settings
from local_rag.config.values import Ocr
from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, SyncReport
from local_rag.core.errors import IndexBusy, LocalRagError, UsageError
from local_rag.core.progress import Display, time_left
from local_rag.index.parse.ocr import READERS, missing, to_read
from local_rag.index.store.opening import has_index
from local_rag.runtime.opening import open_embedder, open_index, page_reader, status_of
from local_rag.text.display import joined, kinds_in_words, plural, short_path, shorten, waiting_line
from local_rag.text.languages import NAMES

if TYPE_CHECKING:
    from local_rag.core.protocols import OwnEmbedder
    from local_rag.index.index import Index
    from local_rag.index.parse.loaders import Loader
    from local_rag.index.sync.pages import ReadPage
    from local_rag.index.sync.report import Progress

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """Describe what to index: files, folders and pages, or without any all files of the index.

    `excludes` are patterns as in .gitignore, which stay in force until `no_excludes` removes them. `secrets` includes
    private keys and .env files. `follow_links` includes targets of links that leave a folder (None: as before). `prune`
    removes files that cannot be reached now. `retry` tries unreadable files again. `reembed` makes new vectors from the
    stored text. `no_embed` updates the text and makes no vectors; `embed_only` makes only vectors. `about` describes
    the contents of the index; an empty text restores the catalog's summary. `loaders` of a program read files by their
    suffix, see `Index.sync`.
    """

    paths: Sequence[Path] = ()
    urls: Sequence[str] = ()
    excludes: Sequence[str] = ()
    no_excludes: Sequence[str] = ()
    secrets: bool = False
    follow_links: bool | None = None
    prune: bool = False
    retry: bool = False
    reembed: bool = False
    no_embed: bool = False
    embed_only: bool = False
    about: str | None = None
    loaders: Mapping[str, Loader] = field(default_factory=dict)

    @property
    def roots(self) -> list[Path]:
        """Return the paths, absolute and with links resolved; raise UsageError for an invalid path."""
        from local_rag.index.sync.roots import real_path

        return [real_path(path) for path in self.paths]

    def check(self) -> None:
        """Raise UsageError for two options that exclude each other."""
        for other, makes in (("--embed-only", self.embed_only), ("--reembed", self.reembed)):
            if self.no_embed and makes:
                raise UsageError(
                    f"--no-embed makes no vectors, and {other} makes them: they exclude each other",
                    hint=f"local-rag index {other}",
                )
        if self.embed_only and any(vars(replace(self, embed_only=False, about=None)).values()):
            raise UsageError(
                "--embed-only reads no file and no page, so it takes none, and no option about them",
                hint="local-rag index --embed-only",
            )


_OF_BOTH = {each.name for each in fields(SyncReport)} - {"ignored", "excludes", "not_embedded", "scans"}
"""The figures that files and pages add up; only files are ignored and excluded, and the last report counts vectors."""


def index_files(
    settings: Settings,
    request: Request,
    display: Display,
    read_page: ReadPage | None = None,
) -> tuple[SyncReport, int]:
    """Bring the index up to date; return the report, and the number of pages that were left as they are.

    Pages are fetched only if they are named; `read_page` fetches them, by default from the public web. Ctrl-C is
    answered at once: nothing new begins, and work in progress may end. Raise UsageError for options that exclude each
    other, for a path that neither exists nor is indexed, and for URLs if the settings keep this index from the web.
    """
    request.check()
    try:
        return stoppable(lambda: _index_files(settings, request, display, read_page), display)
    except KeyboardInterrupt:
        with suppress(LocalRagError):
            status = status_of(settings)
            if status and (line := waiting_line(status.embedded, status.chunks)):
                display.say(f"{line}; the rest: {command_of(settings)}")
        raise


def stoppable(work: Callable[[], T], display: Display) -> T:
    """Do work that Ctrl-C stops as soon as what is in hand is finished, which is said then."""
    said = "stopping: what is in hand is finished, nothing new begins…"
    return cancel.stoppable(work, lambda: display.say(said))


def command_of(settings: Settings) -> str:
    """Return the command that brings the configured index up to date."""
    index = settings.values.index
    return "local-rag index" if index == "default" else f"local-rag index --index {shlex.quote(index)}"


def _index_files(
    settings: Settings, request: Request, display: Display, read_page: ReadPage | None
) -> tuple[SyncReport, int]:
    roots, urls, is_new = request.roots, request.urls, not has_index(settings.index_path)
    with _opened(settings, request, display) as (index, embedder):
        if request.about is not None:
            index.set_about(request.about)
        if request.embed_only:
            return _embedded(index, SyncReport(), display, gives_way=False), 0
        if request.reembed:
            with sync_progress(display) as progress:
                index.reembed(progress)
        report = SyncReport()
        if roots or not urls:
            images = READERS if settings.values.ocr.enabled else {}
            report = _synced(index, replace(request, loaders={**images, **request.loaders}), display)
            if is_new and not urls and report.empty and not (report.new or report.skipped or report.kept):
                raise NothingToIndex(report)
        if urls:
            fetch = read_page or page_reader(settings.values.web.page_seconds)

            def read(url: str) -> LoadedDocument:
                display.say(f"fetching {url}")
                return fetch(url)

            pages = index.sync_pages(urls, read, prune=request.prune, embed=False)
            joint = {name: getattr(report, name) + getattr(pages, name) for name in _OF_BOTH}
            report = replace(report, **joint, not_embedded=pages.not_embedded, scans=pages.scans)
        if report.chunks:
            display.say(_searchable(index, report))
            _say_unread(index, embedder, display)
        if not request.no_embed:
            report = _embedded(index, report, display)
        report = _with_scans(index, settings.values.ocr, report, display, embed=not request.no_embed)
        return report, 0 if roots or urls else index.status().pages


class NothingToIndex(UsageError):
    """Report that no named folder contains a file to index."""

    def __init__(self, report: SyncReport) -> None:
        others = sum(report.ignored.values())
        left = f", only {plural(others, 'file')} of other kinds: {kinds_in_words(report.ignored)}" if others else ""
        folders = joined(map(short_path, report.empty))
        kinds = "Markdown, text, HTML, PDF, DOCX, EPUB, mail, CSV, JSON and code"
        super().__init__(
            f"{folders} {'holds' if len(report.empty) == 1 else 'hold'} no file of a kind that is read{left}",
            hint=to_read("local-rag index FOLDER") if report.images else f"local-rag index FOLDER   reads {kinds}",
        )


def _searchable(index: Index, report: SyncReport) -> str:
    """Return a line such as: searchable: 509 files, 12,345 passages (9.2 s)"""
    status = index.status()
    pages = [plural(status.pages, "web page")] if status.pages else []
    counts = [plural(status.files, "file"), *pages, plural(status.chunks, "passage")]
    return f"searchable: {', '.join(counts)} ({report.text_seconds:.1f} s)"


def _say_unread(index: Index, embedder: OwnEmbedder, display: Display) -> None:
    if language := index.unread_language(embedder.reads):
        said = f"most documents are in {NAMES[language]}, which the embedder {embedder.name} does not read"
        display.say(f"{said}: they are found by their words")
        display.say("  local-rag models lists embedders that read it; then: local-rag index --reembed --embedder NAME")


def _embedded(index: Index, report: SyncReport, display: Display, *, gives_way: bool = True) -> SyncReport:
    """Embed all passages and return the report; raise IndexBusy unless it `gives_way` to another process."""
    began, count = time.monotonic(), 0
    try:
        with sync_progress(display) as progress:
            count = index.embed(progress)
    except IndexBusy:
        if not gives_way:
            raise
        display.say("another process writes to this index now: what it leaves without a vector, the next index embeds")
    with_vector, chunks = index.embedded_count()
    seconds = report.seconds + time.monotonic() - began
    embedded = report.embedded + count
    return replace(report, embedded=embedded, not_embedded=chunks - with_vector, seconds=seconds)


MEASURED = 3
"""The number of pages after which the time for the others is estimated."""


def _with_scans(index: Index, ocr: Ocr, report: SyncReport, display: Display, *, embed: bool) -> SyncReport:
    """Read waiting pages by OCR if it is enabled, and return the report; `embed` makes their vectors too."""
    if not (ocr.enabled and report.scans):
        return report
    shown = f"; the first {MEASURED} show how long that takes" if report.scans > MEASURED else ""
    display.say(f"{plural(report.scans, 'page')} for OCR{shown}")
    began = time.monotonic()
    with sync_progress(display) as show:

        def tell(progress: Progress) -> None:
            show(progress)
            if progress.done == MEASURED < progress.total:
                seconds = progress.seconds / MEASURED
                left = time_left(seconds * (progress.total - MEASURED))
                display.say(f"OCR takes {seconds:.1f} s per page: {left}")
                display.say("  Ctrl-C loses at most the page in hand")

        report = index.read_scans(report, ocr.languages, tell)
    report = replace(report, seconds=report.seconds + time.monotonic() - began)
    return _embedded(index, report, display) if embed and report.scans_read else report


@contextmanager
def _opened(settings: Settings, request: Request, display: Display) -> Iterator[tuple[Index, OwnEmbedder]]:
    """Check the request, and open the index and its embedder."""
    from local_rag.index.index import Index
    from local_rag.index.sync.roots import check_patterns

    roots = request.roots
    if request.urls and settings.keeps_from_the_web(str(settings.index_path)):
        raise UsageError(
            f"questions about the index {settings.values.index} never go to the web ({settings.origin['web.never']})",
            hint="take it out of web.never, or put the pages into another index: --index NAME",
        )
    check_patterns(request.excludes)
    if settings.values.ocr.enabled and (command := missing(settings.values.ocr.languages)):
        raise UsageError("what reads pages by OCR is not installed", hint=command)
    if not has_index(settings.index_path):
        if roots and not any(path.exists() for path in roots):
            raise _no_such_path(roots[0])
        if request.no_excludes:
            raise UsageError(
                f"{request.no_excludes[0]!r} is not excluded: nothing is indexed yet", hint="local-rag index PATH…"
            )
    embedder = open_embedder(settings, display, quick=True)
    try:
        with open_index(settings, embedder, create=bool(roots or request.urls), reembed=request.reembed) as index:
            for path in roots:
                if not path.exists() and str(path) not in index.status().roots:
                    raise _no_such_path(path)
            yield index, embedder
    except NothingToIndex:  # the index was made for this call
        Index.destroy(settings.index_path)
        raise


def _no_such_path(path: Path) -> UsageError:
    return UsageError(f"there is no file or folder {short_path(path)}", hint="local-rag index FOLDER")


def named(words: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Return the paths and the URLs that a person named."""
    from local_rag.text.display import is_url

    paths = [Path(word) for word in words if not is_url(word)]
    return paths, [word for word in words if is_url(word)]


def _synced(index: Index, request: Request, display: Display) -> SyncReport:
    with sync_progress(display) as progress:
        return index.sync(
            request.roots or None,
            excludes=request.excludes,
            no_excludes=request.no_excludes,
            secrets=request.secrets,
            follow_links=request.follow_links,
            prune=request.prune,
            retry=request.retry,
            loaders=request.loaders,
            progress=progress,
            embed=False,
        )


@contextmanager
def sync_progress(display: Display) -> Iterator[Callable[[Progress], None]]:
    """Give the function that a sync calls to report its progress."""
    with display.progress("reading the folders…") as show:
        yield lambda progress: show(
            progress.share, f"{progress_line(progress)}; {shorten(Path(progress.path).name, 40)}"
        )


def progress_line(progress: Progress) -> str:
    """Return the progress of a phase: 12 of 51 files, 340 passages, 410/s, about 0:10 left.

    The phase of the vectors reads: 340 of 1,345 passages embedded, 18/s, about 0:56 left. Pace and remaining time
    belong to this phase alone, and are shown once they are known.
    """
    if progress.phase == "vectors":
        line = f"{progress.done:,} of {plural(progress.total, 'passage')} embedded"
    elif progress.phase == "scans":
        line = f"{progress.done:,} of {plural(progress.total, 'page')} read by OCR"
    else:
        line = f"{progress.done:,} of {plural(progress.total, 'file')}, {plural(progress.chunks, 'passage')}"
    rate = [f"{progress.rate:.0f}/s"] if progress.rate is not None and progress.phase != "scans" else []
    left = [time_left(progress.left)] if progress.left else []
    return ", ".join([line, *rate, *left])
