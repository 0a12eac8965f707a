"""Results of a search -> documents: their pages are read at once, and a page that cannot be is stood in for."""

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
from local_rag.web import search_results
from local_rag.web.search_results import Result

if TYPE_CHECKING:
    from langchain_core.documents import Document


THREADS = 3
TEXT = 100_000
"""Characters of a page that are used."""

METADATA = set("source title page heading start end chunk_id score rank_score origin url date".split())

GRACE = 2.0
"""Seconds that reading may take above its own limit: a parser cannot be interrupted, but it is not waited for."""

_POLL = 0.05


def documents(
    found: Sequence[Result], read_page: Callable[[str], WebPage] | None, seconds: float
) -> tuple[list[Document], list[str]]:
    """One document per page in the order given, and notes: a page that cannot be read leaves its snippet.

    Without `read_page` snippets are all there is. Raises Stopped.
    """
    outcomes = _read([one.url for one in found], read_page, seconds) if read_page else [None] * len(found)
    made: dict[str, Document] = {}
    notes: list[str] = []
    for rank, (one, outcome) in enumerate(zip(found, outcomes, strict=True), start=1):
        if isinstance(outcome, str):
            then = "its snippet is used" if one.body else "nothing of it is used"
            notes.append(f"{shorten(one.url, 100)}: {outcome}; {then}")
        elif outcome is not None and len(outcome.text) > TEXT:
            notes.append(f"{shorten(one.url, 100)}: only its first {TEXT:,} characters are used")
        page = None if isinstance(outcome, str) else outcome
        if document := _document(one, page, rank):
            made.setdefault(document.metadata["url"], document)  # two results may lead to one page
    return list(made.values()), notes


def _document(result: Result, page: WebPage | None, rank: int) -> Document | None:
    """The metadata are those of every passage, and `date`; `score` is nothing, for no cosine was taken."""
    from langchain_core.documents import Document

    text = printable(page.text if page else result.body).strip()[:TEXT]
    if not text:
        return None
    url = page.url if page else result.url
    metadata: dict[str, Any] = {
        "source": place(url),
        "title": search_results.line(page.title if page else "", search_results.TITLE) or result.title,
        "page": None,
        "heading": "",
        "start": 0,
        "end": len(text),
        "chunk_id": hashlib.sha256(f"web {url}".encode()).hexdigest(),
        "score": 0.0,
        "rank_score": 1 / (60 + rank),
        "origin": "web",
        "url": url,
        "date": search_results.line(page.date, 40) if page else "",
    }
    return Document(page_content=text, metadata=metadata)


def place(url: str) -> str:
    """Where a page stands, in short: its host and path."""
    parts = urlsplit(url)
    return shorten(f"{parts.hostname or ''}{parts.path.rstrip('/')}", 80)


def _read(urls: Sequence[str], read_page: Callable[[str], WebPage], seconds: float) -> list[WebPage | str]:
    """The page of each URL, or why there is none. Threads are daemons: one that hangs is left behind."""
    outcomes: list[WebPage | str] = [f"took longer than {seconds:g} s to read"] * len(urls)
    stopped: list[Stopped] = []
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(urls)):
        waiting.put(number)

    def work() -> None:
        with suppress(queue.Empty):
            while not stopped:
                number = waiting.get_nowait()
                try:
                    outcomes[number] = _one(urls[number], read_page)
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
    return list(outcomes)


def _one(url: str, read_page: Callable[[str], WebPage]) -> WebPage | str:
    try:
        return read_page(url)
    except Stopped:
        raise
    except LocalRagError as error:
        return search_results.line(str(error), 160)
    except Exception as error:  # any page, any parser
        return search_results.line(f"cannot be read ({type(error).__name__}: {error})", 160)
