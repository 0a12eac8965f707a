"""Read and check the addresses of model servers, without any heavy import."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection
from dataclasses import dataclass
from errno import EADDRNOTAVAIL
from urllib.parse import urlsplit

from local_rag.core.errors import NotLocal, ServerDown, UsageError

PORT = 11434
LOOPBACK = ("127.0.0.1", "::1")
"""The addresses that `localhost` stands for, in this order; no resolver is asked."""

OLLAMA_HOSTS = "LOCAL_RAG_OLLAMA_ALLOW_HOSTS"
"""The environment variable that allows other hosts by name."""

DOWNLOAD = "https://ollama.com/download"

PROBE_SECONDS = 0.5
"""Seconds that a probe waits for a connection to this machine; anything slower is left to the HTTP client."""


_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|[\w.-]*)(?::\d*)?", re.ASCII)
"""A host with an optional port: a name, IPv4, or IPv6 in brackets; letters that only look like ASCII do not match."""

_FOUR_NUMBERS = re.compile(r"\d+(?:\.\d+){3}", re.ASCII)


@dataclass(frozen=True)
class Address:
    """Hold the address of a server."""

    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __str__(self) -> str:
        return self.url.removeprefix("http://")

    @property
    def is_local(self) -> bool:
        try:
            ip = ipaddress.ip_address(self.host)
        except ValueError:
            return self.host == "localhost"
        return ip.is_loopback and not getattr(ip, "ipv4_mapped", None)  # Python 3.13 calls ::ffff:127.0.0.1 loopback


def address(text: str) -> Address:
    """Parse `host`, `host:port` or a URL, as Ollama parses OLLAMA_HOST.

    0.0.0.0 and ::, on which a server listens, become the loopback address. Raise UsageError for anything else.
    """
    given = text.strip().strip("\"'")
    wrong = UsageError(
        f"an address of Ollama is host, host:port or a URL, not {text!r}", hint=f"127.0.0.1:{PORT} is the usual one"
    )
    if given.count(":") > 1 and "//" not in given and not given.startswith("["):
        given = f"[{given}]"  # a bare IPv6 address
    has_scheme = "://" in given
    try:
        parts = urlsplit(given if has_scheme else f"http://{given}")
        port = parts.port
        host = (parts.hostname or "localhost").rstrip(".")
        if _FOUR_NUMBERS.fullmatch(host):
            ipaddress.IPv4Address(host)
    except ValueError as error:
        raise wrong from error
    beside = parts.username is not None or parts.query or parts.fragment or parts.path.strip("/")
    if parts.scheme not in ("http", "https") or beside or any(character.isspace() for character in given):
        raise wrong
    if (has_scheme and not parts.hostname) or not _HOST.fullmatch(parts.netloc.rpartition("@")[2]):
        raise wrong
    usual = {"http": 80, "https": 443}[parts.scheme] if has_scheme else PORT
    return Address(parts.scheme, {"0.0.0.0": LOOPBACK[0], "::": LOOPBACK[1]}.get(host, host), port or usual)


def check_local(where: Address, allowed: Collection[str], variable: str = OLLAMA_HOSTS) -> None:
    """Raise NotLocal for a host that is neither this machine nor in `allowed`; the hint names `variable`."""
    if not where.is_local and where.host not in allowed:
        raise NotLocal(
            f"{where} is not this machine, so nothing was sent to it",
            hint=f"if it is yours, allow it by name: {variable}={where.host}",
        )


def probe(where: Address) -> None:
    """Raise ServerDown if this machine refuses a connection at the address; this takes about a millisecond."""
    if where.is_local and not listens(where):
        raise down(where)


def listens(where: Address) -> bool:
    """Return whether the address accepts connections, or is too slow to refuse one."""
    hosts = LOOPBACK if where.host == "localhost" else (where.host,)
    return not all(_refuses(host, where.port) for host in hosts)


def down(where: Address) -> ServerDown:
    """Return the error that no server is there, with a hint how to get one."""
    return ServerDown(f"no Ollama server answers at {where}", hint=f"ollama serve   (to install it: {DOWNLOAD})")


def _refuses(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), PROBE_SECONDS).close()
    except ConnectionRefusedError:
        return True
    except OSError as error:
        return error.errno == EADDRNOTAVAIL  # a machine without IPv6
    return False
