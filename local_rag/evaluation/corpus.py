"""An index of the documents that came with a set of cases, apart from a person's own indexes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.core.errors import UsageError
from local_rag.core.progress import Display
from local_rag.evaluation.formats import whole as as_whole
from local_rag.index.index import Index
from local_rag.runtime.indexing import sync_progress
from local_rag.runtime.opening import open_embedder

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.core.protocols import Embedder
    from local_rag.evaluation.cases import CaseSet
    from local_rag.index.sync.report import Progress

FOLDER = "evaluations"
"""Below the data folder: runs, and the indexes of sets."""


def indexed_corpus(cases: CaseSet, settings: Settings, display: Display, *, whole: bool = False) -> Settings:
    """`index_of` with the embedder of the settings, and its progress shown."""
    with sync_progress(display) as progress:
        return index_of(cases, settings, open_embedder(settings, display), whole=whole, progress=progress)


def index_of(
    cases: CaseSet,
    settings: Settings,
    embedder: Embedder,
    *,
    whole: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Settings:
    """The settings with an index of the set's documents, which is made unless it is there already.

    `whole` makes one passage of each document. What was embedded before a stop is kept. Raises UsageError for a set
    that has no documents.
    """
    if not cases.documents:
        raise UsageError(
            f"{cases.path} has no documents of its own to build an index from (it is {cases.format})",
            hint="index the documents first: local-rag index FOLDER, then: local-rag eval CASES",
        )
    texts = [(name, as_whole(text) if whole else text) for name, text in cases.documents]
    chunks = settings.values.chunks
    recipe = [embedder.fingerprint, chunks.size, chunks.overlap, whole]
    parts = [[name, text.title, text.text] for name, text in texts]
    key = hashlib.sha256(json.dumps([recipe, parts]).encode()).hexdigest()[:12]
    path = settings.data_folder / FOLDER / "corpora" / f"{cases.name[:40]}-{key}"
    with Index.open(path, embedder, chunk_size=chunks.size, chunk_overlap=chunks.overlap, create=True) as index:
        index.sync_texts(texts, whole=whole, progress=progress)
    values = settings.values.model_copy(update={"index": str(path)})
    return replace(settings, values=values, origin={**settings.origin, "index": "--corpus"})
