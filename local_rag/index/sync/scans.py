"""Pages that are pictures, after all text: OCR reads one after the other, and each is stored in a step of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.documents import Skipped, SyncReport
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.ocr import PAGE_SECONDS, PAGES
from local_rag.index.parse.parser import Parser
from local_rag.index.prepare import Chunker
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import NO_TEXT, SCAN_SECONDS
from local_rag.index.sync.report import Pace, Tell


def read_scans(
    store: Store, chunks_of: Chunker, report: SyncReport, languages: Sequence[str], tell: Tell
) -> SyncReport:
    """Read every page that waits for OCR, those of the shortest files first, and return the report with what came of
    them.

    What is wrong with a page itself is remembered; where time or memory were short it waits for the next run. The
    caller holds the writer's lock. Raises DiskFull, IndexBusy and Stopped; what is committed stays.
    """
    files = {file.path: file for file in store.scanned()}
    pages = [(path, page) for path, file in files.items() for page in file.scans]
    pace, failed, began = Pace(len(pages)), list[Skipped](), time.monotonic()
    with Parser(PAGE_SECONDS) as parser:
        for done, (path, page) in enumerate(pages):
            cancel.check()
            tell(pace.progress(done, done, len(pages), done, path, phase="scans"))
            if done % PAGES == 0:
                parser.close()
            file, found = files[path], []
            try:
                document = parser.read_page(Path(path), page, languages)
                found.append((document, chunks_of(document)))
            except FileSkipped as error:
                failed.append(Skipped(path, f"page {page} was not read: it {error}"))
                if error.passing:
                    continue
                file = replace(file, warnings=(*file.warnings, failed[-1].reason))
            files[path] = file = replace(file, scans=tuple(each for each in file.scans if each != page))
            with store.writing():
                store.replace(file, found, more=True)
                store.finish(file)
                store.set_meta({SCAN_SECONDS: f"{(time.monotonic() - began) / (done + 1):.3g}"})
    told = [file for file in report.skipped if not file.reason.endswith(NO_TEXT)]
    left = sum(len(file.scans) for file in files.values())
    return replace(report, skipped=(*told, *failed), scans=left, scans_read=len(pages) - len(failed))
