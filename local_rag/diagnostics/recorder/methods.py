"""Ways to watch a process, strongest first; each is tried on a connection of our own before it is believed."""

from __future__ import annotations

import ipaddress
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from local_rag.diagnostics.recorder.contacts import Contact, Recording, contact, distinct, lookup
from local_rag.diagnostics.recorder.strace import BYTES, CALLS, traced
from local_rag.text.display import joined

Method = Literal["strace", "namespace", "audit"]

TITLES: dict[Method, str] = {
    "strace": "strace of every process of ours",
    "namespace": "a network namespace without a route, and Python's audit hook",
    "audit": "Python's audit hook",
}

OTHERS = (
    "what other programs do with what they are told over loopback or a Unix socket: Ollama, a proxy or VPN on this "
    "machine"
)
NO_OLLAMA = "an Ollama on this machine cannot be reached in there, so the question was answered without it"
UNIX = "a service behind a Unix socket (a name cache, D-Bus) is outside the namespace"
WINDOWS = "asyncio's own connections on Windows"

CONTROL = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.connect(("127.0.0.1", 9))
"""
"""What a method must see before it is used; connecting a UDP socket sends nothing."""
SEEN = ("127.0.0.1", 9)

NO_ROUTE = ("unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
"""A network namespace of its own, in which there is loopback and nothing else."""

TRYING = 30.0
"""Seconds in which a method must have seen its control."""


def usable(method: Method) -> bool:
    """Whether it runs here and sees what it should: a container may forbid tracing, a system its namespaces."""
    tools = {"strace": ("strace",), "namespace": ("unshare", "ip", "sh"), "audit": ()}[method]
    if tools and not (sys.platform.startswith("linux") and all(map(shutil.which, tools))):
        return False
    with suppress(OSError):
        watched = watch(method, CONTROL, (), seconds=TRYING)
        return watched.exit_code == 0 and SEEN in [(contact.host, contact.port) for contact in watched.contacts]
    return False


def watch(
    method: Method,
    code: str,
    arguments: Sequence[str],
    *,
    seconds: float,
    say: Callable[[str], None] = lambda _: None,
) -> Recording:
    """Run Python code under a method. `say` gets each line of its stderr; after `seconds` it is killed.

    What a method writes may hold words that were sent over loopback: it lies in a folder that is removed at the end.
    """
    with TemporaryDirectory(prefix="local-rag-") as folder:
        record, stdout = Path(folder) / "record", Path(folder) / "stdout"
        record.touch(0o600)
        hooked = "" if method == "strace" else str(record)
        child = [sys.executable, "-P", "-X", "utf8", str(Path(__file__).with_name("recorded_process.py")), hooked, code]
        started = time.monotonic()
        exit_code, stderr = _run([*_before(method, record), *child, *arguments], stdout, seconds, say)
        took = time.monotonic() - started
        with record.open(encoding="utf-8", errors="replace") as lines:
            contacts, blind, complete = _seen(method, lines)
        output = stdout.read_text(encoding="utf-8", errors="replace")
    return Recording(
        method=TITLES[method],
        blind=blind,
        complete=complete,
        contacts=contacts,
        exit_code=exit_code,
        seconds=took,
        stdout=output,
        stderr=stderr,
    )


def _before(method: Method, record: Path) -> list[str]:
    if method == "strace":
        kept = ("-s", str(BYTES), "-e", f"trace={CALLS}", "-e", "signal=none", "-o", str(record))
        return ["strace", "-f", "-qq", "-y", *_newer(), *kept]
    return list(NO_ROUTE) if method == "namespace" else []


@cache
def _newer() -> tuple[str, ...]:
    """Options that not every strace has: stop at calls of interest only, and name the program in each line."""
    known = subprocess.run(["strace", "--help"], capture_output=True, text=True, errors="replace").stdout
    return tuple(option for option in ("--seccomp-bpf", "--decode-pids=comm") if option.partition("=")[0] in known)


def _run(command: list[str], stdout: Path, seconds: float, say: Callable[[str], None]) -> tuple[int, str]:
    """Exit code and stderr of a command in a process group of its own, so that all of it can be ended."""
    stderr: list[str] = []
    with (
        stdout.open("wb") as out,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            start_new_session=True,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        alarm = threading.Timer(seconds, _kill, [process])
        alarm.start()
        try:
            assert process.stderr
            for line in process.stderr:
                stderr.append(line)
                say(line.rstrip("\n"))
            return process.wait(), "".join(stderr)
        except BaseException:
            _kill(process)
            raise
        finally:
            alarm.cancel()


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(OSError):
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True)
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _seen(method: Method, lines: Iterable[str]) -> tuple[tuple[Contact, ...], str, bool]:
    """Contacts, what the method cannot see, and whether any process of ours could have done more than was seen."""
    if method == "strace":
        trace = traced(lines)
        rings = [f"what {joined(trace.rings)} sent through io_uring"] if trace.rings else []
        return trace.contacts, "; ".join([*rings, OTHERS]), not rings
    audit = audited(lines)
    libraries = (
        "it did not end, so which is not known" if audit.loaded is None else f"loaded: {joined(audit.loaded) or 'none'}"
    )
    blind = [f"connections that compiled libraries open themselves ({libraries})"]
    if audit.started:
        blind.append(f"what these programs did, which were started: {joined(audit.started)}")
    if method == "audit":
        windows = [WINDOWS] if sys.platform == "win32" else []
        return audit.contacts, "; ".join([*blind, *windows, OTHERS]), False
    contacts = (
        replace(contact, failed="no route") if contact.what == "elsewhere" else contact for contact in audit.contacts
    )
    return tuple(contacts), "; ".join([*(f"{part}, though none had a route" for part in blind), UNIX, NO_OLLAMA]), False


# --- what the audit hook of recorded_process.py wrote ---------------------------------------------------------------


@dataclass(frozen=True)
class Audited:
    """Contacts; the programs that were started; the libraries with clients of their own, None if it never ended."""

    contacts: tuple[Contact, ...]
    started: tuple[str, ...]
    loaded: tuple[str, ...] | None


def audited(lines: Iterable[str]) -> Audited:
    """Everything that the hook saw. A line that was cut off by the end of the process is left out."""
    contacts: list[Contact] = []
    started: dict[str, None] = {}
    loaded: tuple[str, ...] | None = None
    for event in map(_event, lines):
        if "program" in event:
            started[event["program"]] = None
        elif "port" in event:
            contacts.append(contact(event["host"], event["port"], f"{event['event']} by python"))
        elif "host" in event:
            if event["host"] and not _is_address(event):
                contacts.append(lookup(event["host"], f"{event['event']} by python"))
        elif "loaded" in event:
            loaded = tuple(event["loaded"])
    return Audited(distinct(contacts), tuple(started), loaded)


def _event(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _is_address(event: dict[str, Any]) -> bool:
    """Whether nobody needs to be asked: an address is turned into an address; only its name would be a question."""
    if event["event"] in ("socket.gethostbyaddr", "socket.getnameinfo"):
        return False
    try:
        ipaddress.ip_address(event["host"].partition("%")[0])
    except ValueError:
        return False
    return True
