"""Text for people: one line, no control characters, counts and lists in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from local_rag.text.urls import is_url

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters, cut at a word, with … where something is missing."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    cut = line[: width - 1].rsplit(" ", 1)[0] or line[: width - 1]
    return cut.rstrip(" ,;:") + "…"


def printable(text: str) -> str:
    """Without ANSI sequences and control characters but newline and tab: nothing read may drive a terminal.

    Bidirectional overrides (Unicode TR 9, section 2) go too: they make a text read otherwise than it is.
    """
    return re.sub("[\u202a-\u202e\u2066-\u2069]", "", _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def plural(count: int, noun: str, many: str = "") -> str:
    """A count with its noun: 1 passage, 2 passages, 2 entries (`many` where -s is wrong)."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def joined(parts: Iterable[str], last: str = "and") -> str:
    """A list in words: a, b and c."""
    items = list(parts)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}" if items else ""


def short_path(path: str | Path) -> str:
    """Relative to where the person stands when it lies below, with ~ for the home folder otherwise; URLs stay whole."""
    short = str(path)
    if not is_url(short):
        full = Path(path)
        bases = ((Path.cwd(), ""), (Path.home(), "~"))
        short = next(
            (str(prefix / full.relative_to(base)) for base, prefix in bases if full.is_relative_to(base)), str(full)
        )
    return short.replace("\n", "\\n").replace("\r", "\\r")


def format_bytes(count: int) -> str:
    """Bytes for people, in powers of 1,000."""
    if count < 1000:
        return f"{count} B"
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if amount >= 1000:
            amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}"
