"""Run programs as a person does: ended by Ctrl-C, serving, at a terminal, without a network or rights."""

import ctypes
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx

from local_rag.config.settings import Settings
from local_rag.server.auth import SECRET, new_code, read_key


def stopped(program, arguments, env, line):
    """Run a program, send Ctrl-C once it shows the line, and return its exit code and what it shows from then on."""
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        shown = []
        for each in child.stderr:
            shown.append(each)
            if each.startswith(line):
                break
        else:
            raise AssertionError("".join(shown))
        child.send_signal(signal.SIGINT)
        rest = child.stderr.read()
        return child.wait(600), rest


NO_ROUTE = ("unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
"""The command that runs another one in a network namespace with loopback only."""


def namespaces():
    if not shutil.which("unshare") or not shutil.which("ip"):
        return False
    return subprocess.run([*NO_ROUTE, "true"], capture_output=True).returncode == 0


_VERSION_3 = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of capabilities(7)."""


def bound_by_permissions(call):
    """Return the result of `call()` while permissions bind even the superuser.

    A thread of its own gives up the capabilities (Linux) for good, because `os.access` checks more than the effective
    ones.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        return call()
    with ThreadPoolExecutor(1, initializer=give_up_rights) as thread:
        return thread.submit(call).result()


def give_up_rights():
    """Let permissions bind this thread, and the threads that it starts, for good."""
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, 64 bits each in two halves
    library = ctypes.CDLL(None, use_errno=True)
    if library.capget(header, sets) == 0:
        for first in range(3):
            sets[first] &= ~_OVERRIDES
        if library.capset(header, sets) == 0:
            return
    raise OSError(ctypes.get_errno(), "the rights of a superuser cannot be given up")


def free_port():
    """Return a port below those that the system assigns, so that nobody else takes it before it is used."""
    while True:
        with suppress(OSError), socket.create_server(("127.0.0.1", random.randint(10_000, 30_000))) as server:
            return server.getsockname()[1]


class Serving:
    """Hold the process, and the address that it printed: `base`, and the code in it."""

    def __init__(self, child):
        self.child = child
        self.printed = child.stdout.readline().strip()
        assert "/?code=" in self.printed, child.communicate()
        self.base, _, self.code = self.printed.partition("/?code=")

    @contextmanager
    def page(self):
        """Give a client that is signed in as a page is."""
        with httpx.Client(base_url=self.base, headers={"origin": self.base}, timeout=60) as client:
            signed = client.get("/", params={"code": new_code(read_key(Settings.load().data_folder))})
            client.headers[SECRET] = signed.text.partition('name="secret" content="')[2].partition('"')[0]
            yield client

    def ended(self, by=signal.SIGINT):
        """Return exit code and stderr after a signal."""
        self.child.send_signal(by)
        _, shown = self.child.communicate(timeout=600)
        return self.child.returncode, shown


@contextmanager
def serving(*options):
    command = [sys.executable, "-m", "local_rag", "serve", "--no-browser", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            yield Serving(child)
        finally:
            child.kill()


CURSOR = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\]8;;.*?\x1b\\\\|\r")
AT_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
"""


class Terminal:
    """Run a process with this terminal; `shown` is everything that was on it, with cursor movements."""

    def __init__(self, arguments, program="from local_rag.cli import main; main()", cwd=None):
        self.ours, theirs = os.openpty()
        command = [sys.executable, "-c", AT_TERMINAL + program, *arguments]
        env = os.environ | {"TERM": "xterm", "COLUMNS": "120", "PYTHONWARNINGS": "error"}
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=cwd, start_new_session=True
        )
        os.close(theirs)
        self.shown = self._left = ""

    def until(self, words, seconds=60):
        """Return what is shown before these words, without cursor movements; both count as seen."""
        deadline = time.monotonic() + seconds
        while words not in self._left:
            assert time.monotonic() < deadline, f"{words!r} is not in {self._left!r}"
            if select.select([self.ours], [], [], 0.1)[0]:
                assert self._read(), self.shown
        before, _, self._left = self._left.partition(words)
        return before

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def interrupt_until(self, words):
        """Press Ctrl-C until the words are shown, because one between two reads of readline waits for the next key."""
        for _ in range(12):
            self.type("\x03")
            with suppress(AssertionError):
                return self.until(words, seconds=5)
        raise AssertionError(f"{words!r} is not in {self.shown!r}")

    def end(self):
        """Return the exit code after reading everything that is shown."""
        while self._read():
            pass
        return self.process.wait(120)

    def _read(self):
        try:
            part = os.read(self.ours, 4096).decode("utf-8", "replace")
        except OSError:  # Linux: the other end is closed
            return ""
        self.shown += part
        self._left = CURSOR.sub("", self._left + part)
        return part

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
