"""One search by one engine, in a child process with a scrubbed environment."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urldefrag, urlsplit

from local_rag.core import child_process
from local_rag.core.reasons import reason_of
from local_rag.text.display import printable, shorten

COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("ddgs_child.py")))
"""-I: neither PYTHON… variables nor the current folder change what runs; the import path travels in the request."""

KEPT = {"PATH", "SYSTEMROOT", "TMP", "TEMP", "TMPDIR", "LANG"}
"""Variables that the child gets, and LC_… . No proxy, no certificates of somebody's choice, nothing of ddgs's own."""

NO_PROXY = {"NO_PROXY": "*,0.0.0.0/0,::/0"}
"""Against a proxy that the client finds elsewhere, as in the system's settings: * is any name, the rest any number."""

RESULTS = 10
"""Asked for, however few are needed: some may not be usable, and ddgs sends one request for up to ten."""

TITLE, BODY, ADDRESS = 300, 2000, 2000
"""Characters. A longer title or snippet is cut, a result with a longer address is not used."""

LIMITED = {202, 429}
"""HTTP statuses of "too many searches": DuckDuckGo answers 202 and a riddle for humans (ddgs issues 264, 304, 318)."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result of a search engine; `body` is its snippet, both it and the title may be empty."""

    url: str
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class EngineReply:
    """Results, or in `trouble` why there are none and what to do. `limited`: asking again a little later may help."""

    results: tuple[SearchResult, ...] = ()
    trouble: str = ""
    limited: bool = False


def search(command: Sequence[str], engine: str, words: str, region: str, seconds: float) -> EngineReply:
    """Results of one engine within so many seconds. Raises Stopped; anything else that goes wrong is in the reply."""
    request = {
        "path": [entry for entry in sys.path if entry and isinstance(entry, str)],
        "engine": engine,
        "query": words,
        "region": region,
        "most": RESULTS,
        "seconds": seconds,
    }
    try:
        finished = child_process.run(command, json.dumps(request).encode("ascii"), seconds, environment(os.environ))
    except OSError as error:
        return EngineReply(trouble=f"the process that searches could not be started ({reason_of(error)})")
    errors = finished.errors.decode("utf-8", "replace").strip()
    if errors:
        _log.debug("the search of %s said on stderr:\n%s", engine, errors)
    if finished.code is None:
        return EngineReply(trouble=late(engine))
    if finished.code:
        why = one_line(errors.splitlines()[-1], 160) if errors else "it said nothing"
        return EngineReply(trouble=f"the search of {engine} ended with exit code {finished.code}: update ddgs ({why})")
    try:
        return engine_reply(json.loads(finished.output), engine)
    except (ValueError, RecursionError):
        return engine_reply(None, engine)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What of this process's environment the child gets."""
    return {name: value for name, value in given.items() if name.upper() in KEPT or name.startswith("LC_")} | NO_PROXY


def engine_reply(reply: object, engine: str) -> EngineReply:
    """What the child's JSON means. Nothing in it is believed: ddgs gives what the page's parser made of the page."""
    if not isinstance(reply, dict):
        return EngineReply(trouble=f"the search of {engine} gave no usable reply: update ddgs (pip install -U ddgs)")
    if reply.get("missing"):
        return EngineReply(trouble="searching the web needs the package ddgs: pip install ddgs")
    results = _results(reply.get("results"))
    return EngineReply(results) if results else _trouble(reply, engine)


def _results(entries: object) -> tuple[SearchResult, ...]:
    by_url: dict[str, SearchResult] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and (url := _usable_url(entry.get("href"))):
            title, body = one_line(entry.get("title"), TITLE), one_line(entry.get("body"), BODY)
            by_url.setdefault(url, SearchResult(url, title, body))
    return tuple(by_url.values())


def one_line(text: object, width: int) -> str:
    """A string as one printable line, cut at a word; anything else is empty."""
    return shorten(_encodable(printable(text)), width) if isinstance(text, str) else ""


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _usable_url(link: object) -> str:
    """A link without its fragment, or empty if it is none that can be opened. DuckDuckGo's own redirects are undone."""
    if not isinstance(link, str):
        return ""
    url = link.strip().replace(" ", "%20")
    try:
        if urlsplit(url).netloc == "duckduckgo.com" and urlsplit(url).path == "/l/":
            url = parse_qs(urlsplit(url).query).get("uddg", [""])[0]
        url, parts = urldefrag(url).url, urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return ""
    return url if usable and len(url) <= ADDRESS and _encodable(printable(url)) == url and url.isprintable() else ""


def _trouble(reply: dict[Any, Any], engine: str) -> EngineReply:
    """Why there are no results. ddgs itself says "No results found." to nearly everything."""
    seen = reply.get("seen")
    last = seen[-1] if isinstance(seen, list) and seen else None
    reason = one_line(last if isinstance(last, str) else reply.get("error"), 160)
    if isinstance(last, int) and last != 200:
        return EngineReply(trouble=_status(last, engine), limited=last in LIMITED)
    if reason.startswith("RatelimitException"):
        return EngineReply(trouble=f"{engine} takes no more searches for now: wait some minutes", limited=True)
    if "timed out" in reason.lower() or reason.startswith("TimeoutException"):
        return EngineReply(trouble=late(engine))
    if isinstance(last, str):
        return EngineReply(trouble=f"{engine} cannot be reached: is this machine online? ({reason})")
    if last == 200 and (not reason or "No results found" in reason):
        return EngineReply(trouble=f"{engine} found nothing: try other words")
    reason = reason or "no reason"
    return EngineReply(trouble=f"the search of {engine} failed: update ddgs (pip install -U ddgs) ({reason})")


def _status(status: int, engine: str) -> str:
    if status in LIMITED:
        return f"{engine} takes no more searches for now (HTTP {status}): wait some minutes"
    if 300 <= status < 400:
        return f"{engine} wants to redirect (HTTP {status}), which is not followed: set web.engines"
    return f"{engine} refused the search (HTTP {status}): try later, or set web.engines"


def late(engine: str) -> str:
    """That an engine was too slow."""
    return f"{engine} did not answer in time: try again, or allow more with web.seconds"
