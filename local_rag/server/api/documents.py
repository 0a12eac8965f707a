"""Indexed files, the places of quotes in them, their pages as pictures, and their originals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.pdf_page import Rectangle  # the type of a response is looked up when it is documented
from local_rag.server.endpoints import Endpoint, File, Request
from local_rag.server.errors import ApiError, NotFound
from local_rag.server.file_listings import FileListing, FileView, listings, located, shown
from local_rag.server.originals import Original, Originals
from local_rag.server.page_pictures import pictures_of
from local_rag.server.quotes import Segment, Spot, Window, around, part, spot_of

if TYPE_CHECKING:
    from local_rag.index.parse.pdf_page import PlacedQuote
    from local_rag.server.place import Place

PARTS = 2_000
"""Documents of a file that are listed."""

LONGEST_TEXT = 20_000
"""Code points of a document that are given at once."""

MOST = 2**53
"""Of a number: SQLite and a page can count that far."""

ORIGINAL_POLICY = "sandbox; default-src 'none'"
PDF_POLICY = "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; frame-ancestors 'none'"
"""What the viewers of browsers need to show a PDF that is opened by itself."""

GONE = "this file has just left the index"
CHANGED = "This file has changed since it was indexed: what stands there now may not be what was quoted."


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


class Named(Request):
    """A file by its ID, of the named index or of any."""

    file_id: str
    index: str | None = None


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


class Quote(Named):
    """A quote: its document by number, page or a passage of it, its code points there, and its text, which checks them.

    In a file of several documents, such as a mailbox, only the number or the passage (`chunk_id`) is unmistakable.
    """

    document: int | None = Field(None, ge=0, le=MOST)
    page: int | None = Field(None, ge=1, le=MOST)
    chunk_id: str = Field("", max_length=500)
    start: int = Field(0, ge=0, le=MOST)
    end: int = Field(0, ge=0, le=MOST)
    quote: str = Field("", max_length=20_000)


@dataclass(frozen=True, slots=True)
class Picture:
    """The size of the picture of a page in pixels."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class QuotePlace:
    """A quote in its document.

    `segments` are the stored text around it; `before` and `after` are the code points where that begins and ends,
    None where the document does. Of a PDF `image` is the picture of the page, of `pages`, and `rectangles` are where
    the quote stands on it (left, top, width, height as shares of the page), empty unless that is certain. `placed`:
    something is marked. `changed`: the file is another than when it was indexed. `why` says in sentences what is
    missing.
    """

    file_id: str
    label: str
    title: str
    kind: Literal["pdf", "text"]
    document: int | None
    documents: int
    page: int | None
    pages: int | None
    segments: Sequence[Segment]
    before: int | None
    after: int | None
    image: Picture | None
    rectangles: Sequence[Rectangle]
    placed: bool
    changed: bool
    original: Literal["pdf", "text", "attachment", ""]
    why: str


class Text(Named):
    """Code points [start, end) of a document of a file."""

    document: int = Field(ge=0, le=MOST)
    start: int = Field(0, ge=0, le=MOST)
    end: int = Field(LONGEST_TEXT, ge=0, le=MOST)


class Page(Named):
    """A page of a PDF, counted from 1."""

    page: int = Field(ge=1, le=MOST)


def files(place: Place, request: Filter) -> FileList:
    searched = listings(place, request.index)
    matching = [(listing, file) for listing in searched for file in listing.filtered(request.filter)]
    end = request.cursor + request.limit
    shown = matching[request.cursor : end]
    views = [view for listing in searched for view in listing.views([file for own, file in shown if own is listing])]
    return FileList(
        views, len(matching), sum(len(listing.files) for listing in searched), end if end < len(matching) else None
    )


def document(place: Place, request: Named) -> Document:
    listing, path = _file(place, request)
    parts = listing.library.documents(path)
    original, why = _original(place, listing, path)
    file = next(iter(listing.views([listing.files[path]])), None)
    if file is None:
        raise NotFound(GONE)
    return Document(
        file=file,
        documents=[Part(each.number, each.page, shown(each.title), each.characters) for each in parts[:PARTS]],
        parts=len(parts),
        original=original.opens_as if original else "",
        changed=bool(original and original.changed),
        why=why,
    )


