"""Run the server: listen at loopback only, open a browser, and stop every job at the end."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

import anyio.to_thread
import uvicorn

from local_rag.core.address import LOOPBACK, Address, listens
from local_rag.core.errors import LocalRagError, UsageError, reason_of
from local_rag.core.private_files import make_folder, replace_file
from local_rag.server.app import application
from local_rag.server.auth import FOLDER, new_code, read_key
from local_rag.server.workspace import Workspace

FURTHER = 20
"""The number of ports after the usual one that are tried if that is taken."""
CLOSING = 2
"""Seconds that the server waits for open responses at the end, after it has stopped the jobs."""


def listen(port: int, *, exactly: bool = False) -> tuple[Sequence[socket.socket], int]:
    """Return sockets at loopback and their port; without `exactly` a later port is used if the given one is taken.

    Raise UsageError if no port is free.
    """
    for candidate in (port,) if exactly else range(port, min(port + FURTHER, 65_535) + 1):
        if sockets := _bound(candidate):
            return sockets, sockets[0].getsockname()[1]
    raise UsageError(
        f"port {port} of {LOOPBACK[0]} is taken" if exactly else f"the ports from {port} on are taken",
        hint=f"local-rag serve --port {port + FURTHER + 1 if port + FURTHER < 65_000 else 8321}",
    )


def _bound(port: int) -> list[socket.socket]:
    """Return sockets at both loopback addresses, or only at IPv4 without IPv6, or none if the port is taken."""
    bound: list[socket.socket] = []
    for host in LOOPBACK:
        try:
            where = host, bound[0].getsockname()[1] if bound else port
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            bound.append(socket.create_server(where, family=family, backlog=128))
        except OSError as error:
            taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
            if bound and not taken:
                continue
            for each in bound:
                each.close()
            if not taken:
                raise UsageError(f"{host} cannot be listened at: {reason_of(error)}", hint="local-rag serve") from error
            return []
    return bound


def address(data_folder: Path, port: int) -> str:
    """Return a new address that signs a browser in once; raise OSError."""
    return f"{Address('http', LOOPBACK[0], port).url}/?code={new_code(read_key(data_folder))}"


def running(data_folder: Path, port: int | None = None) -> int:
    """Return the port of the running server, at this port if given; of several servers, of the latest.

    Raise LocalRagError if none runs.
    """
    notes = sorted((data_folder / FOLDER).glob("running-*"), key=lambda note: note.stat().st_mtime, reverse=True)
    for note in notes:
        known = int(note.stem.partition("-")[2])
        if port in (None, known) and listens(Address("http", LOOPBACK[0], known)):
            return known
    where = f" at port {port}" if port else ""
    raise LocalRagError(f"no server of local-rag runs{where}", hint="local-rag serve")


@contextmanager
def noted(data_folder: Path, port: int) -> Iterator[Path]:
    """Keep a page that opens the address of the server while it runs; `running` finds it, and only its owner reads it.

    A browser is started with the path of that page, because other accounts can see the arguments of a program.
    """
    note = data_folder / FOLDER / f"running-{port}.html"
    make_folder(note.parent)
    link = escape(address(data_folder, port))
    page = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={link}">'
    replace_file(note, f'{page}<title>local-rag</title><a href="{link}">local-rag</a>\n'.encode())
    try:
        yield note
    finally:
        note.unlink(missing_ok=True)


def open_browser(page: Path) -> bool:
    """Open a page in the person's browser; return False if there is no graphical one."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False  # a text browser would take over the server's terminal
    with suppress(webbrowser.Error, OSError):
        return webbrowser.open(page.as_uri())
    return False


def serve(workspace: Workspace, sockets: Sequence[socket.socket], started: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM, then close the workspace; `started` is called when the server answers."""
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # its lines quote requests
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # what uvicorn raises again after its end
    try:
        with suppress(KeyboardInterrupt):
            PageServer(workspace, started).run(list(sockets))
    finally:
        workspace.close()


class PageServer(uvicorn.Server):
    """Run uvicorn with the application of a workspace."""

    def __init__(self, workspace: Workspace, started: Callable[[], None] = lambda: None) -> None:
        super().__init__(
            uvicorn.Config(
                application(workspace),
                http="h11",
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=CLOSING,
            )
        )
        self._jobs, self._on_start = workspace.jobs, started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        await anyio.to_thread.run_sync(self._on_start)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the jobs first, which ends their streams, so that the server waits for none of them."""
        await anyio.to_thread.run_sync(self._jobs.close)
        await super().shutdown(sockets)
