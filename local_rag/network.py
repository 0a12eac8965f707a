"""One question under a recorder: which hosts were contacted, how that was seen, and what cannot be seen that way.

The strongest recorder that the machine allows is taken. strace sees the system calls of every process of ours, native
clients included; Python's audit hook sees Python's own sockets in one process.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from local_rag.config import Settings
from local_rag.doctor import Check
from local_rag.errors import EngineError, IndexMissing, LocalRagError
from local_rag.text import joined

PATIENCE = 900.0
"""Seconds for the question: a language model may be loaded, and strace makes everything slower."""

ABSTAINED, NOT_GROUNDED = 3, 4
"""Exit codes of `ask` besides 0 with which a question was worked on to its end."""

QUESTION = "What do these files say about privacy?"
"""Asked of an index of one's own; without an index the demo is run."""

OUR_PROGRAM = "from local_rag.cli import run; import sys; sys.exit(run(sys.argv[1:]))"

HOOK = """
import json, sys
seen = open(sys.argv.pop(1), "a", encoding="utf-8")
def hook(event, about):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        where = about[-1] if event == "socket.sendmsg" else about[1]
        if isinstance(where, tuple):
            print(json.dumps([str(where[0]), int(where[1])]), file=seen, flush=True)
    elif event == "socket.getaddrinfo" and about[0]:
        host = about[0].decode() if isinstance(about[0], bytes) else str(about[0])
        print(json.dumps([host, 0]), file=seen, flush=True)
sys.addaudithook(hook)
"""

_CALL = re.compile(r"\b(?:connect|sendto|sendmsg|sendmmsg)\(")
_IPV4 = re.compile(r'sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)')
_IPV6 = re.compile(r'sin6_port=htons\((\d+)\).*?inet_pton\(AF_INET6, "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Contact:
    """A host that was spoken to, or looked up (port 0)."""

    host: str
    port: int

    @property
    def is_here(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            address = ipaddress.ip_address(self.host.partition("%")[0])
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return (mapped or address).is_loopback

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else f"{host} (looked up)"


@dataclass(frozen=True, slots=True)
class Recording:
    """What was run, how it ended, whom it contacted, and what the method cannot see."""

    method: str
    blind: str
    command: str
    code: int
    seconds: float
    contacts: tuple[Contact, ...]

    @property
    def elsewhere(self) -> tuple[Contact, ...]:
        return tuple(contact for contact in self.contacts if not contact.is_here)


def network_checks(settings: Settings, flags: Mapping[str, str | None]) -> Iterator[Check]:
    """Run a question as the person's own environment has it, and say whom it contacted.

    `flags` are the options of `ask` that this check was given, by their names.
    """
    recording = record(_arguments(settings, flags))
    ran = f"{recording.command}, {recording.seconds:.0f} s, exit code {recording.code}"
    if recording.elsewhere:
        found = f"CONTACTED {joined(map(str, recording.elsewhere))} ({ran})"
        fix = "without --web this is a defect: please report it" if not _web(settings) else "the web is switched on"
        yield Check("network", "bad", found, fix)
    elif recording.code not in (0, ABSTAINED, NOT_GROUNDED):
        yield Check("network", "bad", f"that run failed, so it shows nothing ({ran})", recording.command)
    else:
        yield Check("network", "ok", f"0 hosts outside this machine were contacted ({ran})")
    here = joined(map(str, (contact for contact in recording.contacts if contact.is_here)))
    yield Check("network, this machine", "ok", f"contacted: {here or 'nothing'}")
    yield Check("network, method", "note", f"{recording.method}; it cannot see {recording.blind}")
    yield from _daemon(settings)


def _arguments(settings: Settings, flags: Mapping[str, str | None]) -> list[str]:
    from local_rag.index.index import Index

    given = [part for name, value in flags.items() if value for part in (f"--{name}", value)]
    try:
        Index.inspect(settings.index_path)
    except IndexMissing:
        return ["demo"]
    return ["ask", QUESTION, "--index", settings.values.index, *given]


def _web(settings: Settings) -> bool:
    return bool(settings.values.web.enabled != "off")


def _daemon(settings: Settings) -> Iterator[Check]:
    """What no process of ours can see: whether the Ollama server calls its maker by itself."""
    from local_rag.choosing import open_server
    from local_rag.doctor_ollama import cloud_checks

    try:
        server = open_server(settings, patience=2.0)
        try:
            server.version()
            yield from cloud_checks(server)
        finally:
            server.close()
    except (EngineError, LocalRagError) as error:
        yield Check("Ollama cloud", "ok", f"no Ollama server was asked: {error}")


def record(arguments: Sequence[str], program: str = "") -> Recording:
    """Run `OUR_PROGRAM`, or another, under the strongest recorder there is."""
    program = program or OUR_PROGRAM
    with tempfile.TemporaryDirectory(prefix="local-rag-") as folder:
        log = Path(folder) / "calls"
        if traces(log):
            method, blind = "strace, which sees every process of ours with its native clients", _BLIND
            command = [*STRACE, str(log), sys.executable, "-c", program, *arguments]
        else:
            method, blind = "Python's audit hook in the main process (strace would see more)", _BLINDER
            command = [sys.executable, "-c", HOOK + program, str(log), *arguments]
        started = time.monotonic()
        code = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE
        ).returncode
        seconds = time.monotonic() - started
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    found = contacts_of_strace(lines) if command[0] == STRACE[0] else contacts_of_hook(lines)
    shown = " ".join(["local-rag", *(f'"{word}"' if " " in word else word for word in arguments)])
    return Recording(method, blind, shown, code, seconds, tuple(dict.fromkeys(found)))


STRACE = ("strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-e", "signal=none", "-o")

_BLIND = "other programs, such as an Ollama server that calls out by itself or a service of the system"
_BLINDER = f"native clients, the child processes of ours, and {_BLIND}"


def traces(log: Path) -> bool:
    """Whether strace is there and may trace a program of ours."""
    if sys.platform != "linux" or not shutil.which(STRACE[0]):
        return False
    tried = subprocess.run([*STRACE, str(log), "true"], capture_output=True, env=os.environ)
    log.unlink(missing_ok=True)
    return tried.returncode == 0


def contacts_of_strace(lines: Iterable[str]) -> Iterator[Contact]:
    """The addresses in lines of strace; sockets between processes of one machine and of the kernel have none."""
    for line in lines:
        if _CALL.search(line):
            for address in (_IPV4, _IPV6):
                yield from (Contact(host, int(port)) for port, host in address.findall(line))


def contacts_of_hook(lines: Iterable[str]) -> Iterator[Contact]:
    """What the audit hook wrote: an address and a port in each line."""
    for line in lines:
        host, port = json.loads(line)
        yield Contact(str(host), int(port))
