"""Search the web without a key: with ddgs in a child process, or in its place a fallback corpus, or nothing (`Off`).

One line of at most 200 characters leaves, for the engines of the settings in their order; an engine is asked only if
those before it had no results. The words are logged before they leave. ddgs presents itself to an engine as a browser,
and the engine learns this machine's address.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urlsplit

from local_rag.config.values import Web
from local_rag.core import cancel, child_process
from local_rag.core.documents import LoadedDocument, WebResults
from local_rag.core.errors import LocalRagError, Stopped, UsageError, reason_of
from local_rag.core.private_files import make_folder, opener
from local_rag.text.display import printable, seen_line, shorten
from local_rag.web import pages
from local_rag.web.pages import SearchResult

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.index.index import Index

WORDS = 200
"""The maximum characters of a query that leave this machine."""

ANYWHERE, DEFAULT = "wt-wt", "us-en"
"""DuckDuckGo's region for none, and ddgs's default: other engines derive a country and a language from a region."""

QUERY_LOG = "web-queries.log"
"""The log of queries and engines: one JSON line per request, written before the words leave."""

PAUSES = (0.0, 1.0, 2.0, 4.0)
"""Seconds before each try, as long as engines report too many searches."""

LIMITED = (202, 429)
"""HTTP statuses of "too many searches": DuckDuckGo sends 202 with a captcha (ddgs issues 264, 304, 318)."""

TITLE, BODY, ADDRESS = 300, 2000, 2000
"""The maximum characters: a longer title or snippet is cut, and a result with a longer address is dropped."""

COMMAND = tuple(child_process.command("local_rag.web.ddgs_child"))
"""The command that starts the process that searches."""

KEPT = ("PATH", "SYSTEMROOT", "TMP", "TEMP", "TMPDIR", "LANG", "LC_ALL", "PYTHONPATH")
"""The variables that the child gets: no proxy, no foreign certificates, no settings of ddgs."""

NO_PROXY = {"NO_PROXY": "*,0.0.0.0/0,::/0"}
"""Exclude all hosts from a proxy that the client finds in the system's settings: * is any name, the rest any number."""

_log = logging.getLogger(__name__)


class Off:
    """Implement a web search that is off, so that the budget for web searches is 0."""

    enabled = False
    engine = "off"
    fallback_corpus = ""

    def words(self, query: str) -> str:
        """Return the whole query, because nothing leaves."""
        return query

    def search(self, query: str, k: int) -> WebResults:
        """Raise UsageError; no graph calls this."""
        raise UsageError("the web is off", hint="local-rag ask … --web")


class FallbackCorpus:
    """Search an index in place of the web: saved pages, or another index; nothing leaves, is confirmed or logged.

    CRAG's "additional data source" (arXiv 2401.15884, section 4.5). This object owns the index and closes it.
    """

    enabled = True
    engine = "fallback corpus"

    def __init__(self, index: Index, name: str) -> None:
        """Take an index and the name that people see for it: its folder, or the name of the index."""
        self.index = index
        self.fallback_corpus = name

    def words(self, query: str) -> str:
        """Return the whole query, because nothing leaves."""
        return query

    def search(self, query: str, k: int) -> WebResults:
        """Return the k nearest passages, or notes if the search fails; raise Stopped and DeadlineExceeded."""
        from local_rag.core.events import retrieval

        try:
            passages = retrieval("fallback corpus", query, lambda: self.index.search(query, k))
            addresses = self.index.store.addresses({str(passage.metadata["source"]) for passage in passages})
        except Stopped:
            raise
        except LocalRagError as error:
            return WebResults(notes=(f"{self.fallback_corpus} could not be searched: {error}",))
        return WebResults(tuple(self._of_this(passage, addresses) for passage in passages))

    def close(self) -> None:
        self.index.close()

    def _of_this(self, passage: Document, addresses: dict[str, str]) -> Document:
        """Return the passage with this corpus in its metadata.

        `url` is the address from which its page was saved, or else its path.
        """
        source = str(passage.metadata["source"])
        own = {"origin": "web", "url": addresses.get(source, source), "fallback_corpus": self.fallback_corpus}
        return passage.model_copy(update={"metadata": passage.metadata | own})


