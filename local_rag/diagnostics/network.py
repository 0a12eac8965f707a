"""Record whom a question contacts, for `local-rag doctor --network`.

Python's audit hook records it, and strace too if it works here.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from local_rag.core.errors import IndexMissing, LocalRagError
from local_rag.core.progress import Display
from local_rag.text.display import joined

if TYPE_CHECKING:
    from local_rag.config.settings import Settings

What = Literal["loopback", "elsewhere", "name look-up"]


@dataclass(frozen=True)
class Contact:
    """Hold a host that was contacted or tried, or a name that was looked up (`port` is None); `by` is the call."""

    host: str
    port: int | None
    what: What
    by: str = field(compare=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.host if self.port is None else f"{host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Hold the record of a process, usually one that asks a question.

    `method` and `blind` tell people how it was recorded, and what the method cannot see. `complete`: no process of ours
    contacted a host that is not in `contacts`. `answer_status` is empty if the question was not answered.
    """

    question: str = ""
    method: str
    blind: str
    complete: bool
    contacts: tuple[Contact, ...]
    exit_code: int
    seconds: float
    answer_status: str = ""
    stdout: str

    @property
    def away(self) -> tuple[Contact, ...]:
        """Return all contacts beyond loopback."""
        return tuple(contact for contact in self.contacts if contact.what != "loopback")

    @property
    def code(self) -> int:
        """Return 0 if the question was answered or abstained from, and nothing elsewhere was contacted; otherwise 1."""
        return 0 if self.answer_status and not self.away else 1


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine; connecting to 0.0.0.0 or :: reaches it too."""
    name = host.rstrip(".").casefold()
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    address = _address(host)
    address = getattr(address, "ipv4_mapped", None) or address
    return address is not None and (address.is_loopback or address.is_unspecified)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _contact(host: str, port: int | None, by: str) -> Contact:
    if port in (53, 5353):  # a name server on this machine asks others
        return Contact(host, port, "name look-up", by)
    return Contact(host, port, "loopback" if is_loopback(host) else "elsewhere", by)


# --- a process that is watched ----------------------------------------------------------------------------------------

AUDIT = "Python's audit hook"
STRACE = f"strace of every process of ours, and {AUDIT}"

OTHERS = (
    "what other programs do with what they are told over loopback or a Unix socket: Ollama, a proxy, a VPN or a name "
    "cache on this machine"
)

_TRACE = "connect,sendto,sendmsg,sendmmsg,?io_uring_setup"
"""The only system calls of Linux that name a host; `-s 0` keeps the sent data out of the trace."""


def can_trace() -> bool:
    """Return whether strace works here, which a container may forbid; the test connects UDP, which sends nothing."""
    if not (sys.platform.startswith("linux") and shutil.which("strace")):
        return False
    control = 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.1", 9))'
    with suppress(OSError), TemporaryDirectory(prefix="local-rag-") as folder:
        file = Path(folder) / "trace"
        subprocess.run([*_strace(file), sys.executable, "-ISc", control], capture_output=True, timeout=30)
        return Contact("127.0.0.1", 9, "loopback", "") in traced(file.read_text(errors="replace").splitlines())
    return False


def _strace(file: Path) -> list[str]:
    options = ["-f", "-qq", "-s", "0", "--seccomp-bpf", "--decode-pids=comm", "-e", "signal=none"]
    return ["strace", *options, "-e", f"trace={_TRACE}", "-o", str(file)]


def watch(code: str, arguments: Sequence[str], *, trace: bool, seconds: float) -> Recording:
    """Run Python code in a child with the caller's environment and stderr; kill it after `seconds`."""
    with TemporaryDirectory(prefix="local-rag-") as folder:
        record, trace_file, stdout = (Path(folder) / name for name in ("record", "trace", "stdout"))
        for file in (record, trace_file):
            file.touch(0o600)
        child = [sys.executable, "-P", "-X", "utf8", str(Path(__file__).with_name("recorded.py")), str(record), code]
        started = time.monotonic()
        command = [*(_strace(trace_file) if trace else ()), *child, *arguments]
        exit_code = _run(command, stdout, seconds)
        took = time.monotonic() - started
        events = list(_events(record.read_text(encoding="utf-8", errors="replace").splitlines()))
        lines = trace_file.read_text(encoding="utf-8", errors="replace").splitlines()
        output = stdout.read_text(encoding="utf-8", errors="replace")
    blind = [OTHERS]
    if rings := {_program(line) for line in lines if "io_uring_setup(" in line and "= -1" not in line}:
        blind.insert(0, f"what {joined(sorted(rings))} sent through io_uring")
    if not trace:
        loaded = next((joined(event["loaded"]) or "none" for event in events if "loaded" in event), "not known")
        blind.insert(0, f"connections that compiled libraries open themselves (loaded: {loaded})")
        if begun := list(dict.fromkeys(str(event["program"]) for event in events if "program" in event)):
            blind.insert(1, f"what these programs did, which were started: {joined(begun)}")
    return Recording(
        method=STRACE if trace else AUDIT,
        blind="; ".join(blind),
        complete=trace and not rings,
        contacts=tuple(dict.fromkeys([*traced(lines), *audited(events)])),
        exit_code=exit_code,
        seconds=took,
        stdout=output,
    )


