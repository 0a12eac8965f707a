"""The heading that a page of a PDF begins with: what its first lines say it is about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from local_rag.core.documents import Heading

FIRST = 4
"""Lines at the head of a page that are looked at."""

RUNNING = 3
"""Pages from which a line at their head is that of all of them: the name of a company, a link to the contents."""

_WORDS = 12
_LONGEST = 100


def page_headings(texts: Sequence[str]) -> list[tuple[Heading, ...]]:
    """The heading of each page, none where its first line that is no other page's is a sentence or a row of figures.

    A file of fewer than RUNNING pages has none: its title says as much. Lines that differ only by their numbers, as
    page numbers do, are the same.
    """
    heads = [_head(text) for text in texts]
    pages = Counter(line for head in heads for line in {_without_numbers(line) for _, line in head})
    if len(texts) < RUNNING:
        return [()] * len(texts)
    return [
        _heading(text, [(at, line) for at, line in head if pages[_without_numbers(line)] < RUNNING])
        for text, head in zip(texts, heads, strict=True)
    ]


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+", "", line).strip()


def _head(text: str) -> list[tuple[int, str]]:
    """The first lines of a page with letters in them, and where they start."""
    lines, start = list[tuple[int, str]](), 0
    while start < len(text) and len(lines) < FIRST:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + 4 * _LONGEST)].strip()
        if sum(character.isalpha() for character in line) > 3:
            lines.append((start, line))
        start = end + 1
    return lines


def _heading(text: str, head: Sequence[tuple[int, str]]) -> tuple[Heading, ...]:
    if not head:
        return ()
    start, line = head[0]
    alone = len(text) == start + len(line)
    return () if alone or not _is_heading(line) else (Heading(start, 1, line),)


def _is_heading(line: str) -> bool:
    tokens = line.split()
    if len(line) > _LONGEST or len(tokens) > _WORDS or line[0].islower() or not line[0].isalnum() or line[-1] in ",;":
        return False
    letters = sum(character.isalpha() or character.isspace() for character in line)
    long = [word for word in tokens if len(word) > 3 and word[0].isalpha()]
    capitals = sum(not word[0].islower() for word in long)
    return letters >= 0.7 * len(line) and (line[-1] not in ".!?" or capitals > 0.6 * len(long) > 0)