class DdgsSearch:
    """Search the web with ddgs; a failed search returns notes instead of documents."""

    enabled = True
    fallback_corpus = ""

    def __init__(self, settings: Web, folder: Path, read_page: Callable[[str], LoadedDocument]) -> None:
        """Take the settings, the folder of the log, and a function that reads a page.

        `read_page` raises FileSkipped for a page that it cannot read.
        """
        self._settings, self._folder, self._read_page = settings, folder, read_page

    @property
    def engine(self) -> str:
        return ", ".join(self._settings.engines)

    def words(self, query: str) -> str:
        """Return the words of a query that leave this machine: one line without a hidden character, cut at a word."""
        line = seen_line(query.encode("utf-8", "replace").decode("utf-8"))
        return line if len(line) <= WORDS else line[: WORDS + 1].rpartition(" ")[0] or line[:WORDS]

    def search(self, query: str, k: int) -> WebResults:
        """Return up to k pages, best first; raise Stopped and DeadlineExceeded, and nothing else."""
        words = self.words(query)
        if not words:
            return WebResults(notes=("there are no words to search the web for",))
        results, troubles = self._ask(words)
        documents, notes = pages.documents(results[:k], self._read_page)
        return WebResults(tuple(documents), (*troubles, *notes))

    def _ask(self, words: str) -> tuple[list[SearchResult], list[str]]:
        """Return the results of the first engine that has some, and why the others had none.

        Only engines that report too many searches are asked again, after a pause.
        """
        until = time.monotonic() + self._settings.seconds
        troubles: dict[str, str] = {}
        engines = self._settings.engines
        for pause in PAUSES:
            if not engines or time.monotonic() + pause >= until:
                break
            cancel.current().wait(pause)
            limited = []
            for number, engine in enumerate(engines):
                try:
                    log_query(self._folder, words, engine)
                except OSError as error:
                    log = self._folder / QUERY_LOG
                    return [], [f"not searched, because it cannot be logged: make {log} writable ({reason_of(error)})"]
                anywhere = self._settings.region == ANYWHERE and engine != "duckduckgo"
                region = DEFAULT if anywhere else self._settings.region
                try:
                    results = ask_engine(engine, words, region, (until - time.monotonic()) / (len(engines) - number))
                except SearchFailed as failure:
                    troubles[engine] = str(failure)
                    limited += [engine] if failure.limited else []
                else:
                    troubles.pop(engine, None)
                    return results, list(troubles.values())
            engines = tuple(limited)
        return [], list(troubles.values())


def log_query(folder: Path, query: str, engine: str) -> None:
    """Append {"time", "engines", "query"} to the log in a folder, which only its owner can read.

    Raise OSError unless the whole line was written, because a query that is not logged must not be sent.
    """
    row = {"time": datetime.now().astimezone().isoformat(timespec="seconds"), "engines": [engine], "query": query}
    make_folder(folder)
    path = folder / QUERY_LOG
    with open(path, "a", encoding="utf-8", opener=opener) as log:
        path.chmod(0o600)
        log.write(json.dumps(row, ensure_ascii=False) + "\n")


class SearchFailed(Exception):
    """Report why an engine has no results, and what to do; `limited`: another try a little later may help."""

    def __init__(self, why: str, *, limited: bool = False) -> None:
        super().__init__(why)
        self.limited = limited


def ask_engine(engine: str, words: str, region: str, seconds: float) -> list[SearchResult]:
    """Return the results of one engine within `seconds`; raise Stopped, or SearchFailed for any other problem."""
    request = {"engine": engine, "query": words, "region": region, "seconds": seconds}
    environment = {name: value for name, value in child_process.environment().items() if name.upper() in KEPT}
    try:
        finished = child_process.run(COMMAND, json.dumps(request).encode(), seconds, environment | NO_PROXY)
    except OSError as error:
        raise SearchFailed(f"the process that searches could not be started ({reason_of(error)})") from error
    errors = finished.errors.decode("utf-8", "replace").strip()
    _log.debug("the search of %s said on stderr:\n%s", engine, errors)
    if finished.code is None:
        raise SearchFailed(f"{engine} did not answer in time: try again, or allow more with web.seconds")
    if finished.code:
        raise _failed(engine, errors.rpartition("\n")[2] or f"exit code {finished.code}")
    return _results(engine, json.loads(finished.output))


def _results(engine: str, reply: dict[str, Any]) -> list[SearchResult]:
    """Return the results in the child's reply, whose strings come from a page that anybody may have written."""
    results: dict[str, SearchResult] = {}
    for link, title, body in reply["results"]:
        if url := _usable_url(link):
            results.setdefault(url, SearchResult(url, _one_line(title, TITLE), _one_line(body, BODY)))
    status, error = reply["status"], reply["error"]
    if results:
        return list(results.values())
    if status in LIMITED:
        raise SearchFailed(f"{engine} takes no more searches for now (HTTP {status}): wait some minutes", limited=True)
    if not status:
        raise SearchFailed(f"{engine} cannot be reached: is this machine online? ({_one_line(error, 160)})")
    if status != 200:
        raise SearchFailed(f"{engine} refused the search (HTTP {status}): try later, or set web.engines")
    raise _failed(engine, error) if error else SearchFailed(f"{engine} found nothing: try other words")


def _failed(engine: str, reason: str) -> SearchFailed:
    return SearchFailed(f"the search of {engine} failed: update ddgs (pip install -U ddgs) ({_one_line(reason, 160)})")


def _one_line(text: str, width: int) -> str:
    return shorten(printable(text).encode("utf-8", "replace").decode(), width)


def _usable_url(link: str) -> str:
    """Return a link without its fragment, or "" if it cannot be opened."""
    try:
        url = urldefrag(link.replace(" ", "%20")).url
        usable = urlsplit(url).scheme in ("http", "https") and urlsplit(url).hostname
    except ValueError:
        return ""
    return url if usable and len(url) <= ADDRESS and url.isprintable() else ""