def place_of_quote(place: Place, request: Quote) -> QuotePlace:
    listing, path = _file(place, request)
    documents = listing.library.documents(path)
    spot = spot_of(
        listing.library,
        path,
        documents,
        number=request.document,
        chunk_id=request.chunk_id,
        page=request.page,
        start=request.start,
        end=request.end,
        quote=request.quote,
    )
    original, missing = _original(place, listing, path)
    is_pdf = path.lower().endswith(".pdf")
    if spot is None and not (is_pdf and request.page):
        raise NotFound("this file has no such page or part in the index")
    text = listing.library.text(path, spot.number) if spot else ""
    number = documents[spot.number].page if spot else request.page
    on_page, undrawn = _on_page(place, original, text, spot, number) if is_pdf else (None, "")
    window = around(text, spot.start, spot.end) if spot else Window((), None, None)
    has_quote = spot is not None and spot.start < spot.end
    changed = bool(original and original.changed)
    reasons = (CHANGED if changed else "", missing, undrawn, _unplaced(request, has_quote, on_page))
    return QuotePlace(
        file_id=request.file_id,
        label=shown(listing.label(path)),
        title=shown(documents[spot.number].title) if spot else "",
        kind="pdf" if is_pdf else "text",
        document=spot.number if spot else None,
        documents=len(documents),
        page=number,
        pages=on_page.pages if on_page else None,
        segments=window.segments,
        before=window.before,
        after=window.after,
        image=Picture(on_page.width, on_page.height) if on_page else None,
        rectangles=on_page.rectangles if on_page else (),
        placed=bool(on_page.rectangles) if on_page else has_quote,
        changed=changed,
        original=original.opens_as if original else "",
        why=" ".join(filter(None, reasons)),
    )


def text(place: Place, request: Text) -> Window:
    listing, path = _file(place, request)
    if request.document >= len(listing.library.documents(path)):
        raise NotFound("this file has no such part in the index")
    whole = listing.library.text(path, request.document)
    return part(whole, request.start, min(request.end, request.start + LONGEST_TEXT))


def page(place: Place, request: Page) -> File:
    listing, path = _file(place, request)
    original = _open(place, listing, path)
    if original.opens_as != "pdf":
        raise NotFound("only pages of PDFs are drawn")
    picture = pictures_of(place).picture(original.path, request.page)
    return File(picture.png, "image/png", inline=True)


def original(place: Place, request: Named) -> File:
    listing, path = _file(place, request)
    file = _open(place, listing, path)
    if file.opens_as == "text":
        return File(file.text(), "text/plain; charset=utf-8", file.path.name, True, ORIGINAL_POLICY)
    if file.opens_as == "pdf":
        return File(file.path, "application/pdf", file.path.name, True, PDF_POLICY)
    return File(file.path, "application/octet-stream", file.path.name, policy=ORIGINAL_POLICY)


def _file(place: Place, request: Named) -> tuple[FileListing, str]:
    """The listing and the path of a file. Raises NotFound, also for a root."""
    listing, path = located(place, request.file_id, request.index)
    if path not in listing.files:
        raise NotFound("this is a folder, not a file")
    return listing, path


def _open(place: Place, listing: FileListing, path: str) -> Original:
    row = listing.library.row(path)
    if row is None:
        raise NotFound(GONE)
    return place.kept("originals", Originals).of(row, listing.roots)


def _original(place: Place, listing: FileListing, path: str) -> tuple[Original | None, str]:
    """The file on the disk, or why it cannot be opened."""
    try:
        return _open(place, listing, path), ""
    except ApiError as error:
        return None, f"{str(error)[:1].upper()}{str(error)[1:]}."


def _on_page(
    place: Place, original: Original | None, text: str, spot: Spot | None, number: int | None
) -> tuple[PlacedQuote | None, str]:
    """The quote on the picture of its page, or why there is none."""
    if original is None or number is None:
        return None, ""
    start, end = (spot.start, spot.end) if spot else (0, 0)
    try:
        return pictures_of(place).placed(original.path, number, text, start, end), ""
    except (FileSkipped, OSError) as error:
        return None, f"The page cannot be shown: it {error}."


def _unplaced(request: Quote, has_quote: bool, on_page: PlacedQuote | None) -> str:
    """Why nothing is marked where something was to be."""
    if request.quote and request.start >= request.end:
        return (
            "What is quoted is what the file says of itself, such as its author, and not its text: nothing is marked."
        )
    if request.start >= request.end:
        return ""
    if not has_quote:
        return "The quote does not stand in the indexed text any more, or more than once: nothing is marked."
    if on_page and not on_page.rectangles:
        return "Where the quote stands on the page is not certain, so nothing is marked there; the text below has it."
    return ""


ENDPOINTS = (
    Endpoint("GET", "/api/files", files, Filter, FileList, summary="the indexed files", heavy=True),
    Endpoint(
        "GET", "/api/documents/{file_id}", document, Named, Document, summary="a file and its documents", heavy=True
    ),
    Endpoint(
        "GET",
        "/api/documents/{file_id}/place",
        place_of_quote,
        Quote,
        QuotePlace,
        summary="where a quote stands",
        heavy=True,
    ),
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
    Endpoint("GET", "/api/documents/{file_id}/original", original, Named, File, summary="the file itself"),
)
