"""The child process that searches with one engine, and its scrubbed environment."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_rag.core import child_process
from local_rag.web import search_results
from local_rag.web.search_results import EngineReply

COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("ddgs_child.py")))
"""-I: neither PYTHON… variables nor the current folder change what runs; the import path travels in the request."""

KEPT = {"PATH", "SYSTEMROOT", "TMP", "TEMP", "TMPDIR", "LANG"}
"""Variables that the child gets, and LC_… . No proxy, no certificates of somebody's choice, nothing of ddgs's own."""

NO_PROXY = {"NO_PROXY": "*,0.0.0.0/0,::/0"}
"""Against a proxy that the client finds elsewhere, as in the system's settings: * is any name, the rest any number."""

RESULTS = 10
"""Asked for, however few are needed: some may not be usable, and ddgs sends one request for up to ten."""

_log = logging.getLogger(__name__)


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
        return EngineReply(trouble=f"the process that searches could not be started ({error})")
    errors = finished.errors.decode("utf-8", "replace").strip()
    if errors:
        _log.debug("the search of %s said on stderr:\n%s", engine, errors)
    if finished.code is None:
        return EngineReply(trouble=search_results.late(engine))
    if finished.code:
        why = search_results.one_line(errors.splitlines()[-1], 160) if errors else "it said nothing"
        return EngineReply(trouble=f"the search of {engine} ended with exit code {finished.code}: update ddgs ({why})")
    try:
        return search_results.engine_reply(json.loads(finished.output), engine)
    except (ValueError, RecursionError):
        return search_results.engine_reply(None, engine)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What of this process's environment the child gets."""
    return {name: value for name, value in given.items() if name.upper() in KEPT or name.startswith("LC_")} | NO_PROXY
