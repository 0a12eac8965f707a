"""What the searching process said -> results that can be used, or in one line why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urldefrag, urlsplit

from local_rag.text.display import printable, shorten

TITLE, BODY, ADDRESS = 300, 2000, 2000
"""Characters. A longer title or snippet is cut, a result with a longer address is not used."""

LIMITED = {202, 429}
"""HTTP statuses of "too many searches": DuckDuckGo answers 202 and a riddle for humans (ddgs issues 264, 304, 318)."""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of a search engine's page; `body` is its snippet, both it and the title may be empty."""

    url: str
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Reply:
    """Results, or in `trouble` why there are none and what to do. `limited`: asking again a little later may help."""

    results: tuple[Result, ...] = ()
    trouble: str = ""
    limited: bool = False


def read(said: object, engine: str) -> Reply:
    """What the child's JSON means. Nothing in it is believed: ddgs gives what the page's parser made of the page."""
    if not isinstance(said, dict):
        return Reply(trouble=f"the search of {engine} gave no usable reply: update ddgs (pip install -U ddgs)")
    if said.get("missing"):
        return Reply(trouble="searching the web needs the package ddgs: pip install ddgs")
    results = _results(said.get("results"))
    return Reply(results) if results else _trouble(said, engine)


def _results(found: object) -> tuple[Result, ...]:
    by_url: dict[str, Result] = {}
    for one in found if isinstance(found, list) else ():
        if isinstance(one, dict) and (url := _address(one.get("href"))):
            by_url.setdefault(url, Result(url, line(one.get("title"), TITLE), line(one.get("body"), BODY)))
    return tuple(by_url.values())


def line(said: object, width: int) -> str:
    """A string as one printable line, cut at a word; anything else is empty."""
    return shorten(_encodable(printable(said)), width) if isinstance(said, str) else ""


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _address(said: object) -> str:
    """A link without its fragment, or empty if it is none that can be opened. DuckDuckGo's own redirects are undone."""
    if not isinstance(said, str):
        return ""
    url = said.strip().replace(" ", "%20")
    try:
        if urlsplit(url).netloc == "duckduckgo.com" and urlsplit(url).path == "/l/":
            url = parse_qs(urlsplit(url).query).get("uddg", [""])[0]
        url, parts = urldefrag(url).url, urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return ""
    return url if usable and len(url) <= ADDRESS and _encodable(printable(url)) == url and url.isprintable() else ""


def _trouble(said: dict[Any, Any], engine: str) -> Reply:
    """Why there are no results. ddgs itself says "No results found." to nearly everything."""
    seen = said.get("seen")
    last = seen[-1] if isinstance(seen, list) and seen else None
    reason = line(last if isinstance(last, str) else said.get("error"), 160)
    if isinstance(last, int) and last != 200:
        return _status(last, engine)
    if reason.startswith("RatelimitException"):
        return Reply(trouble=f"{engine} takes no more searches for now: wait some minutes", limited=True)
    if "timed out" in reason.lower() or reason.startswith("TimeoutException"):
        return Reply(trouble=late(engine))
    if isinstance(last, str):
        return Reply(trouble=f"{engine} cannot be reached: is this machine online? ({reason})")
    if last == 200 and (not reason or "No results found" in reason):
        return Reply(trouble=f"{engine} found nothing: try other words")
    return Reply(trouble=f"the search of {engine} failed: update ddgs (pip install -U ddgs) ({reason or 'no reason'})")


def _status(status: int, engine: str) -> Reply:
    if status in LIMITED:
        return Reply(
            trouble=f"{engine} takes no more searches for now (HTTP {status}): wait some minutes", limited=True
        )
    if 300 <= status < 400:
        return Reply(trouble=f"{engine} wants to redirect (HTTP {status}), which is not followed: set web.engines")
    return Reply(trouble=f"{engine} refused the search (HTTP {status}): try later, or set web.engines")


def late(engine: str) -> str:
    return f"{engine} did not answer in time: try again, or allow more with web.seconds"
