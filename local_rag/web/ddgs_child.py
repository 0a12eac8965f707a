"""Search in a process of its own: one request on stdin, one reply on stdout, both JSON.

ddgs uses a client written in Rust, which no guard inside Python sees and which obeys every proxy variable. `search.py`
therefore chooses its environment and ends it in time. A request is {"engine", "query", "region", "seconds"}. A reply is
{"status": the last HTTP status or 0, "results": [[url, title, snippet]], "error": what went wrong, or ""}.
"""

from __future__ import annotations

import json
import signal
import sys
from math import ceil
from typing import Any

from local_rag.core import child_process


def main() -> None:
    """Answer one request."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends this process
    with child_process.reply_stream() as replies:
        replies.write(json.dumps(_answer(json.load(sys.stdin))).encode())


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    from ddgs.engines import ENGINES
    from ddgs.results import BaseResult

    unquoted: Any = BaseResult
    unquoted._normalizers = {**unquoted._normalizers, "href": str.strip}  # ddgs makes a#b of a%23b
    engine: Any = ENGINES["text"][request["engine"]](timeout=ceil(request["seconds"]))
    engine.http_client.client.follow_redirects = False  # 307 and 308 would carry the query to any host
    send, statuses = engine.http_client.request, [0]

    def noted(*arguments: Any, **options: Any) -> Any:
        """Return the response and note its status, because ddgs treats every status but 200 as no results."""
        statuses.append(0)
        response = send(*arguments, **options)
        statuses[-1] = response.status_code
        return response

    engine.http_client.request = noted
    try:
        found = engine.search(request["query"], region=request["region"]) or []
        results = [[str(text) for text in (each.href, each.title, each.body)] for each in found]
        return {"status": statuses[-1], "results": results, "error": ""}
    except Exception as error:  # pages and engines can fail in any way
        return {"status": statuses[-1], "results": [], "error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
