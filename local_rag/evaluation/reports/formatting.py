"""Figures and texts of a report as a person reads them.

A figure that does not exist is a dash, never a zero. Texts of files, models and errors lose control characters and
lone surrogates, and are cut.
"""

from __future__ import annotations

from local_rag.text.display import printable, shorten

NONE = "–"
"""Stands for a figure that nothing could be counted for."""

WIDTH = 400
"""Characters that are kept of one fact: an error can quote a page."""


def share(value: float | None) -> str:
    """A share or a score with three digits: .642, 1.000, -.050."""
    if value is None:
        return NONE
    shown = f"{value:.3f}"
    if shown == "-0.000":
        shown = "0.000"
    return shown.replace("0.", ".", 1) if shown.startswith(("0.", "-0.")) else shown


def percent(value: float | None) -> str:
    """A share in whole percent: 64%."""
    return "none" if value is None else f"{value:.0%}"


def count(value: float | None) -> str:
    """A whole number: 1,204."""
    return NONE if value is None else f"{value:,.0f}"


def mean(value: float | None) -> str:
    """A mean of whole numbers: 2.4, from 100 on without a decimal; 0 is none at all."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 100 or value == 0 else f"{value:.1f}"


def seconds(value: float | None) -> str:
    """Seconds with three significant digits: 0.012, 1.25, 83.1."""
    if value is None:
        return NONE
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def one_line(value: object, width: int = WIDTH) -> str:
    """The text as one line of at most `width` characters."""
    return shorten(block(value, 4 * width), width)


def block(value: object, limit: int) -> str:
    """The text with its lines, cut with … after `limit` characters; empty for None."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    kept = printable(text[:limit].encode("utf-8", "replace").decode())
    return kept if len(text) <= limit else f"{kept.rstrip()}…"
