"""Results of a search -> documents: pages are read at once, and a snippet replaces a page that cannot be read."""

from __future__ import annotations

import contextvars
import hashlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from local_rag.core import cancel
from local_rag.core.documents import WebPage
from local_rag.core.errors import LocalRagError, Stopped
from local_rag.text.display import printable, shorten
from local_rag.web.ddgs_process import TITLE, SearchResult, one_line

if TYPE_CHECKING:
    from langchain_core.documents import Document


THREADS = 3
TEXT = 100_000
"""Characters of a page that are used."""

METADATA = set("source title page heading start end chunk_id score rank_score origin url date author".split())

GRACE = 2.0
"""Seconds that reading may take above its own limit: a parser cannot be interrupted, but it is not waited for."""

_POLL = 0.05


def documents(
    results: Sequence[SearchResult], read_page: Callable[[str], WebPage] | None, seconds: float
) -> tuple[list[Document], list[str]]:
    """One document per page in the order given, and notes: a page that cannot be read leaves its snippet.

    Without `read_page` snippets are all there is. Raises Stopped.
    """
    pages = _read([result.url for result in results], read_page, seconds) if read_page else [None] * len(results)
    by_url: dict[str, Document] = {}
    notes: list[str] = []
    for rank, (result, page) in enumerate(zip(results, pages, strict=True), start=1):
        if isinstance(page, str):
            then = "its snippet is used" if result.body else "nothing of it is used"
            notes.append(f"{shorten(result.url, 100)}: {page}; {then}")
        elif page is not None and len(page.text) > TEXT:
            notes.append(f"{shorten(result.url, 100)}: only its first {TEXT:,} characters are used")
        if document := _document(result, page if isinstance(page, WebPage) else None, rank):
            by_url.setdefault(document.metadata["url"], document)  # two results may lead to one page
    return list(by_url.values()), notes


def _document(result: SearchResult, page: WebPage | None, rank: int) -> Document | None:
    """The metadata are those of every passage; `score` is nothing, for no cosine was taken."""
    from langchain_core.documents import Document

    text = printable(page.text if page else result.body).strip()[:TEXT]
    if not text:
        return None
    url = page.url if page else result.url
    metadata: dict[str, Any] = {
        "source": short_url(url),
        "title": one_line(page.title if page else "", TITLE) or result.title,
        "page": None,
        "heading": "",
        "start": 0,
        "end": len(text),
        "chunk_id": hashlib.sha256(f"web {url}".encode()).hexdigest(),
        "score": 0.0,
        "rank_score": 1 / (60 + rank),
        "origin": "web",
        "url": url,
        "date": one_line(page.date, 40) if page else "",
        "author": one_line(page.author, TITLE) if page else "",
    }
    return Document(page_content=text, metadata=metadata)


def short_url(url: str) -> str:
    """Host and path of a page."""
    parts = urlsplit(url)
    return shorten(f"{parts.hostname or ''}{parts.path.rstrip('/')}", 80)


def _read(urls: Sequence[str], read_page: Callable[[str], WebPage], seconds: float) -> list[WebPage | str]:
    """The page of each URL, or why there is none. Threads are daemons: one that hangs is left behind."""
    pages: list[WebPage | str] = [f"took longer than {seconds:g} s to read"] * len(urls)
    stopped: list[Stopped] = []
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(urls)):
        waiting.put(number)

    def work() -> None:
        with suppress(queue.Empty):
            while not stopped:
                number = waiting.get_nowait()
                try:
                    pages[number] = _page_or_reason(urls[number], read_page)
                except Stopped as stop:
                    stopped.append(stop)

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
        for _ in range(min(THREADS, len(urls)))
    ]
    until = time.monotonic() + seconds * -(-len(urls) // THREADS) + GRACE
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive() and time.monotonic() < until:
            cancel.check()
            thread.join(_POLL)
    if stopped:
        raise stopped[0]
    return list(pages)


def _page_or_reason(url: str, read_page: Callable[[str], WebPage]) -> WebPage | str:
    try:
        return read_page(url)
    except Stopped:
        raise
    except LocalRagError as error:
        return one_line(str(error), 160)
    except Exception as error:  # any page, any parser
        return one_line(f"cannot be read ({type(error).__name__}: {error})", 160)
