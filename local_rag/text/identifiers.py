"""What full-text search sees of a text besides its words: identifiers as one word, and scripts without blanks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from local_rag.text.words import UNSPACED, fold

SHORTEST = 5
"""Characters of an identifier without its blanks and hyphens."""

_MOST = 12
"""Groups of an identifier; an IBAN has nine at most."""

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
    """Whether a sign of a script without blanks is in it."""
    return bool(_UNSPACED.search(text))


def searchable(text: str) -> str:
    """The text as full-text search reads it: spaced, with its identifiers in one piece behind it."""
    return "\n".join([spaced(text), *dict.fromkeys(identifiers(text))])


def spaced(text: str) -> str:
    """The text with a blank around each sign of a script without blanks."""
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)


def identifiers(text: str) -> Iterator[str]:
    """Each identifier from each of its groups on: +49 (0)30 555-01 17 is asked as 030 5550117, too."""
    for groups in _groups(text):
        yield from (each for first in range(len(groups) - 1) if len(each := "".join(groups[first:])) >= SHORTEST)


def asked_for(query: str) -> list[str]:
    """The identifiers of a query in one piece, without leading zeros: longer ones that begin so are meant, too."""
    whole = map("".join, _groups(query))
    plain = (fold(word) for word in _GROUP.findall(query) if len(word) > SHORTEST and any(map(str.isdigit, word)))
    return [each for each in dict.fromkeys(name.lstrip("0") for name in (*whole, *plain)) if len(each) >= SHORTEST]


def _groups(text: str) -> Iterator[list[str]]:
    """The letters and digits of each identifier that is written in groups."""
    if text.isascii() and not any(digit in text for digit in "0123456789"):  # to see that takes no time
        return
    for match in _RUN.finditer(text):
        groups = _GROUP.findall(fold(match.group()))[:_MOST]
        if any(map(str.isdigit, "".join(groups))):
            yield groups
