"""The indexed files, filtered as somebody types, and one of them with its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from local_rag.index.store import reads
from local_rag.server.endpoints import Endpoint, Request
from local_rag.server.errors import NotFound
from local_rag.server.file_listings import GONE, MOST, FileView, OfFile, file_of, listings, shown
from local_rag.server.originals import original_or_why

if TYPE_CHECKING:
    from local_rag.server.place import Place

PARTS = 2_000
"""Documents of a file that are listed."""


class Filter(Request):
    """Which files: of an index, with these words in name, title or author, from a cursor on."""

    index: str | None = None
    filter: str = Field("", max_length=500)
    cursor: int = Field(0, ge=0, le=MOST)
    limit: int = Field(100, ge=1, le=1000)


@dataclass(frozen=True, slots=True)
class FileList:
    """Of `total` files those that match, `matching` in all; `cursor` asks for the next, None after the last."""

    files: Sequence[FileView]
    matching: int
    total: int
    cursor: int | None


@dataclass(frozen=True, slots=True)
class Part:
    """A document of a file: a page, a message, a chapter. `number` counts from 0, `characters` are code points."""

    number: int
    page: int | None
    title: str
    characters: int


@dataclass(frozen=True, slots=True)
class Document:
    """A file with its documents, `parts` in all, of which the first are listed.

    `original` says how a browser may open the file itself, "" where it cannot be opened, and then `why`.
    """

    file: FileView
    documents: Sequence[Part]
    parts: int
    original: Literal["pdf", "text", "attachment", ""]
    changed: bool
    why: str


def files(place: Place, request: Filter) -> FileList:
    searched = listings(place, request.index)
    matching = [(listing, file) for listing in searched for file in listing.filtered(request.filter)]
    end = request.cursor + request.limit
    shown = matching[request.cursor : end]
    views = [view for listing in searched for view in listing.views([file for own, file in shown if own is listing])]
    return FileList(
        views, len(matching), sum(len(listing.files) for listing in searched), end if end < len(matching) else None
    )


def document(place: Place, request: OfFile) -> Document:
    listing, path = file_of(place, request)
    parts = listing.read(reads.documents, path)
    original, why = original_or_why(place, listing, path)
    file = next(iter(listing.views([listing.files[path]])), None)
    if file is None:
        raise NotFound(GONE)
    return Document(
        file=file,
        documents=[Part(each.number, each.page, shown(each.title), len(each.text)) for each in parts[:PARTS]],
        parts=len(parts),
        original=original.opens_as if original else "",
        changed=bool(original and original.changed),
        why=why,
    )


ENDPOINTS = (
    Endpoint("GET", "/api/files", files, Filter, FileList, summary="the indexed files", heavy=True),
    Endpoint(
        "GET", "/api/documents/{file_id}", document, OfFile, Document, summary="a file and its documents", heavy=True
    ),
)
