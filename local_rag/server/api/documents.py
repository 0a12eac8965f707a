"""What a file holds: its stored text, its pages as pictures, and the file itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from local_rag.index.store import reads
from local_rag.server.endpoints import Endpoint, File
from local_rag.server.errors import NotFound
from local_rag.server.file_listings import MOST, OfFile, file_of
from local_rag.server.originals import original_of
from local_rag.server.page_pictures import pictures_of
from local_rag.server.quotes import Window, part

if TYPE_CHECKING:
    from local_rag.server.place import Place

LONGEST_TEXT = 20_000
"""Code points of a document that are given at once."""

ORIGINAL_POLICY = "sandbox; default-src 'none'"
PDF_POLICY = "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; frame-ancestors 'none'"
"""What the viewers of browsers need to show a PDF that is opened by itself."""


class Text(OfFile):
    """Code points [start, end) of a document of a file."""

    document: int = Field(ge=0, le=MOST)
    start: int = Field(0, ge=0, le=MOST)
    end: int = Field(LONGEST_TEXT, ge=0, le=MOST)


class Page(OfFile):
    """A page of a PDF, counted from 1."""

    page: int = Field(ge=1, le=MOST)


def text(place: Place, request: Text) -> Window:
    listing, path = file_of(place, request)
    documents = listing.read(reads.documents, path)
    if request.document >= len(documents):
        raise NotFound("this file has no such part in the index")
    return part(documents[request.document].text, request.start, min(request.end, request.start + LONGEST_TEXT))


def page(place: Place, request: Page) -> File:
    listing, path = file_of(place, request)
    original = original_of(place, listing, path)
    if original.opens_as != "pdf":
        raise NotFound("only pages of PDFs are drawn")
    picture = pictures_of(place).picture(original.path, request.page)
    return File(picture.png, "image/png", inline=True)


def original(place: Place, request: OfFile) -> File:
    listing, path = file_of(place, request)
    file = original_of(place, listing, path)
    if file.opens_as == "text":
        return File(file.text(), "text/plain; charset=utf-8", file.path.name, True, ORIGINAL_POLICY)
    if file.opens_as == "pdf":
        return File(file.path, "application/pdf", file.path.name, True, PDF_POLICY)
    return File(file.path, "application/octet-stream", file.path.name, policy=ORIGINAL_POLICY)


ENDPOINTS = (
    Endpoint("GET", "/api/documents/{file_id}/text", text, Text, Window, summary="stored text of a document"),
    Endpoint(
        "GET",
        "/api/documents/{file_id}/pages/{page}",
        page,
        Page,
        File,
        summary="a page of a PDF as PNG",
        heavy=True,
    ),
    Endpoint("GET", "/api/documents/{file_id}/original", original, OfFile, File, summary="the file itself"),
)
