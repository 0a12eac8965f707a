"""What earlier searches brought, for some hours: small JSON files that only their owner can read."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from local_rag.core.private_files import make_folder

NAME = "web-cache"
ENTRIES = 200
"""Files kept; the oldest go. At most some 300 kB each, by the length of three pages' texts."""


class SearchCache:
    """Values by the hash of a key. A file that cannot be read or is not whole is a miss, never an error."""

    def __init__(self, folder: Path, hours: float, entries: int = ENTRIES) -> None:
        """`hours` is how long a value is good; with 0 nothing is kept or looked up."""
        self.folder = folder / NAME
        self.seconds = hours * 3600
        self.entries = entries

    def get(self, *key: object) -> tuple[float, Any] | None:
        """When it was kept (seconds since 1970) and the value, or None."""
        if not self.seconds:
            return None
        try:
            row = json.loads(self._path(key).read_bytes())
            kept, value = float(row["time"]), row["value"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return (kept, value) if 0 <= time.time() - kept < self.seconds else None

    def put(self, value: Any, *key: object) -> None:
        """Keep a value that JSON can hold. A disk that takes nothing more is no reason to fail."""
        if not self.seconds:
            return
        data = json.dumps({"time": time.time(), "value": value}).encode("ascii")
        with suppress(OSError):
            make_folder(self.folder)
            self.folder.chmod(0o700)
            self._write(self._path(key), data)
            self._prune()

    def forget(self, urls: Collection[str]) -> int:
        """Delete what was kept of searches that brought one of these pages; how many."""
        count = 0
        with suppress(OSError):
            for path in self.folder.iterdir():
                held = path.read_bytes()
                if any(json.dumps(url).encode("ascii") in held for url in urls):
                    path.unlink(missing_ok=True)
                    count += 1
        return count

    def _path(self, key: tuple[object, ...]) -> Path:
        digest = hashlib.sha256(json.dumps(key).encode("ascii")).hexdigest()
        return self.folder / f"{digest}.json"

    def _write(self, path: Path, data: bytes) -> None:
        """Whole or not at all, also with two writers; mkstemp makes files of mode 0600."""
        handle, draft = tempfile.mkstemp(dir=self.folder, suffix=".draft")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise

    def _prune(self) -> None:
        """Drop what is too old or too much; drafts of a process that was killed are files like others."""
        by_age = sorted(((path.stat().st_mtime, path) for path in self.folder.iterdir()), reverse=True)
        for number, (written, path) in enumerate(by_age):
            if number >= self.entries or time.time() - written > self.seconds:
                path.unlink(missing_ok=True)
