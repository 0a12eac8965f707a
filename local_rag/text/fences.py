"""Text from files, the web, a person or a model, made safe to stand between the fences of a prompt."""

from __future__ import annotations

import re
import unicodedata

from local_rag.text.words import IGNORABLE

BROKEN = "‹"
"""Stands in place of the bracket that would begin a fence."""

_FENCE = re.compile(r"<(?=\s*+/?+\s*+(?:passage|answer)\b)", re.IGNORECASE)
_BRACKET = re.compile("[<＜﹤]")
"""What NFKC reads as the bracket of a fence: these and no others."""
_HIDDEN = re.compile("[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")
_IGNORABLE = re.compile(f"[{IGNORABLE}]")


def fenced(text: str) -> str:
    """The text without anything that reads like a fence, <passage> or <answer>, and without what nobody sees of it.

    A fence is found as a model may read it: under NFKC and without default-ignorable characters; its bracket is then
    replaced. Tag characters go, because they spell words that nobody sees (with them the flags of England, Scotland and
    Wales, which become a plain flag), and so do bidirectional overrides and isolates, because a text reads otherwise
    than it is. All else stays as it is: 10⁵ is not 105, and joiners belong to scripts and emoji.
    """
    if text.isascii():
        return _FENCE.sub(BROKEN, text)
    text = _HIDDEN.sub("", text)
    if not _BRACKET.search(text):
        return text
    read, origins = _as_read(text)
    starts = {match.start() for match in _FENCE.finditer(text)}
    starts |= {origins[match.start()] for match in _FENCE.finditer(read)}
    return "".join(BROKEN if place in starts else character for place, character in enumerate(text))


def _as_read(text: str) -> tuple[str, list[int]]:
    """The text under NFKC without ignorable characters, and where each of its characters comes from.

    Each character is taken by itself: what it makes with those around it is never a letter of a fence.
    """
    read, origins = [], list[int]()
    for place, character in enumerate(text):
        shown = _IGNORABLE.sub("", unicodedata.normalize("NFKC", character)) if ord(character) > 127 else character
        read.append(shown)
        origins += [place] * len(shown)
    return "".join(read), origins
