"""The ID by which a client names an indexed file: paths never come from a client."""

from __future__ import annotations

import hashlib


def file_id(path: str) -> str:
    """The ID of a file by its stored path: the first 20 hex digits of its SHA-256."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:20]
