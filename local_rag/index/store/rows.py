"""What the store keeps and gives back: plain values, no SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_rag.core.documents import LoadedDocument
from local_rag.text.chunking import Chunk

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors


@dataclass(frozen=True, slots=True)
class Recipe:
    """What made an index: other vectors or other passages are another index. `size` and `overlap` are in tokens."""

    embedder: str
    fingerprint: str
    dimension: int
    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder that somebody asked to index, and how it was walked then."""

    path: str
    excludes: tuple[str, ...] = ()
    secrets: bool = False


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as it was when it was indexed, found by walking `root`; `warnings` say what of it could not be read."""

    path: str
    root: str
    sha256: str
    size: int
    mtime_ns: int
    warnings: tuple[str, ...] = ()
    indexed_at: float = 0.0
    id: int = 0


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document on its way in, with one vector (d,) per chunk."""

    document: LoadedDocument
    chunks: Sequence[Chunk]
    vectors: Iterable[Vectors]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with its text. `key` names it for as long as its file keeps that text in that place."""

    id: int
    key: str
    source: str
    title: str
    page: int | None
    heading: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file of the index as a person sees it. `indexed_at` is in seconds since 1970."""

    path: str
    size: int
    documents: int
    chunks: int
    indexed_at: float
    warnings: tuple[str, ...]
