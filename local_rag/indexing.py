"""Indexing as a door does it: progress on stderr, the report on stdout. Behind `local-rag index` and build_index.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config import Settings
from local_rag.errors import UsageError
from local_rag.rag import loading, open_embedder, open_index
from local_rag.show import report_lines, short_path, write, write_json
from local_rag.text import plural, printable, shorten

if TYPE_CHECKING:
    from rich.console import Console

    from local_rag.index.embedding import SentenceTransformerEmbedder
    from local_rag.index.index import Index
    from local_rag.index.sync import Progress
    from local_rag.types import SyncReport

LEAST_SHARE = 0.02
"""Share of the bytes from which a time left is worth saying."""

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
    if roots and not any(path.exists() for path in roots) and not (settings.index_path / "index.sqlite").exists():
        raise UsageError(f"there is no file or folder {short_path(roots[0])}", hint="local-rag index FOLDER")
    with open_index(settings, saying(settings, console), create=bool(roots), reembed=reembed) as index:
        for path in roots:
            if not path.exists() and str(path) not in index.status().roots:
                raise UsageError(f"there is no file or folder {short_path(path)}", hint="local-rag index FOLDER")
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


def saying(settings: Settings, console: Console) -> SentenceTransformerEmbedder:
    """The embedder, which tells a person before it loads: that takes some seconds."""

    def say() -> None:
        console.print(f"{loading(embedder.name)}…", markup=False, highlight=False, soft_wrap=True)

    embedder = open_embedder(settings, on_load=say)
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
