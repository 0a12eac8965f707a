"""List the indexed files, and send a file's text, outline, pages and original, and the place of a quote in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from itertools import groupby
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response
from pydantic import Field

from local_rag.core.errors import FileSkipped, LocalRagError, NotFound
from local_rag.index.filters import kind_of
from local_rag.index.outline import outlined
from local_rag.index.parse.pdf_page import IMAGES, PlacedQuote
from local_rag.index.store.protocol import Store
from local_rag.index.store.sqlite.folder import DATABASE
from local_rag.index.store.values import FileName, StoredDocument
from local_rag.runtime import fallback_corpus
from local_rag.server.answers import file_id
from local_rag.server.errors import ApiError
from local_rag.server.listings import FileListing, FileView, safe_line
from local_rag.server.originals import (
    Window,
    around,
    number_of,
    original_of,
    original_or_why,
    part,
    rows_of,
    spot_of,
)
from local_rag.server.responses import Body, file_headers, file_response
from local_rag.server.workspace import HEAVY, Here, Workspace
from local_rag.text.display import home_path
from local_rag.text.markup import closed
from local_rag.text.nodes import Node, tree

MOST = 2**53
"""The largest number in a request: SQLite and the page can represent numbers up to it exactly."""
LONGEST_DRAFT = 100_000
"""The most characters of a draft that is drawn."""
LONGEST_TEXT = 20_000
"""The most code points of a document that are sent at once."""

ORIGINAL_POLICY = "sandbox; default-src 'none'"
PDF_POLICY = "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; frame-ancestors 'none'"
"""The policy that the viewers of browsers need to show a PDF that is opened by itself."""

CHANGED = "This file has changed since it was indexed. The text shown is as it was then{page}."

Opens = Literal["pdf", "text", "attachment", ""]
"""How a browser may open the file itself; "" if it cannot be opened."""
Number = Annotated[int, Query(ge=0, le=MOST)]

router = APIRouter()


class Draft(Body):
    """Hold the text of a draft, in Markdown."""

    text: str = Field(max_length=LONGEST_DRAFT)


@dataclass(frozen=True)
class TreeFolder:
    """Count the matching files in and below a folder of the tree; `folder` asks for what it holds."""

    folder: str
    name: str
    files: int


@dataclass(frozen=True)
class FileList:
    """List some of the `matching` files, out of `total`; `cursor` asks for the next ones and is None after the last.

    In a folder of the tree only the files of it itself are listed, and `folders` are those in it.
    """

    files: Sequence[FileView]
    matching: int
    total: int
    cursor: int | None
    folders: Sequence[TreeFolder] = ()


Order = Literal["name", "changed", "kind", "size"]
ORDERS: dict[Order, Callable[[FileName], Any]] = {
    "name": lambda file: file.path.casefold(),
    "changed": lambda file: -file.modified,
    "kind": lambda file: kind_of(file.path),
    "size": lambda file: -file.size,
}
"""What files are sorted by: the last changed and the largest come first."""


@router.get("/api/files", dependencies=HEAVY)
def files(
    workspace: Here,
    index: str | None = None,
    filter: Annotated[str, Query(max_length=500)] = "",
    type: Annotated[str, Query(max_length=500)] = "",
    since: date | None = None,
    sort: Order = "name",
    folder: Annotated[str, Query(max_length=20_000)] = "",
    cursor: Number = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> FileList:
    """List the indexed files with these words in name, title or author, from a cursor on: all, or those in a folder."""
    searched = [workspace.files.of(address) for address in workspace.settings_of(index).index_paths.values()]
    matching = [(listing, file) for listing in searched for file in listing.filtered(filter, type, since)]
    here, folders = matching, list[TreeFolder]()
    if folder:
        here = [(listing, file) for listing, file in matching if listing.folders[file.path] == folder]
        folders = _folders(folder, matching, searched)
    here.sort(key=lambda each: ORDERS[sort](each[1]))
    end = cursor + limit
    views = list[FileView]()
    for _, pairs in groupby(here[cursor:end], key=lambda each: each[0].index):
        listings, on_page = zip(*pairs, strict=True)
        views += listings[0].views(on_page)
    total = sum(len(listing.files) for listing in searched)
    return FileList(views, len(matching), total, end if end < len(here) else None, folders)


def _folders(
    folder: str, files: Sequence[tuple[FileListing, FileName]], listings: Sequence[FileListing]
) -> list[TreeFolder]:
    """Return the folders in a folder of the tree that hold some of these files, by name."""
    start = f"{folder.rstrip('/')}/"
    places = (listing.folders[file.path] for listing, file in files)
    counts = Counter(place.removeprefix(start).split("/")[0] for place in places if place.startswith(start))
    counts.pop("", None)  # the files at the top itself
    roots = {file_id(root.path): home_path(root.path) for listing in listings for root in listing.roots}
    named = [TreeFolder(start + name, safe_line(roots.get(name, name)), count) for name, count in counts.items()]
    return sorted(named, key=lambda each: each.name.casefold())


def located(workspace: Workspace, identity: str, index: str | None = None) -> tuple[FileListing, str]:
    """Return the listing that holds a file or root, and its stored path, by its ID.

    The named index is searched first, then every other index, because an older question may have used another one.
    Raise ApiError (404) if no index has the file.
    """
    settings = workspace.settings_of(index)
    others = [
        database.parent
        for below in ("indexes", fallback_corpus.FOLDER)
        for database in sorted((settings.data_folder / below).glob(f"*/{DATABASE}"))
    ]
    for folder in dict.fromkeys([*settings.index_paths.values(), *others]):
        with suppress(LocalRagError):
            listing = workspace.files.of(folder)
            if identity in listing.paths:
                return listing, listing.paths[identity]
    raise ApiError(404, "not_found", "this file is not in the index (any more)", action="sync")


def file_of(id: str, workspace: Here, index: str | None = None) -> tuple[FileListing, str]:
    """Return the listing and the path of a file; raise ApiError (404) if it is missing, and NotFound for a root."""
    listing, path = located(workspace, id, index)
    if path not in listing.files:
        raise NotFound("this is a folder, not a file")
    return listing, path


Located = Annotated[tuple[FileListing, str], Depends(file_of)]


@router.get("/api/documents/{id}/text")
def text(file: Located, document: Number, start: Number = 0, end: Number = LONGEST_TEXT) -> Window:
    """Send code points [start, end) of the stored text of a document, or of Markdown the blocks that they touch."""
    listing, path = file
    documents = listing.read(Store.documents, path)
    if document >= len(documents):
        raise NotFound("this file has no such part in the index")
    return part(documents[document], path, start, min(end, start + LONGEST_TEXT))


@router.get("/api/documents/{id}/outline", dependencies=HEAVY)
def outline(file: Located) -> dict[str, Sequence[Any]]:
    """Send the outline of a file: its `lines`, each with its `text` and its `places`."""
    listing, path = file
    lines = listing.read(lambda store: [*outlined(store, path)])
    return {"lines": [{"text": line.text, "places": [*map(asdict, line.places)]} for line in lines]}


@router.post("/api/read")
def read(draft: Draft) -> dict[str, Sequence[Node]]:
    """Send a draft as a tree of `blocks`, as for an answer; marks that the draft leaves open are closed."""
    return {"blocks": tree(closed(draft.text))}


@router.get("/api/documents/{id}/pages/{page}", dependencies=HEAVY, response_class=Response)
def page(page: int, file: Located, workspace: Here) -> Response:
    """Send a page of a PDF, counted from 1, or an image, as PNG."""
    original = original_of(*file)
    if not (_has_pages(file[1]) and 0 < page <= MOST):
        raise NotFound("only pages of PDFs and images are drawn")
    picture = workspace.pages.picture(original.path, page)
    return Response(picture.png, media_type="image/png")


@router.get("/api/documents/{id}/original", response_class=Response)
def original(located: Located) -> Response:
    """Send the file itself: a browser shows a PDF or a text, and saves any other file."""
    file = original_of(*located)
    name, kind = file.path.name, file.opens_as
    if kind == "text":
        headers = file_headers(name, inline=True, policy=ORIGINAL_POLICY)
        return Response(file.text(), media_type="text/plain; charset=utf-8", headers=headers)
    if kind == "pdf":
        return file_response(file.path, "application/pdf", file_headers(name, inline=True, policy=PDF_POLICY))
    return file_response(file.path, "application/octet-stream", file_headers(name, policy=ORIGINAL_POLICY))


@dataclass(frozen=True)
class QuotePlace(Window):
    """Show a quote marked in the text around it.

    For a PDF or an image `image` has the size of the page, the number of pages, and the rectangles of the quote on the
    page, if they are certain. `placed`: something is marked. `changed`: the file has changed since it was indexed.
    `why` says in sentences what is missing.
    """

    file_id: str
    label: str
    title: str
    kind: Literal["pdf", "text"]
    document: int | None
    documents: int
    page: int | None
    image: PlacedQuote | None
    placed: bool
    changed: bool
    original: Opens
    why: str


@router.get("/api/documents/{id}/place", dependencies=HEAVY)
def place(
    id: str,
    located: Located,
    workspace: Here,
    document: Annotated[int | None, Query(ge=0, le=MOST)] = None,
    page: Annotated[int | None, Query(ge=1, le=MOST)] = None,
    chunk_id: Annotated[str, Query(max_length=500)] = "",
    start: Number = 0,
    end: Number = 0,
    quote: Annotated[str, Query(max_length=20_000)] = "",
    rows: Annotated[str, Query(max_length=5_000, pattern=r"^(\d{1,9}-\d{1,9}(,\d{1,9}-\d{1,9})*)?$")] = "",
) -> QuotePlace:
    """Find a quote by its document, its code points there and its words, and send it with the text around it.

    The document is named by number, page, or a passage of it (`chunk_id`); in a file of several documents, such as a
    mailbox, only the number or the passage is unambiguous. `rows` are the code points of the rows from which an answer
    was computed, such as 54-117,186-245.
    """
    listing, path = located
    documents = listing.read(Store.documents, path)
    number = number_of(listing, documents, chunk_id) if document is None else document
    spot = spot_of(documents, number, page, start, end, quote)
    file, missing = original_or_why(listing, path)
    has_pages = _has_pages(path)
    if spot is None and not (has_pages and page):
        raise NotFound("this file has no such page or part in the index")
    stored = documents[spot.number] if spot else StoredDocument("", page=page)
    first, last = (spot.start, spot.end) if spot else (0, 0)
    spans = [(int(low), int(high)) for low, _, high in (each.partition("-") for each in rows.split(",") if rows)]
    held = rows_of(stored, spans)
    if spans:
        first, last = (held[0][0], min(held[-1][1], held[0][0] + LONGEST_TEXT)) if held else (0, 0)
    on_page, undrawn = None, ""
    if has_pages and file and stored.page is not None:
        try:
            on_page = workspace.pages.placed(file.path, stored, held or [(first, last)])
        except (FileSkipped, OSError) as error:
            undrawn = f"The page cannot be shown: it {error}."
    window = around(stored, path, first, last, rows=held)
    changed = bool(file and file.changed)
    as_today = CHANGED.format(page=", the page as it is today" if on_page else "") if changed else ""
    unplaced = _unplaced(quote, start < end, first < last, on_page)
    return QuotePlace(
        window.blocks,
        window.before,
        window.after,
        file_id=id,
        label=safe_line(listing.label(path)),
        title=safe_line(stored.title),
        kind="pdf" if has_pages else "text",
        document=spot.number if spot else None,
        documents=len(documents),
        page=stored.page,
        image=on_page,
        placed=bool(on_page.rectangles) if on_page else first < last,
        changed=changed,
        original=file.opens_as if file else "",
        why=" ".join(filter(None, (as_today, missing, undrawn, unplaced))),
    )


def _has_pages(path: str) -> bool:
    return path.lower().endswith((".pdf", *IMAGES))


def _unplaced(quote: str, has_span: bool, has_quote: bool, on_page: PlacedQuote | None) -> str:
    """Return a sentence that says why a quote is not marked, or "" if nothing is amiss."""
    if not has_span and quote:
        return (
            "What is quoted is what the file says of itself, such as its author, and not its text: nothing is marked."
        )
    if not has_span:
        return ""
    if not has_quote:
        return "The quote does not stand in the indexed text any more, or more than once: nothing is marked."
    if on_page and not on_page.rectangles:
        return "Where the quote stands on the page is not certain, so nothing is marked there; the text below has it."
    return ""
