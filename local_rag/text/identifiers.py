"""Prepare text for full-text search: identifiers as one word, and a blank around each sign of scripts
without blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from local_rag.text.words import UNSPACED, fold

SHORTEST_ID = 5
"""The least number of characters of an identifier, without its blanks and hyphens."""

_MOST_GROUPS = 12
"""The most groups of an identifier; an IBAN has nine at most."""

_RUN = re.compile(
    r"(?<![^\W_])(?=[A-Za-z]*[\d/‐‑–-]|[+(])(?:"  # a plain word is none: that is soon seen
    r"[A-Z]{2}\d{2}(?:[ \u00a0][A-Z0-9]{1,4}){2,8}"  # IBAN, ISO 13616
    r"|(?:\+|\(?0)\d[\d ()/.\u00a0-]{4,20}\d"  # a telephone number, DIN 5008, E.123
    r"|\d{3,4}(?:[ \u00a0]\d{3,4}){2,4}"  # a card, a tax number
    r"|[A-Za-z0-9]++(?:[-/‐‑–][A-Za-z0-9]++)+"  # a key, a number of a part
    r")(?![^\W_])"
)
_GROUP = re.compile(r"[A-Za-z0-9]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def is_unspaced(text: str) -> bool:
    """Return whether a text holds a sign of a script without blanks."""
    return bool(_UNSPACED.search(text))


def searchable(text: str) -> str:
    """Return the text as full-text search reads it: spaced, followed by its identifiers without blanks."""
    return "\n".join([spaced(text), *dict.fromkeys(identifiers(text))])


def spaced(text: str) -> str:
    """Put a blank around each sign of a script without blanks."""
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)


def identifiers(text: str) -> Iterator[str]:
    """Yield each identifier without blanks, from each of its groups on: +49 (0)30 555-01 17 may be asked as 030
    5550117.
    """
    for groups in _groups(text):
        yield from (each for first in range(len(groups) - 1) if len(each := "".join(groups[first:])) >= SHORTEST_ID)


def asked_for(query: str) -> list[str]:
    """Return the identifiers of a query without blanks and leading zeros; the search matches longer ones with this
    beginning, too.
    """
    whole = map("".join, _groups(query))
    plain = (fold(word) for word in _GROUP.findall(query) if len(word) > SHORTEST_ID and any(map(str.isdigit, word)))
    return [each for each in dict.fromkeys(name.lstrip("0") for name in (*whole, *plain)) if len(each) >= SHORTEST_ID]


def _groups(text: str) -> Iterator[list[str]]:
    """Yield the letters and digits of each identifier that is written in groups."""
    if text.isascii() and not any(digit in text for digit in "0123456789"):  # to see that takes no time
        return
    for match in _RUN.finditer(text):
        groups = _GROUP.findall(fold(match.group()))[:_MOST_GROUPS]
        if any(map(str.isdigit, "".join(groups))):
            yield groups
