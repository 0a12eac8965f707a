"""Read pages of the web as documents: one page for the index, or the results of a search for a question."""

from __future__ import annotations

import contextvars
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped, LocalRagError, reason_of
from local_rag.index.parse.parser import Parser
from local_rag.text.display import shorten
from local_rag.text.encoding import declared_charset, decode, known_encoding
from local_rag.web.addresses import public_addresses
from local_rag.web.fetch import KINDS, Addresses, FetchedPage, fetch

if TYPE_CHECKING:
    from langchain_core.documents import Document

READERS = 3
"""The number of pages to read at the same time."""

CHARACTERS = 100_000
"""The maximum characters of a page to use for a question."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hold one result of a search engine; `body` is its snippet, and it and the title may be empty."""

    url: str
    title: str
    body: str


def read_page(url: str, seconds: float, addresses: Addresses = public_addresses) -> LoadedDocument:
    """Read a page of the web; its `url` is that after all redirects, and `seconds` limits fetching and reading each.

    Raise FileSkipped with the reason why there is none, or Stopped.
    """
    try:
        return page_document(fetch(url, seconds, addresses), seconds)
    except LocalRagError:
        raise
    except Exception as error:  # one page that fails must not cost the others
        reason = reason_of(error) if isinstance(error, OSError) else type(error).__name__
        raise FileSkipped(f"cannot be read ({reason})", passing=True) from error


def page_document(page: FetchedPage, seconds: float) -> LoadedDocument:
    """Return the document of a page, with text, title and headings as if the page were a file.

    The process that reads files reads it, with limits on time and memory, because 100,000 attributes in one tag keep a
    parser busy for minutes. Nothing on the page is run, and nothing that it names is fetched. Raise as `read_page`
    does.
    """
    body = page.body
    if known_encoding(page.charset) not in ("", "utf-8"):  # a file has no header with its encoding
        body = decode(body, page.charset, declared_charset(body)).encode("utf-8-sig")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, Parser(seconds) as parser:
        file = Path(folder, f"page{KINDS[page.kind]}")
        file.write_bytes(body)
        (document,) = next(parser.parse(file)).documents
    return replace(document, url=page.url)


def documents(
    results: Sequence[SearchResult], read: Callable[[str], LoadedDocument]
) -> tuple[list[Document], list[str]]:
    """Return one document per page in the given order, and notes; an unreadable page is replaced by its snippet.

    Raise Stopped.
    """
    with ThreadPoolExecutor(READERS) as pool:
        tries = [pool.submit(contextvars.copy_context().run, _read, result, read) for result in results]
    by_url: dict[str, Document] = {}
    notes: list[str] = []
    for rank, (result, page) in enumerate(zip(results, (each.result() for each in tries), strict=True), start=1):
        if isinstance(page, str):
            then = "its snippet is used" if result.body else "nothing of it is used"
            notes.append(f"{shorten(result.url, 100)}: {page}; {then}")
            page = LoadedDocument(result.body, url=result.url)
        elif len(page.text) > CHARACTERS:
            notes.append(f"{shorten(result.url, 100)}: only its first {CHARACTERS:,} characters are used")
        if page.text:
            passage = _passage(page, page.title or result.title, rank)
            by_url.setdefault(page.url, passage)  # two results may lead to one page
    return list(by_url.values()), notes


def _read(result: SearchResult, read: Callable[[str], LoadedDocument]) -> LoadedDocument | str:
    try:
        return read(result.url)
    except FileSkipped as skipped:
        return str(skipped)


def _passage(page: LoadedDocument, title: str, rank: int) -> Document:
    """Return a page with the metadata of a passage; `score` is 0, because no cosine was computed."""
    from langchain_core.documents import Document

    text = page.text[:CHARACTERS]
    metadata = {
        "source": _short_url(page.url),
        "title": title,
        "page": None,
        "heading": "",
        "start": 0,
        "end": len(text),
        "chunk_id": hashlib.sha256(f"web {page.url}".encode()).hexdigest(),
        "score": 0.0,
        "rank_score": 1 / (60 + rank),
        "origin": "web",
        "url": page.url,
        "date": page.date,
        "author": page.author,
    }
    return Document(page_content=text, metadata=metadata)


def _short_url(url: str) -> str:
    """Return the host and path of a page."""
    parts = urlsplit(url)
    return shorten(f"{parts.hostname or ''}{parts.path.rstrip('/')}", 80)
