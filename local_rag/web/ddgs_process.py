"""Asking one engine: the child process that searches, its scrubbed environment, and its end."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local_rag.core import cancel
from local_rag.web import search_results
from local_rag.web.search_results import Reply

COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("ddgs_child.py")))
"""-I: neither PYTHON… variables nor the current folder change what runs; the import path travels in the request."""

KEPT = {"PATH", "SYSTEMROOT", "TMP", "TEMP", "TMPDIR", "LANG"}
"""Variables that the child gets, and LC_… . No proxy, no certificates of somebody's choice, nothing of ddgs's own."""

NO_PROXY = {"NO_PROXY": "*,0.0.0.0/0,::/0"}
"""Against a proxy that the client finds elsewhere, as in the system's settings: * is any name, the rest any number."""

RESULTS = 10
"""Asked for, however few are needed: some may not be usable, and ddgs sends one request for up to ten."""

_POLL = 0.05
_log = logging.getLogger(__name__)


def ask(command: Sequence[str], engine: str, words: str, region: str, seconds: float) -> Reply:
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
        code, replied, complaints = _run(command, json.dumps(request).encode("ascii"), seconds)
    except OSError as error:
        return Reply(trouble=f"the process that searches could not be started ({error})")
    said = complaints.decode("utf-8", "replace").strip()
    if said:
        _log.debug("the search of %s said on stderr:\n%s", engine, said)
    if code is None:
        return Reply(trouble=search_results.late(engine))
    if code:
        why = search_results.line(said.splitlines()[-1], 160) if said else "it said nothing"
        return Reply(trouble=f"the search of {engine} ended with exit code {code}: update ddgs ({why})")
    return search_results.read(_parsed(replied), engine)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What of this process's environment the child gets."""
    return {name: value for name, value in given.items() if name.upper() in KEPT or name.startswith("LC_")} | NO_PROXY


def _run(command: Sequence[str], request: bytes, seconds: float) -> tuple[int | None, bytes, bytes]:
    """Exit code, stdout and stderr; the code is None where the time was up, and then the process is gone as well."""
    until = time.monotonic() + seconds
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(os.environ),
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    ) as process:
        given: bytes | None = request
        try:
            while time.monotonic() < until:
                cancel.check()
                try:
                    replied, complaints = process.communicate(given, timeout=_POLL)
                except subprocess.TimeoutExpired:
                    given = None  # it is on its way
                    continue
                return process.returncode, replied, complaints
            process.kill()
            return None, *process.communicate()
        except BaseException:
            process.kill()
            raise


def _parsed(replied: bytes) -> Any:
    try:
        return json.loads(replied)
    except (ValueError, RecursionError):
        return None
