"""Passwords of files while they are read: in memory alone, and in nothing that is shown or written."""

from __future__ import annotations

from collections.abc import Mapping


class Passwords:
    """Path -> password; what is made of it for people names none."""

    def __init__(self, by_path: Mapping[str, str] | None = None) -> None:
        self._by_path = dict(by_path or {})

    def of(self, path: str) -> str:
        """The password of a file, empty where there is none."""
        return self._by_path.get(path, "")

    def __repr__(self) -> str:
        return f"<passwords of {len(self._by_path)} files>"
