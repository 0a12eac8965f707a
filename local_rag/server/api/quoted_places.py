"""Where a quote stands: in the stored text of its document, and on the page of a PDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.pdf_page import Rectangle  # the type of a response is looked up when it is documented
from local_rag.index.store import reads
from local_rag.server.endpoints import Endpoint
from local_rag.server.errors import NotFound
from local_rag.server.file_listings import MOST, OfFile, file_of, shown
from local_rag.server.originals import Original, original_or_why
from local_rag.server.page_pictures import pictures_of
from local_rag.server.quotes import Segment, Spot, Window, around, spot_of

if TYPE_CHECKING:
    from local_rag.index.parse.pdf_page import PlacedQuote
    from local_rag.server.place import Place

CHANGED = (
    "This file has changed since it was indexed. The text shown is as it was then{page}; "
    "to read it anew: Index, Bring up to date."
)


class Quote(OfFile):
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


def place_of_quote(place: Place, request: Quote) -> QuotePlace:
    listing, path = file_of(place, request)
    documents = listing.read(reads.documents, path)
    spot = spot_of(
        listing,
        path,
        documents,
        number=request.document,
        chunk_id=request.chunk_id,
        page=request.page,
        start=request.start,
        end=request.end,
        quote=request.quote,
    )
    original, missing = original_or_why(place, listing, path)
    is_pdf = path.lower().endswith(".pdf")
    if spot is None and not (is_pdf and request.page):
        raise NotFound("this file has no such page or part in the index")
    text = documents[spot.number].text if spot else ""
    number = documents[spot.number].page if spot else request.page
    on_page, undrawn = _on_page(place, original, text, spot, number) if is_pdf else (None, "")
    window = around(text, spot.start, spot.end) if spot else Window((), None, None)
    has_quote = spot is not None and spot.start < spot.end
    changed = bool(original and original.changed)
    reason = CHANGED.format(page=", the page as it is today" if on_page else "") if changed else ""
    reasons = (reason, missing, undrawn, _unplaced(request, has_quote, on_page))
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
    Endpoint(
        "GET",
        "/api/documents/{file_id}/place",
        place_of_quote,
        Quote,
        QuotePlace,
        summary="where a quote stands",
        heavy=True,
    ),
)
