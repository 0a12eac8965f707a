"""A program at a terminal of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time

AT_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
"""


class Terminal:
    """A process whose terminal this is; `shown` is all that stood on it."""

    def __init__(self, arguments, env, program="from local_rag.cli import main; main()"):
        self.ours, theirs = os.openpty()
        command = [sys.executable, "-c", AT_TERMINAL + program, *arguments]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
        )
        os.close(theirs)
        self.shown = ""

    def read_until(self, words, times):
        until = time.monotonic() + 120
        while self.shown.count(words) < times:
            assert time.monotonic() < until and self._read(), self.shown

    def wait_until_unseen(self):
        """Until what is typed is shown no more."""
        import termios

        until = time.monotonic() + 120
        while termios.tcgetattr(self.ours)[3] & termios.ECHO:
            assert time.monotonic() < until, self.shown
            time.sleep(0.01)

    def type(self, line):
        os.write(self.ours, f"{line}\n".encode())

    def end(self):
        while self._read():
            pass
        os.close(self.ours)
        return self.process.wait(120)

    def _read(self):
        try:
            part = os.read(self.ours, 4096).decode("utf-8", "replace")
        except OSError:  # Linux: the other end is closed
            return ""
        self.shown += part
        return part
