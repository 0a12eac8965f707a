"""Small disks: a file system in memory, where mounting is allowed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


class Disk:
    """A file system of some size at `folder`; use it in a `with`. Skips the test where nothing may be mounted."""

    def __init__(self, folder, kilobytes):
        if sys.platform != "linux" or os.geteuid() != 0:
            pytest.skip("mounting a small disk needs root on Linux")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=700", "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", str(self.folder)], check=True)

    def enlarge(self, kilobytes=200_000):
        subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(self.folder)], check=True)

    def fill(self, but=0):
        """Write a file that leaves `but` kilobytes."""
        room = os.statvfs(self.folder)
        free = room.f_bavail * room.f_frsize - but * 1024
        with (self.folder / "filler").open("wb") as file:
            if free > 0:
                os.posix_fallocate(file.fileno(), 0, free)

    def free(self):
        (self.folder / "filler").unlink()
