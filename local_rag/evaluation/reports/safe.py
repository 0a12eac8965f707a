"""Text that came from files, models and errors, made fit to be shown: no controls, no lone surrogates, not endless."""

from __future__ import annotations

from local_rag.text.display import printable, shorten

WIDTH = 400
"""Characters that are kept of one fact: an error can quote a page."""


def said(value: object, width: int = WIDTH) -> str:
    """The text as one line of at most `width` characters."""
    return shorten(block(value, 4 * width), width)


def block(value: object, limit: int) -> str:
    """The text with its lines, cut with … after `limit` characters; empty for None."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    kept = printable(text[:limit].encode("utf-8", "replace").decode())
    return kept if len(text) <= limit else f"{kept.rstrip()}…"
