"""Provide the demo: a handbook that ships with the package, cases about it, and its index."""

from __future__ import annotations

import shlex
from pathlib import Path

from local_rag.config.settings import Settings
from local_rag.core.documents import SyncReport
from local_rag.core.errors import IndexMismatch, UsageError
from local_rag.core.progress import Display
from local_rag.index.index import Index
from local_rag.runtime.indexing import Request, index_files
from local_rag.runtime.opening import open_index, status_of

DOCUMENTS = Path(__file__).parent / "documents"
SAVED_PAGES = Path(__file__).parent / "saved-pages"
"""The saved pages that take the place of the web in the demo."""

INDEX = "demo"
CASES = Path(__file__).parent / "cases.jsonl"

ANSWERED = "What does CRAG do when every retrieved document is irrelevant?"
NOT_ANSWERED = "What is the notice period in my rental contract?"
ON_SAVED_PAGES = "What does HyDE embed in place of the question?"
"""The handbook answers the first question, nothing answers the second, and only the saved pages answer the third."""


def index_demo(settings: Settings, display: Display) -> SyncReport:
    """Index the handbook, or update its index; `settings` name the index, usually `INDEX`.

    An older demo's index with another embedder or chunk size is replaced. Raise UsageError if the index contains other
    files.
    """
    path, status = settings.index_path, status_of(settings)
    if status and set(status.roots) - {str(DOCUMENTS.resolve())}:
        raise UsageError(
            f"the index '{INDEX}' holds other files, so the demo cannot use that name",
            hint=f"mv {shlex.quote(str(path))} {shlex.quote(f'{path}-mine')} && local-rag demo",
        )
    if status:
        try:
            open_index(settings).close()
        except IndexMismatch:
            Index.destroy(path)
    return index_files(settings, Request([DOCUMENTS]), display)[0]
