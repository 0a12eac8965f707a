"""`local-rag serve` as a process of its own."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress

import httpx

from local_rag.server.auth import SECRET

PROGRAM = (sys.executable, "-m", "local_rag", "serve")


def free_port():
    """One below those that the system gives to whoever asks for any: nobody else takes it before it is used."""
    while True:
        with suppress(OSError), socket.create_server(("127.0.0.1", random.randint(10_000, 30_000))) as server:
            return server.getsockname()[1]


class Serving:
    """The process, and the address that it printed: `base`, and the key in it."""

    def __init__(self, child):
        self.child = child
        self.printed = child.stdout.readline().strip()
        assert "/?key=" in self.printed, child.communicate()
        self.base, _, self.key = self.printed.partition("/?key=")

    @contextmanager
    def page(self):
        """A client that is signed in as a page is."""
        with httpx.Client(base_url=self.base, headers={"origin": self.base}, timeout=60) as client:
            there, _, secret = client.get("/", params={"key": self.key}).headers["location"].partition("#secret=")
            assert there == "/"
            client.headers[SECRET] = secret
            yield client

    def ended(self, by=signal.SIGINT):
        """Exit code and stderr, after a signal."""
        self.child.send_signal(by)
        _, shown = self.child.communicate(timeout=600)
        return self.child.returncode, shown


@contextmanager
def serving(*options):
    command = [*PROGRAM, "--no-browser", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            yield Serving(child)
        finally:
            child.kill()


def printed(*options):
    return subprocess.run([*PROGRAM, *options], capture_output=True, text=True, timeout=600)
