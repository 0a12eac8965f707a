"""Indexing as a door does it: progress on stderr, the report on stdout. Behind `local-rag index` and build_index.py."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config.settings import Settings
from local_rag.core.documents import SyncReport
from local_rag.core.errors import FileSkipped, UsageError
from local_rag.runtime.rag import open_embedder, open_index
from local_rag.runtime.run import loading
from local_rag.terminal.show import plain, report_lines, short_path, write, write_json
from local_rag.text.display import plural, printable, shorten

if TYPE_CHECKING:
    from rich.console import Console

    from local_rag.index.embed.embedder import SentenceTransformerEmbedder
    from local_rag.index.embed.encoders import Precision
    from local_rag.index.index import Index
    from local_rag.index.sync.pages import Read
    from local_rag.index.sync.sync import Progress
    from local_rag.web.fetch import Fetcher

LEAST_SHARE = 0.02
"""Share of the bytes from which a time left is worth saying."""

LINE_EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal to draw a bar in."""

_COMMENT = re.compile(r"(?:^|\s)#.*")


def index_files(
    settings: Settings,
    paths: Sequence[Path],
    console: Console,
    *,
    urls: Sequence[str] = (),
    excludes: Sequence[str] = (),
    secrets: bool = False,
    prune: bool = False,
    reembed: bool = False,
    json: bool = False,
    fetcher: Fetcher | None = None,
) -> int:
    """Bring the index up to date with these paths and URLs and write the report; the exit code.

    With neither, all files that it knows are brought up to date. Pages are fetched only when they are named; tests give
    a `fetcher` of their own. Raises UsageError for a path that does not exist and is not indexed either, and for URLs
    where the settings keep this index from the web.
    """
    if urls:
        _may_go_to_the_web(settings)
    roots = [path.expanduser().absolute() for path in paths]
    if roots and not any(path.exists() for path in roots) and not (settings.index_path / "index.sqlite").exists():
        raise UsageError(f"there is no file or folder {short_path(roots[0])}", hint="local-rag index FOLDER")
    embedder = saying(settings, console, "bf16")
    with open_index(settings, embedder, create=bool(roots or urls), reembed=reembed) as index:
        for path in roots:
            if not path.exists() and str(path) not in index.status().roots:
                raise UsageError(f"there is no file or folder {short_path(path)}", hint="local-rag index FOLDER")
        if reembed:
            with showing(console) as progress:
                index.reembed(progress)
        report = SyncReport()
        if roots or not urls:
            report = sync(index, roots, console, excludes=excludes, secrets=secrets, prune=prune)
        if urls:
            report = _joined(report, index.sync_pages(urls, reader(settings, console, fetcher), prune=prune))
        left = 0 if roots or urls else index.status().pages
    _report(report, left, json=json)
    return 0


def _report(report: SyncReport, left: int, *, json: bool) -> None:
    if json:
        write_json({**plain(report), "pages_left": left})
        return
    for line in report_lines(report):
        write(line)
    if left:
        write(f"{plural(left, 'web page')} left as indexed: pages are fetched only when they are named.")


def named(words: Sequence[str], listed: Path | None = None) -> tuple[list[Path], list[str]]:
    """The paths and the URLs that a person named, those in the file `listed` included.

    Raises UsageError for a list that cannot be used.
    """
    from local_rag.index.urls import is_url

    paths = [Path(word) for word in words if not is_url(word)]
    urls = [word for word in words if is_url(word)]
    return paths, [*urls, *(listed_urls(listed) if listed else ())]


def listed_urls(file: Path) -> list[str]:
    """The URLs in a file, one per line; # begins a comment where a line or a word begins.

    Raises UsageError for a file that cannot be read, lists nothing, or has a line that is no URL.
    """
    from local_rag.index.urls import is_page

    hint = "one URL per line, such as https://example.org/page"
    try:
        lines = file.expanduser().read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        why = (isinstance(error, OSError) and error.strerror) or "is no text in UTF-8"
        raise UsageError(f"the list {short_path(file)} cannot be read ({why})", hint=hint) from error
    stripped = [_COMMENT.sub("", line).strip() for line in lines]
    for number, line in enumerate(stripped, start=1):
        if line and not (is_page(line.lower()) and len(line.split()) == 1):
            shown = shorten(line, 80)
            raise UsageError(f"{short_path(file)}, line {number}: {shown!r} is no URL of http or https", hint=hint)
    if not any(stripped):
        raise UsageError(f"the list {short_path(file)} names no URL", hint=hint)
    return [line for line in stripped if line]


