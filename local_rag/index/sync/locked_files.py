"""The files that a sync could read if somebody gave it their passwords."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.errors import FileSkipped
from local_rag.index.embed.weights import sha256
from local_rag.index.parse.parser import Parser
from local_rag.index.store import reads
from local_rag.index.store.schema import FileRow, Root
from local_rag.index.store.store import Store
from local_rag.index.sync.file_state import looks_unchanged
from local_rag.index.sync.walk import walk


def locked_files(store: Store, roots: Sequence[Root]) -> Iterator[str]:
    """PDFs below the roots that are new or changed and need a password; they are opened, not read. Raises Stopped."""
    known = {file.path: file for file in store.read(reads.files)}
    walked = walk(roots, store.read(reads.roots), known)
    with Parser() as parser:
        for path in walked.files:
            cancel.check()
            if path.lower().endswith(".pdf") and _is_locked(parser, path, known.get(path)):
                yield path


def _is_locked(parser: Parser, path: str, old: FileRow | None) -> bool:
    """What cannot even be opened is told by the sync."""
    try:
        if old is not None and looks_unchanged(old):
            return False
        return parser.is_locked(Path(path)) and not (old is not None and sha256(Path(path)) == old.sha256)
    except (OSError, FileSkipped):
        return False
