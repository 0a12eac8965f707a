"""Show the report of a sync, the contents of an index, and the list of its files in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from local_rag.core.documents import Skipped, SyncReport
from local_rag.core.progress import time_left
from local_rag.index.catalog import IndexStatus
from local_rag.index.parse.ocr import to_read
from local_rag.index.path_labels import PathLabel
from local_rag.index.store.values import IndexedFile, Root
from local_rag.terminal.console import PlainTable
from local_rag.text.display import (
    for_terminal,
    format_bytes,
    joined,
    kinds_in_words,
    local_time,
    on_one_line,
    plural,
    short_path,
    shorten,
    waiting_line,
)

_SHOWN = 10
"""The maximum number of paths to list under one reason; more are shown as folders or a count."""

_AT_ONCE = 500
"""The lines to print together, because one table of ten thousand rows would be slow."""


def report_parts(
    report: SyncReport,
    pages_left: int = 0,
    label: PathLabel = short_path,
    *,
    all_warnings: bool = False,
    command: str = "local-rag index",
) -> Iterator[RenderableType]:
    """Yield 12 new, 2 updated, 340 unchanged, 1 removed, 3 skipped; then files left out or removed, with reasons.

    Files that earlier reports named as skipped are only counted, unless `all_warnings`. `command` makes the missing
    vectors.
    """
    counts = {
        "new": len(report.new),
        "updated": len(report.updated),
        "unchanged": report.unchanged,
        "removed": len(report.removed),
        "skipped": len(report.skipped),
    }
    yield Text(", ").join(Text(f"{count:,} {name}", "" if count else "dim") for name, count in counts.items())
    if line := _passages(report, command):
        yield line
    for root, patterns in report.excludes.items():
        left_out = f"Left out of {short_path(root)} by --exclude: {_patterns(patterns)}"
        yield f"{left_out} (--no-exclude PATTERN takes one back)"
    for root in report.empty:
        yield f"{short_path(root)} holds no file to index"
    if report.ignored:
        yield f"Not indexed, because local-rag does not read these kinds of files: {kinds_in_words(report.ignored)}"
    yield from _scans(report, command, label)
    told = {file.path for file in (*report.forgotten, *report.skipped)}  # unreadable files are listed below
    missing = [Skipped(path, "not there any more") for path in report.removed if path not in told]
    yield from _reasons("Removed from the index", [*missing, *report.forgotten], label)
    new = [file for file in report.skipped if file.new or all_warnings]
    yield from _reasons("Skipped, wholly or in part", sorted(new, key=lambda file: not file.new), label, all_warnings)
    if old := len(report.skipped) - len(new):
        yield f"{plural(old, 'file')} skipped as before: the same command with --all-warnings says why"
    yield from _reasons("Not looked into, so what was indexed is kept (--prune removes it)", report.kept, label)
    if pages_left:
        yield f"{plural(pages_left, 'web page')} left as indexed: pages are fetched only when they are named."


def _passages(report: SyncReport, command: str) -> str:
    """Return the results of both phases: "7,629 passages of text, 7,200 embedded; 31 of 40 documents with a date"."""
    parts = [f"{report.embedded:,} embedded"] if report.embedded else []
    parts += [f"{report.reused:,} with a vector of before"] if report.reused else []
    parts += [f"{report.not_embedded:,} without a vector yet ({command})"] if report.not_embedded else []
    stored = [f"{plural(report.chunks, 'passage')} of text"] if report.chunks else []
    dated = f"{report.dated:,} of {plural(report.documents, 'document')} with a date" if report.chunks else ""
    return "; ".join(filter(None, (", ".join([*stored, *parts]), dated)))


def _scans(report: SyncReport, command: str, label: PathLabel) -> Iterator[str]:
    """Yield what OCR has read, and the command that reads the other pages without a text layer and images."""
    if report.scans_read:
        yield f"{plural(report.scans_read, 'page')} read by OCR"
    if report.scans or report.images:
        waiting = [plural(report.scans, "page") + " without a text layer"] if report.scans else []
        waiting += [plural(len(report.images), "image")] if report.images else []
        yield f"OCR would read {joined(waiting)}: {to_read(command)}"
        yield from (f"  {line}" for line in _listed(report.images, label, _SHOWN))


def _patterns(patterns: Iterable[str]) -> str:
    return joined(shorten(on_one_line(pattern), 60) for pattern in patterns)


def _reasons(title: str, files: Iterable[Skipped], label: PathLabel, whole: bool = False) -> Iterator[RenderableType]:
    """Yield the files under their reasons; many files are counted by folder, unless `whole`."""
    groups: dict[str, list[str]] = {}
    for file in files:
        groups.setdefault(on_one_line(file.reason), []).append(file.path)
    table = PlainTable(gap=1)
    for reason, paths in groups.items():
        if len(paths) == 1:
            table.add_row(" ", Text.assemble(label(paths[0]), (f": {reason}", "yellow")))
            continue
        table.add_row(" ", Text.assemble((reason, "yellow"), f" ({plural(len(paths), 'file')})"))
        for line in _listed(paths, label, len(paths) if whole else _SHOWN):
            table.add_row(" ", Text(f"  {line}"))
    if groups:
        yield f"{title}:"
        yield table


def _listed(paths: Sequence[str], label: PathLabel, shown: int) -> list[str]:
    """Return each path, or if there are too many each folder with its count."""
    if len(paths) <= shown:
        return [label(path) for path in paths]
    folders = Counter(label(path).rpartition("/")[0] or "." for path in paths)
    lines = [f"{plural(count, 'file')} in {folder}" for folder, count in folders.most_common(shown)]
    rest = len(folders) - len(lines)
    return [*lines, f"and more in {plural(rest, 'folder')} (--json names all)"] if rest else lines


def status_table(status: IndexStatus, runtime: str, command: str = "local-rag index", changed: int = 0) -> PlainTable:
    """Return the contents of an index, and what computes the vectors of questions, for `local-rag status`.

    `command` makes the missing vectors, and updates the files that are `changed` or gone.
    """
    pages = f" and {plural(status.pages, 'web page')}" if status.pages else ""
    parts = f"{plural(status.documents, 'document')}, {plural(status.chunks, 'passage')}"
    vectors = "ready" if status.cache_fresh else "their codes will be made at the next search"
    rows = {
        "index": short_path(status.path),
        "files": f"{status.files:,}{pages} ({parts})",
        "about": on_one_line(for_terminal(status.about or f"{status.summary} (from the catalog)")),
        "from": "\n".join(map(_root, status.root_options)) or "none",
        "size": format_bytes(status.bytes),
        "dates": f"{status.dated:,} of {plural(status.documents, 'document')} with a date",
        "last sync": status.last_sync or "never",
        "embedder": f"{status.embedder} ({plural(status.dimension, 'dimension')})",
        "runtime": runtime,
        "passages": f"at most {status.chunk_size} tokens, overlap {status.chunk_overlap}",
        "embedded": _embedded(status, command),
        "fingerprint": status.fingerprint,
        "vectors": vectors if status.embedded else "none yet",
    }
    if changed:
        rows["changed"] = f"{plural(changed, 'file')} changed or gone since: {command}"
    phases = {"text": status.text_pace, "embedding": status.embedding_pace}
    if paces := [f"{name} {_pace(pace)}" for name, pace in phases.items() if pace]:
        rows["last pace"] = ", ".join(paces)
    table = PlainTable()
    for name, value in rows.items():
        table.add_row(Text(name, "dim"), value)
    return table


def _embedded(status: IndexStatus, command: str) -> str:
    if status.embedded >= status.chunks:
        return "all passages" if status.chunks else "nothing to embed"
    line = waiting_line(status.embedded, status.chunks)
    if status.embedded:
        share = 100 * status.embedded // status.chunks
        count = f"{status.embedded:,} of {plural(status.chunks, 'passage')} embedded ({share} %)"
        line = f"{count}; the others are found by their words only"
    left = ""
    if status.seconds_left is not None:
        left = f"\n{time_left(status.seconds_left)} at the pace of the last run ({_pace(status.embedding_pace)})"
    return f"{line}{left}\n{command}"


def _pace(pace: float) -> str:
    return f"{pace:,.0f} passages/s" if pace >= 10 else f"{pace:.1f} passages/s"


def _root(root: Root) -> str:
    """Return a root with the options that the index remembers for it."""
    options = [f"without {_patterns(root.excludes)}"] if root.excludes else []
    options += ["with secrets"] if root.secrets else []
    options += ["following links out of it"] if root.follow_links else []
    return short_path(root.path) + (f" ({', '.join(options)})" if options else "")


def file_lines(files: Sequence[IndexedFile], label: PathLabel) -> Iterator[Text]:
    """Yield size, change, passages, path, title, author and date of each file, one file per line.

    Below a file stand the parts that could not be read, and how much of it is not embedded yet.
    """
    if not files:
        yield Text("nothing is indexed")
        return
    head = ("size", "changed", "passages", "file")
    days = [datetime.fromtimestamp(file.modified or file.indexed_at) for file in files]  # a web page has no `modified`
    rows = [
        (format_bytes(file.size), f"{day:%Y-%m-%d}", f"{file.chunks:,}", label(file.path))
        for file, day in zip(files, days, strict=True)
    ]
    widths = [max(map(cell_len, column)) for column in zip(head, *rows, strict=True)]
    yield Text(_line(head, widths), "dim")
    for first in range(0, len(files), _AT_ONCE):
        lines = Text()
        for file, row in zip(files[first : first + _AT_ONCE], rows[first : first + _AT_ONCE], strict=True):
            lines.append(_line(row, widths))
            title = "" if file.title == row[-1].rpartition("/")[2] else shorten(on_one_line(file.title), 80)
            about = (title, shorten(on_one_line(file.author), 40), local_time(file.date))
            lines.append(f"  {', '.join(filter(None, about))}" if any(about) else "", "dim")
            lines.append("\n")
            for warning in filter(None, (*file.warnings, waiting_line(file.embedded, file.chunks))):
                lines.append(f"{' ' * (sum(widths[:3]) + 6)}  {on_one_line(warning)}\n", "yellow")
        lines.rstrip()
        yield lines


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return a line with the first three columns aligned to the right and the last to the left."""
    return "  ".join([*(cell.rjust(width) for cell, width in zip(cells[:3], widths, strict=False)), cells[3]])
