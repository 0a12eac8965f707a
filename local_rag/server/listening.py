"""Where the server listens, who can reach it there, and the note by which other commands of this person reach it."""

from __future__ import annotations

import json
import re
import shlex
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from local_rag.core.address import LOOPBACK, Address, listens
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.private_files import make_folder, replace_file
from local_rag.core.reasons import reason_of
from local_rag.server.sessions import FOLDER, new_token

FURTHER = 20
"""Ports after the usual one that are tried where that is taken."""

LEAST_PASSWORD = 12
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9a-f:]+")


@dataclass(frozen=True, slots=True)
class Listening:
    """Sockets that are bound to a port, and `names` besides loopback that the server answers under."""

    sockets: Sequence[socket.socket]
    port: int
    host: str = LOOPBACK[0]
    names: Sequence[str] = ()

    @property
    def is_wide(self) -> bool:
        """Whether another machine can reach it."""
        return not ip_address(self.host).is_loopback

    @property
    def address(self) -> str:
        """Where the page is."""
        return Address("http", self.names[0] if self.is_wide else LOOPBACK[0], self.port).url

    @property
    def reachable_by(self) -> str:
        """Who can reach it, for the person who starts it."""
        if not self.is_wide:
            names = f", and what forwards {', '.join(self.names)} to it" if self.names else ""
            return f"Only programs of this machine can reach it{names}; each needs its own address or the key"
        return (
            f"Everybody in the network of {self.host} can reach it, and whoever knows the password can read your "
            "files; nothing is encrypted on the way"
        )


def listen(port: int, host: str = "", names: Sequence[str] = (), *, exactly: bool = False) -> Listening:
    """Listen at loopback, or at another address of this machine where `host` is one.

    Without `exactly` a later port is taken where that one is not free. Raises UsageError where none can be had.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(f"--allow-host takes a name or an address without port, not {name!r}")
    hosts = _hosts(host)
    if not ip_address(hosts[0]).is_loopback and not names:
        raise UsageError(
            f"--host {host} needs the names under which others reach this machine",
            hint=f"local-rag serve --host {host} --allow-host NAME --password-file FILE",
        )
    for candidate in (port,) if exactly else range(port, min(port + FURTHER, 65_535) + 1):
        if sockets := _bound(hosts, candidate):
            return Listening(sockets, sockets[0].getsockname()[1], hosts[0], tuple(names))
    raise UsageError(
        f"port {port} of {hosts[0]} is taken" if exactly else f"the ports from {port} on are taken",
        hint=f"local-rag serve --port {port + FURTHER + 1 if port + FURTHER < 65_000 else 8321}",
    )


def _hosts(host: str) -> Sequence[str]:
    if host in ("", "localhost", *LOOPBACK):
        return LOOPBACK if host in ("", "localhost") else (host,)
    try:
        return (str(ip_address(host)),)
    except ValueError as error:
        raise UsageError(
            f"--host takes an address of this machine, such as 192.168.1.5, not {host!r}", hint="local-rag serve"
        ) from error


def _bound(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """Sockets at all hosts, or none where the port is taken at one of them; a machine may lack IPv6."""
    bound: list[socket.socket] = []
    for host in hosts:
        try:
            bound.append(_bind(host, bound[0].getsockname()[1] if bound else port))
        except OSError as error:
            if host == LOOPBACK[1] and bound and not _is_taken(error):
                continue
            for each in bound:
                each.close()
            if not _is_taken(error):
                raise UsageError(f"{host} cannot be listened at: {reason_of(error)}", hint="local-rag serve") from error
            return []
    return bound


def _is_taken(error: OSError) -> bool:
    import errno

    return error.errno in (errno.EADDRINUSE, errno.EACCES)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        listener.listen(128)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def read_password(file: Path | None, host: str) -> str:
    """The password of a wider address, from its file; empty where there is no file.

    Raises UsageError for a wider address without one, for a file that others can read, and for a short password.
    """
    wide = not ip_address(_hosts(host)[0]).is_loopback
    if file is None:
        if wide:
            raise UsageError(
                f"--host {host} lets other machines in, and that needs a password",
                hint=f"local-rag serve --host {host} --allow-host NAME --password-file FILE",
            )
        return ""
    try:
        password = file.read_text(encoding="utf-8").strip()
        mode = file.stat().st_mode
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the password file {file} cannot be read: {reason_of(error)}", hint=f"ls -l {shlex.quote(str(file))}"
        ) from error
    if sys.platform != "win32" and mode & 0o077:
        raise UsageError(f"others can read the password file {file}", hint=f"chmod 600 {shlex.quote(str(file))}")
    if len(password) < LEAST_PASSWORD:
        raise UsageError(f"a password has at least {LEAST_PASSWORD} characters, and this one has {len(password)}")
    return password


def one_time_address(data_folder: Path, address: str, port: int) -> str:
    """An address that signs one page in. The token stands behind #, which no browser sends and no log sees."""
    return f"{address}/#token={new_token(data_folder, port)}"


def note_running(data_folder: Path, listening: Listening) -> Path:
    """Write down where the server runs, for `running`; the file is deleted at its end."""
    folder = data_folder / FOLDER
    make_folder(folder)
    note = folder / f"running-{listening.port}.json"
    about = {"address": listening.address, "host": listening.host, "port": listening.port}
    replace_file(note, json.dumps(about).encode())
    return note


def running(data_folder: Path, port: int | None = None) -> tuple[str, int]:
    """Address and port of the server that runs (at this port); of several the one that started last.

    Raises LocalRagError where none does.
    """
    notes = sorted((data_folder / FOLDER).glob("running-*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for note in notes:
        with suppress(OSError, ValueError, KeyError):
            about = json.loads(note.read_text(encoding="utf-8"))
            host = {"0.0.0.0": LOOPBACK[0], "::": LOOPBACK[1]}.get(about["host"], about["host"])
            if port in (None, about["port"]) and listens(Address("http", host, about["port"])):
                return str(about["address"]), int(about["port"])
    where = f" at port {port}" if port else ""
    raise LocalRagError(f"no server of local-rag runs{where}", hint="local-rag serve")
