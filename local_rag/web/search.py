"""Searching the web without a key: ddgs in a child process. Or `Off`: nothing leaves the machine.

What leaves is one line of at most 200 characters, to the engines that the settings name, in their order; the next one
is asked only where the one before had nothing. Each time the words are in a log before they leave. ddgs then looks
like a browser to the engine; who is asked learns this machine's address besides.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from local_rag.config.values import Web
from local_rag.core import cancel
from local_rag.core.documents import WebPage, WebResults
from local_rag.core.errors import UsageError
from local_rag.core.private_files import make_folder
from local_rag.core.reasons import reason_of
from local_rag.text.display import seen_line
from local_rag.text.words import query_key
from local_rag.web import ddgs_process, page_documents
from local_rag.web.ddgs_process import SearchResult, late
from local_rag.web.search_cache import SearchCache

WORDS = 200
"""Characters of a query that leave this machine."""

ANYWHERE, DEFAULT = "wt-wt", "us-en"
"""DuckDuckGo's region for none, and ddgs's default: other engines make a country and a language of a region."""

QUERY_LOG = "web-queries.log"
"""What was sent to which engine: one JSON line for each time, written before the words leave."""

PAUSES = (0.0, 1.0, 2.0, 4.0)
"""Seconds before each try, as long as engines say that there were too many searches."""


class Off:
    """No web: the budget for web searches is nothing."""

    enabled = False
    engine = "off"
    second_source = ""

    def words(self, query: str) -> str:
        """The whole query: nothing leaves."""
        return query

    def search(self, query: str, k: int) -> WebResults:
        """Never called by a graph. Raises UsageError."""
        raise UsageError("the web is off", hint="local-rag ask … --web")


class DdgsSearch:
    """The web, by ddgs. A search that fails has notes instead of documents."""

    enabled = True
    second_source = ""

    def __init__(
        self,
        settings: Web,
        folder: Path,
        read_page: Callable[[str], WebPage] | None = None,
        command: Sequence[str] = ddgs_process.COMMAND,
    ) -> None:
        """`folder` gets the log and the cache. Without `read_page` the engines' snippets are all there is.

        `command` starts the process that searches; a test adds --search-url (see ddgs_child.py) and its own page.
        """
        self._settings = settings
        self._folder = folder
        self._read_page = read_page
        self._command = tuple(command)
        self._cache = SearchCache(folder, settings.cache_hours)

    @property
    def engine(self) -> str:
        return ", ".join(self._settings.engines)

    def words(self, query: str) -> str:
        """What of a query leaves this machine: one line without a hidden character, cut at a word."""
        line = seen_line(query.encode("utf-8", "replace").decode("utf-8"))
        return line if len(line) <= WORDS else line[: WORDS + 1].rpartition(" ")[0] or line[:WORDS]

    def search(self, query: str, k: int) -> WebResults:
        """Up to k pages, best first. Raises Stopped and DeadlineExceeded, and nothing else."""
        words = self.words(query)
        if not words or k < 1:
            return WebResults(notes=("there are no words to search the web for",))
        key = (self._settings.engines, self._settings.region, query_key(words), k, self._read_page is not None)
        if (kept := self._cache.get(*key)) and (results := _restored(*kept)):
            return results
        hits, troubles = self._ask(words)
        documents, notes = page_documents.documents(hits[:k], self._read_page, self._settings.page_seconds)
        notes = [*troubles, *notes]
        if documents:
            rows = [{"text": document.page_content, "metadata": document.metadata} for document in documents]
            self._cache.put({"documents": rows, "notes": notes}, *key)
        return WebResults(tuple(documents), tuple(notes))

    def _ask(self, words: str) -> tuple[tuple[SearchResult, ...], list[str]]:
        """The results of the first engine that has some, and why the others had none.

        Engines that say "too many searches" are asked again after a pause, the others are not.
        """
        until = time.monotonic() + self._settings.seconds
        troubles: dict[str, str] = {}
        left = list(self._settings.engines)
        for pause in PAUSES:
            if not left or time.monotonic() + pause >= until:
                break
            cancel.current().wait(pause)
            limited: list[str] = []
            while left:
                engine = left.pop(0)
                seconds = (until - time.monotonic()) / (len(left) + 1)
                if seconds <= 0:
                    troubles.setdefault(engine, late(engine))
                    continue
                try:
                    log_query(self._folder, words, engine)
                except OSError as error:
                    log = self._folder / QUERY_LOG
                    return (), [f"not searched, because it cannot be logged: make {log} writable ({reason_of(error)})"]
                anywhere = self._settings.region == ANYWHERE and engine != "duckduckgo"
                region = DEFAULT if anywhere else self._settings.region
                reply = ddgs_process.search(self._command, engine, words, region, seconds)
                if reply.results:
                    troubles.pop(engine, None)
                    return reply.results, list(troubles.values())
                troubles[engine] = reply.trouble
                if reply.limited:
                    limited.append(engine)
            left = limited
        return (), list(troubles.values())


def log_query(folder: Path, query: str, engine: str) -> None:
    """Append {"time", "engines", "query"} to the log in a folder, for its owner's eyes only.

    Raises OSError unless the whole line was written: what cannot be logged must not be sent.
    """
    row = {"time": datetime.now().astimezone().isoformat(timespec="seconds"), "engines": [engine], "query": query}
    line = json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    make_folder(folder)
    path = folder / QUERY_LOG
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        path.chmod(0o600)
        if os.write(handle, line) != len(line):
            raise OSError(f"only a part of a line was written to {path}")
    finally:
        os.close(handle)


def _restored(kept: float, value: Any) -> WebResults | None:
    """What the cache holds, or None if that is not what was put there."""
    from langchain_core.documents import Document

    try:
        rows = [(row["text"], {"author": "", **row["metadata"]}) for row in value["documents"]]  # once there was none
        documents = tuple(Document(page_content=text, metadata=metadata) for text, metadata in rows)
        notes = tuple(map(str, value["notes"]))
        usable = all(document.metadata.keys() == page_documents.METADATA for document in documents)
    except (KeyError, TypeError, ValueError):
        return None
    when = datetime.fromtimestamp(kept).astimezone()
    first = f"from the cache of {when:%Y-%m-%d %H:%M}: nothing left this machine"
    return WebResults(documents, (first, *notes)) if documents and usable else None
