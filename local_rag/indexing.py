"""Indexing as a door does it: progress on stderr, the report on stdout. Behind `local-rag index` and build_index.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config import Settings
from local_rag.errors import UsageError
from local_rag.rag import open_index
from local_rag.show import report_lines, short_path, write, write_json
from local_rag.text import plural, printable, shorten

if TYPE_CHECKING:
    from rich.console import Console

    from local_rag.index.index import Index
    from local_rag.index.sync import Progress
    from local_rag.types import SyncReport

LINE_EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal to draw a bar in."""


def index_files(
    settings: Settings,
    paths: Sequence[Path],
    console: Console,
    *,
    excludes: Sequence[str] = (),
    secrets: bool = False,
    prune: bool = False,
    reembed: bool = False,
    json: bool = False,
) -> int:
    """Bring the index up to date with these paths (with none: all it knows) and write the report; the exit code.

    Raises UsageError for a path that does not exist and is not indexed either.
    """
    roots = [path.expanduser().absolute() for path in paths]
    with open_index(settings, create=bool(roots), reembed=reembed) as index:
        known = index.status().roots
        for path in roots:
            if not path.exists() and str(path) not in known:
                raise UsageError(f"there is no file or folder {short_path(path)}", hint="local-rag index FOLDER")
        if not roots and not known and not reembed:
            raise UsageError("nothing was indexed before", hint="local-rag index FOLDER")
        if reembed:
            with showing(console) as progress:
                index.reembed(progress)
        report = sync(index, roots, console, excludes=excludes, secrets=secrets, prune=prune)
    if json:
        write_json(report)
        return 0
    for line in report_lines(report):
        write(line)
    return 0


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
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("indexing"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("files, {task.fields[chunks]:,} passages, {task.fields[rate]:.0f}/s,"),
        TimeRemainingColumn(),
        TextColumn("left  {task.fields[path]}", style="dim"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, chunks=0, rate=0.0, path="reading the folders…")

        def show(progress: Progress) -> None:
            rate = progress.chunks / progress.seconds if progress.seconds else 0.0
            name = printable(shorten(Path(progress.path).name, 40)) if progress.path else ""
            bar.update(
                task, completed=progress.done, total=progress.total, chunks=progress.chunks, rate=rate, path=name
            )

        yield show


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
