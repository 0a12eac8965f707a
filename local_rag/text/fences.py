"""Make text from files, the web, a person or a model safe to stand between the fences of a prompt."""

from __future__ import annotations

import re
import unicodedata

from local_rag.text.words import IGNORABLE

BROKEN = "‹"
"""The replacement for a bracket that would begin a fence."""

_FENCE = re.compile(r"<(?=\s*+/?+\s*+(?:passage|answer)\b)", re.IGNORECASE)
_BRACKET = re.compile("[<＜﹤]")
"""All characters that NFKC maps to the bracket of a fence."""
_HIDDEN = re.compile("[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")
_IGNORABLE = re.compile(f"[{IGNORABLE}]")


def fenced(text: str) -> str:
    """Remove from a text everything that reads like a fence, <passage> or <answer>, and its hidden characters.

    A fence is found as a model may read it: under NFKC and without default-ignorable characters; its bracket is then
    replaced. Tag characters are removed, because they spell invisible words (the flags of England, Scotland and Wales
    become a plain flag). Bidirectional overrides and isolates are removed, because they show a text in another order
    than it is stored in. Everything else stays as it is: 10⁵ is not 105, and joiners belong to scripts and emoji.
    """
    if text.isascii():
        return _FENCE.sub(BROKEN, text)
    text = _HIDDEN.sub("", text)
    if not _BRACKET.search(text):
        return text
    starts = {match.start() for match in _FENCE.finditer(text)}
    for ignored in ("", " "):  # an ignorable character inside a name is not seen, and behind the name it ends it
        read, origins = _as_read(text, ignored)
        starts |= {origins[match.start()] for match in _FENCE.finditer(read)}
    return "".join(BROKEN if place in starts else character for place, character in enumerate(text))


def _as_read(text: str, ignored: str) -> tuple[str, list[int]]:
    """Return the text under NFKC with `ignored` for ignorable characters, and for each of its characters the position
    it comes from.

    Each character is normalized by itself: no combination with its neighbours is ever a letter of a fence.
    """
    read, origins = [], list[int]()
    for place, character in enumerate(text):
        shown = _IGNORABLE.sub(ignored, unicodedata.normalize("NFKC", character)) if ord(character) > 127 else character
        read.append(shown)
        origins += [place] * len(shown)
    return "".join(read), origins