def reader(settings: Settings, console: Console, fetcher: Fetcher | None = None) -> Read:
    """What gets a page for the index; each URL is shown before it is fetched."""
    from local_rag.index.sync.pages import WebPage
    from local_rag.web.extraction import page
    from local_rag.web.fetch import Fetcher, FetchLimits, FetchRefused

    seconds = settings.values.web.page_seconds
    used = fetcher or Fetcher(FetchLimits(seconds=seconds))

    def read(url: str) -> WebPage:
        console.print(f"fetching {printable(url)}", markup=False, highlight=False, soft_wrap=True)
        try:
            found = page(used.fetch(url), seconds)
        except FetchRefused as refused:
            raise FileSkipped(str(refused)) from refused
        return WebPage(found.url, found.title, found.text)

    return read


def _may_go_to_the_web(settings: Settings) -> None:
    if settings.kept_from_the_web:
        raise UsageError(
            f"the index {settings.values.index} never goes to the web ({settings.origin['web.never']})",
            hint="take it out of web.never, or put the pages into another index: --index NAME",
        )


def _joined(files: SyncReport, pages: SyncReport) -> SyncReport:
    return replace(
        files,
        new=files.new + pages.new,
        updated=files.updated + pages.updated,
        unchanged=files.unchanged + pages.unchanged,
        removed=files.removed + pages.removed,
        skipped=files.skipped + pages.skipped,
        kept=files.kept + pages.kept,
        chunks=files.chunks + pages.chunks,
        seconds=files.seconds + pages.seconds,
    )


def saying(settings: Settings, console: Console, precision: Precision = "f32") -> SentenceTransformerEmbedder:
    """The embedder, which tells a person before a load that takes some seconds; `precision` is that of passages."""

    def say() -> None:
        console.print(f"{loading(embedder.name)}…", markup=False, highlight=False, soft_wrap=True)

    embedder = open_embedder(settings, say, precision)
    return embedder


def sync(
    index: Index,
    roots: Sequence[Path],
    console: Console,
    *,
    excludes: Sequence[str] = (),
    secrets: bool = False,
    prune: bool = False,
) -> SyncReport:
    """One sync with its progress shown."""
    with showing(console) as progress:
        return index.sync(roots or None, excludes=excludes, secrets=secrets, prune=prune, progress=progress)


@contextmanager
def showing(console: Console) -> Iterator[Callable[[Progress], None]]:
    """A bar with files, passages, rate and time left in a terminal; elsewhere a line now and then."""
    if not console.is_terminal:
        yield _lines(console)
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(bar_width=24),
        TextColumn("{task.fields[line]}"),
        TextColumn("{task.fields[path]}", style="dim"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0, line="reading the folders…", path="")

        def show(progress: Progress) -> None:
            name = printable(shorten(Path(progress.path).name, 40)) if progress.path else ""
            bar.update(task, completed=progress.share, line=progress_line(progress), path=name)

        yield show


def progress_line(progress: Progress) -> str:
    """12 of 51 files, 340 passages, 16/s, about 2:10 left: which goes by bytes, and is said once it is known."""
    rate = progress.chunks / progress.seconds if progress.seconds else 0.0
    line = f"{progress.done:,} of {plural(progress.total, 'file')}, {plural(progress.chunks, 'passage')}, {rate:.0f}/s"
    if not LEAST_SHARE <= progress.share < 1:
        return line
    minutes, seconds = divmod(round(progress.seconds * (1 - progress.share) / progress.share), 60)
    return f"{line}, about {minutes}:{seconds:02} left"


def _lines(console: Console) -> Callable[[Progress], None]:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last < LINE_EVERY:
            return
        last = time.monotonic()
        rate = progress.chunks / progress.seconds if progress.seconds else 0.0
        line = (
            f"{progress.done:,} of {plural(progress.total, 'file')}, {plural(progress.chunks, 'passage')}, {rate:.0f}/s"
        )
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    return show