def _run(command: list[str], stdout: Path, seconds: float) -> int:
    """Run a command in its own process group, kill the group after `seconds`, and return the exit code."""
    with (
        stdout.open("wb") as out,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, start_new_session=True) as process,
    ):
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            _kill(process)
            return process.wait()
        except BaseException:
            _kill(process)
            raise


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True)
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines of recorded.py, without a line that the end of the process cut off."""
    for line in lines:
        with suppress(ValueError):
            yield json.loads(line)


def audited(events: Iterable[dict[str, Any]]) -> Iterator[Contact]:
    """Yield the contacts of the audit hook; an address as a name needs no look-up, but the name of an address does."""
    for event in events:
        by = f"{event.get('event')} by python"
        if "host" in event:
            yield _contact(event["host"], event["port"], by)
            continue
        name, asks_for_names = event.get("name"), event.get("event") in ("socket.gethostbyaddr", "socket.getnameinfo")
        if name and (asks_for_names or not _address(name)):
            yield Contact(name, None, "loopback" if is_loopback(name) else "name look-up", by)


_PORT = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"')
_FAMILY = re.compile(r"sa_family=(?!AF_INET|AF_UNIX|AF_UNSPEC|AF_NETLINK|AF_LOCAL)(\w+)")
_RESOLVER = re.compile(r'connect\(.*sun_path="[^"]*(systemd/resolve|avahi-daemon)[^"]*".*= 0$')


def traced(lines: Iterable[str]) -> Iterator[Contact]:
    """Yield the contacts in the output of `strace -f -s 0 --decode-pids=comm`; tested with strace 6.1."""
    for line in lines:
        by = _program(line)
        for port, host in _PORT.findall(line):
            yield _contact(host, int(port), by)
        for family in _FAMILY.findall(line):
            yield Contact(family, None, "elsewhere", by)
        if service := _RESOLVER.search(line):
            yield Contact(f"a name, asked of {service[1]}", None, "name look-up", by)


def _program(line: str) -> str:
    match = re.match(r"\d+<(.*?)> ", line)
    return match[1] if match else "a process"


# --- the question -----------------------------------------------------------------------------------------------------

QUESTION = "What are these files about?"
"""The question about the person's own files if none is given; whether they answer it hardly matters here."""

LOADING = 300.0
"""Seconds for a question beyond its own limit, for loading libraries under a tracer, and a model."""

ASK = """
import sys
root = sys.argv.pop(1)
if root not in sys.path:
    sys.path.insert(0, root)
from local_rag.cli.app import run
sys.exit(run(sys.argv[1:]))
"""
"""Run the command line in the environment of the caller; `root` is the folder of this package."""


def record_question(settings: Settings, question: str, display: Display) -> tuple[Recording, list[str]]:
    """Record a question, by default one that suits the index; also return notes on Ollama's own calls.

    Without an index, the demo's documents are asked. Raise IndexMissing if a named index does not exist.
    """
    ollama = ollama_lines(settings)
    with _indexed(settings, display) as (indexed, suggested):
        question, trace = question or suggested, can_trace()
        display.say(f"recording a question with {STRACE if trace else AUDIT}…")
        names = ("index", "embedder", "engine", "model", "profile", "graph", "k")
        given = [f"--{name}={indexed.get(name)}" for name in names if indexed.origin[name] == "flag"]
        words = [str(Path(__file__).parents[2]), "ask", "--json", *given, "--", question]
        limit = settings.values.limits.seconds + LOADING
        recording = watch(ASK, words, trace=trace, seconds=limit)
    status = ""
    with suppress(ValueError, TypeError, KeyError):
        status = str(json.loads(recording.stdout)["status"])
    return replace(recording, question=question, answer_status=status), ollama


@contextmanager
def _indexed(settings: Settings, display: Display) -> Iterator[tuple[Settings, str]]:
    """Give settings and a suitable question: for the existing index, or else for a temporary index of the demo."""
    from local_rag.diagnostics.demo import ANSWERED, index_demo
    from local_rag.index.index import Index

    try:
        Index.inspect(settings.index_path)
    except IndexMissing:
        if settings.origin["index"] != "default":
            raise
    else:
        yield settings, QUESTION
        return
    with TemporaryDirectory(prefix="local-rag-") as folder:
        values = settings.values.model_copy(update={"index": str(Path(folder) / "demo")})
        there = replace(settings, values=values, origin={**settings.origin, "index": "flag"})
        index_demo(there, display)
        yield there, ANSWERED


def ollama_lines(settings: Settings) -> list[str]:
    """Return what no recorder here can see: whether the Ollama server may call its maker, and how to prevent that."""
    from local_rag.diagnostics.ollama import cloud_check, no_cloud
    from local_rag.runtime.engine_choice import QUICK, named
    from local_rag.runtime.opening import open_server

    if settings.values.engine == "extractive":
        return ["Ollama: not used, the engine is extractive"]
    if settings.values.engine == "openai":
        return [f"Ollama: not used; what the server at {settings.values.openai.base_url} does by itself is not known"]
    must = settings.values.engine == "ollama" or bool(named(settings))
    try:
        with closing(open_server(settings, None if must else QUICK)) as server:
            server.version()
            check = cloud_check(server)
            found, fix = f"Ollama at {server.address}: {check.found}", check.fix
    except LocalRagError as error:
        fix = no_cloud()
        found = f"Ollama: {error}; so what it does by itself is not known. What keeps it from calling ollama.com:"
    return [found, *(f"  {line}" for line in fix.splitlines())]
