"""The process that searches: `python -I ddgs_child.py`, one JSON request on stdin, one JSON object on stdout.

ddgs speaks through a client written in Rust, which no guard inside Python sees and which obeys every proxy variable.
So it runs here; `ddgs_process.py` decides on the environment and on when it ends. A request is {"path": entries of the
import path, "engine", "query", "region", "most", "seconds"}. A reply is

    {"results": what ddgs returned, "seen": what came back of each request, a status or an error in words,
     "error": what ddgs raised, in words, or ""}

or {"missing": true} where there is no ddgs. This file imports nothing of local_rag: it is started by its path.

`--search-url URL` is for tests: it puts a page on 127.0.0.1 in the place of the engine's own, and ddgs's real request
and parser go there. Nothing in local_rag passes it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

TEXT = 10_000
"""Characters of a string that are passed on."""

LOOPBACK = "http://127.0.0.1:"


def main(arguments: list[str]) -> None:
    """Answer one request."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends this process
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a library prints is no reply
    request = json.load(sys.stdin)
    sys.path += [entry for entry in request["path"] if entry not in sys.path]
    with replies:
        json.dump(_answer(request, arguments), replies)


def _answer(request: dict[str, Any], arguments: list[str]) -> dict[str, Any]:
    try:
        import ddgs
    except ModuleNotFoundError as error:
        if error.name != "ddgs":
            raise
        return {"missing": True}
    from ddgs.engines import ENGINES

    if request["engine"] not in ENGINES["text"]:  # ddgs would ask all the others
        return {"results": [], "seen": [], "error": "the installed ddgs has no such engine, see web.engines"}
    seen: list[int | str] = []
    testing = arguments[:1] == ["--search-url"]
    _watch(seen, LOOPBACK if testing else "")
    if testing:
        if not arguments[1].startswith(LOOPBACK):
            raise ValueError(f"--search-url takes {LOOPBACK}PORT/…, not {arguments[1]}")
        ENGINES["text"][request["engine"]].search_url = arguments[1]
    try:
        results = ddgs.DDGS(timeout=request["seconds"]).text(
            request["query"], region=request["region"], max_results=request["most"], backend=request["engine"]
        )
    except Exception as error:  # the reason travels; the parent tells a person
        return {"results": [], "seen": seen, "error": f"{type(error).__name__}: {error}"[:TEXT]}
    return {"results": _plain(results, request["most"]), "seen": seen, "error": ""}


def _watch(seen: list[int | str], only: str) -> None:
    """Note the status of each answer, follow no redirect, and leave links as they stand in the page.

    ddgs 9.16 says "No results found." for every status but 200, and keeps the rest to itself. It follows redirects,
    to any host, with the query in them where the status is 307 or 308. It unquotes links: a%23b becomes a#b.
    `only` is how every address must begin: some engines make their own, whatever a test says.
    """
    from ddgs.http_client import HttpClient
    from ddgs.results import BaseResult

    client_class: Any = HttpClient
    request = client_class.request

    def watched(client: Any, method: Any, url: Any, *arguments: Any, **options: Any) -> Any:
        client.client.follow_redirects = False
        if not url.startswith(only):
            raise PermissionError(f"a test asked for {url}")
        try:
            response = request(client, method, url, *arguments, **options)
        except Exception as error:
            seen.append(f"{type(error).__name__}: {error}"[:TEXT])
            raise
        seen.append(response.status_code)
        return response

    client_class.request = watched
    result_class: Any = BaseResult
    result_class._normalizers = {**result_class._normalizers, "href": str.strip}


def _plain(value: object, most: int) -> object:
    """As JSON takes it: at most so many results, strings cut, other kinds of values as null."""
    if isinstance(value, list):
        return [_plain(entry, most) for entry in value[:most]]
    if isinstance(value, dict):
        return {str(key): _plain(entry, most) for key, entry in value.items()}
    return value[:TEXT] if isinstance(value, str) else None


if __name__ == "__main__":
    main(sys.argv[1:])
