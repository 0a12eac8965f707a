"""What a sync changed, and what an index holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from local_rag.core.documents import Skipped, SyncReport
from local_rag.index.path_labels import PathLabel
from local_rag.index.status import IndexStatus
from local_rag.terminal.console import PlainTable
from local_rag.text.display import format_bytes, joined, on_one_line, plural, short_path, shorten


def report_parts(report: SyncReport, pages_left: int = 0, label: PathLabel = short_path) -> Iterator[RenderableType]:
    """12 new, 2 updated, 340 unchanged, 1 removed, 3 skipped; then each skipped or kept path with its reason."""
    counts = {
        "new": len(report.new),
        "updated": len(report.updated),
        "unchanged": report.unchanged,
        "removed": len(report.removed),
        "skipped": len(report.skipped),
    }
    yield Text(", ").join(Text(f"{count:,} {name}", "" if count else "dim") for name, count in counts.items())
    if report.ignored:
        kinds = joined(
            f"{count:,} {shorten(on_one_line(suffix), 20) or 'without a suffix'}"
            for suffix, count in report.ignored.items()
        )
        yield f"Not indexed, because local-rag does not read these kinds of files: {kinds}"
    yield from _reasons("Skipped, wholly or in part", report.skipped, label)
    yield from _reasons("Could not be seen, so what was indexed is kept (--prune removes it)", report.kept, label)
    if pages_left:
        yield f"{plural(pages_left, 'web page')} left as indexed: pages are fetched only when they are named."


def _reasons(title: str, skipped: Iterable[Skipped], label: PathLabel) -> Iterator[RenderableType]:
    table = PlainTable(gap=1)
    for file in skipped:
        table.add_row(" ", Text.assemble(label(file.path), (f": {file.reason}", "yellow")))
    if table.rows:
        yield f"{title}:"
        yield table


def status_table(status: IndexStatus, runtime: str) -> PlainTable:
    """What `local-rag status` says of an index, and of what computes the vectors of questions."""
    pages = f" and {plural(status.pages, 'web page')}" if status.pages else ""
    parts = f"{plural(status.documents, 'document')}, {plural(status.chunks, 'passage')}"
    rows = {
        "index": short_path(status.path),
        "files": f"{status.files:,}{pages} ({parts})",
        "from": "\n".join(map(short_path, status.roots)) or "none",
        "size": format_bytes(status.bytes),
        "last sync": status.last_sync or "never",
        "embedder": f"{status.embedder} ({plural(status.dimension, 'dimension')})",
        "runtime": runtime,
        "passages": f"at most {status.chunk_size} tokens, overlap {status.chunk_overlap}",
        "fingerprint": status.fingerprint,
        "vectors": "ready" if status.cache_fresh else "their codes will be made at the next search",
    }
    table = PlainTable()
    for name, value in rows.items():
        table.add_row(Text(name, "dim"), value)
    return table
