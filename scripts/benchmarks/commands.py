"""The program as a person starts it, timed from the shell to the last byte, with the memory of all its processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_EVERY = 0.02
"""Seconds between two looks at the memory."""


@dataclass(frozen=True)
class Done:
    """`seconds` from the start to the end, `busy` processor seconds; `own` and `all` are the most bytes of the process,
    and with its children.

    `file` is the part of `own` that is a file in memory, libraries and weights, which the system may drop. 0 where the
    system tells nothing of it (only Linux does).
    """

    seconds: float
    code: int
    out: str
    busy: float = 0.0
    own: int = 0
    all: int = 0
    file: int = 0


def program() -> list[str]:
    """The installed `local-rag`, else the module."""
    beside = Path(sys.executable).with_name("local-rag")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "local_rag"]


def environment(data: Path, **more: str) -> dict[str, str]:
    """Settings, indexes and caches below `data`; no Ollama is asked; compiled modules are kept, as for everybody."""
    own = {f"LOCAL_RAG_{name}_DIR": str(data / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
    kept = {key: value for key, value in os.environ.items() if not key.startswith("LOCAL_RAG_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | own | {"LOCAL_RAG_ENGINE": "extractive"} | more


def timed(words: Sequence[str], env: Mapping[str, str]) -> Done:
    """Run a command to its end; nothing else is done meanwhile. What it prints is read, as a terminal would."""
    began, busy = time.perf_counter(), _of_children()
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    return Done(time.perf_counter() - began, done.returncode, done.stdout + done.stderr, _of_children() - busy)


def watched(words: Sequence[str], env: Mapping[str, str]) -> Done:
    """The same with a look at the memory of its processes now and then, so the seconds are not to be reported."""
    began = time.perf_counter()
    with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        own = whole = file = 0
        while process.poll() is None:
            mine, mapped = _resident(process.pid)
            own, file = max(own, mine), max(file, mapped)
            whole = max(whole, mine + sum(_resident(child)[0] for child in _below(process.pid)))
            time.sleep(_EVERY)
        return Done(time.perf_counter() - began, process.returncode, "", own=own, all=whole, file=file)


def _of_children() -> float:
    """Processor seconds of all children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def must(done: Done) -> Done:
    """The same, unless the command failed: then what it said, and SystemExit."""
    if done.code not in (0, 3, 4):
        print(f"error: the command failed with {done.code}\n{done.out}", file=sys.stderr)
        raise SystemExit(1)
    return done


def _resident(pid: int) -> tuple[int, int]:
    """Bytes in memory, and those of them that are files."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.startswith(("VmRSS", "RssFile"))}
    return sizes.get("VmRSS", 0), sizes.get("RssFile", 0)


def _below(pid: int) -> list[int]:
    found: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in listed.read_text().split()]
        except OSError:
            continue
        found += [one for child in children for one in (child, *_below(child))]
    return found
