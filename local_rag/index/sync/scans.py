"""Pages that are pictures, after all text: OCR reads one after the other, and each is stored in a step of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.documents import Skipped
from local_rag.core.errors import FileSkipped, reason_of
from local_rag.core.protocols import Embedder
from local_rag.index.parse.ocr import PAGES, SECONDS
from local_rag.index.parse.parser import Parser
from local_rag.index.store import reads, writes
from local_rag.index.store.schema import FileRow, IndexSettings
from local_rag.index.store.store import Store
from local_rag.index.sync.read import chunks_of, fingerprinted
from local_rag.index.sync.report import Pace, Progress


def read_scans(
    store: Store,
    embedder: Embedder,
    settings: IndexSettings,
    languages: Sequence[str],
    progress: Callable[[Progress], None],
) -> tuple[int, list[Skipped]]:
    """Read every page that waits, those of the shortest files first; how many were read, and what could not be.

    What is wrong with a page itself is remembered; where time or memory were short it waits for the next run. The
    caller holds the writer's lock. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
    """
    files, read, failed = store.read(reads.scanned), 0, list[Skipped]()
    total = sum(len(file.scans) for file in files)
    pace, done = Pace(total), 0
    progress(pace.progress(0, 0, total, 0, "", phase="scans"))
    with Parser(SECONDS) as parser:
        for file in files:
            why = _why_not(file)
            for page in file.scans:
                cancel.check()
                try:
                    if why:
                        raise FileSkipped(why, passing=True)
                    document = parser.read_page(Path(file.path), page, languages)
                except FileSkipped as error:
                    failed.append(Skipped(file.path, f"page {page} was not read: it {error}"))
                    warnings = file.warnings if error.passing else (*file.warnings, failed[-1].reason)
                    found, waits = [], error.passing
                else:
                    found, waits, warnings = [(document, chunks_of(document, embedder, settings))], False, file.warnings
                    read += 1
                if not waits:
                    file = replace(file, warnings=warnings, scans=tuple(each for each in file.scans if each != page))
                    with store.writing() as db:
                        writes.write(db, file, found, more=True)
                        writes.finish(db, file)
                done += 1
                if done % PAGES == 0:
                    parser.close()
                progress(pace.progress(done, done, total, done, file.path, phase="scans"))
    return read, failed


def _why_not(file: FileRow) -> str:
    """Why the pages of a file wait on: it is gone, or another than the one that was indexed."""
    try:
        same = fingerprinted(file.path, file.root).sha256 == file.sha256[:64]
    except OSError as error:
        return f"cannot be opened ({reason_of(error)})"
    return "" if same else "has changed since it was indexed"
