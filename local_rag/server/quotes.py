"""Where a quote stands in the stored text of a file, and that text cut around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from local_rag.index.store import reads
from local_rag.index.store.schema import StoredDocument
from local_rag.server.file_listings import FileListing
from local_rag.text.display import for_terminal

BEFORE, AFTER = 3_000, 6_000
"""Code points that are shown before and after a quote, or the beginning of a document."""


class Spot(NamedTuple):
    """Code points [start, end) of a document; equal where the quote does not stand in it. `number` counts from 0."""

    number: int
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """Text of a document; `mark`: it is the quote."""

    text: str
    mark: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a document: where it begins and ends, None where the document does, too."""

    segments: tuple[Segment, ...]
    before: int | None
    after: int | None


def spot_of(
    listing: FileListing,
    path: str,
    documents: Sequence[StoredDocument],
    *,
    number: int | None,
    page: int | None,
    chunk_id: str,
    start: int,
    end: int,
    quote: str,
) -> Spot | None:
    """Where a quote stands now; its file may have been indexed anew since it was cut.

    `chunk_id` is the passage that it was cut from: it names the document where `number` does not, as long as it is
    stored. What stands at `start` counts where it is the quote; else the quote where it stands once. Without a quote
    the span is taken as it is. None where no document of the file is of that number or page.
    """
    if number is None and chunk_id and len(documents) > 1:
        number = listing.read(reads.number_of, path, chunk_id)
    possible = [
        each.number for each in documents if number in (None, each.number) and (page is None or page == each.page)
    ]
    if not possible:
        return None
    if not quote or start >= end:
        first = possible[0]
        length = documents[first].characters
        return Spot(first, start, end) if 0 <= start < end <= length else Spot(first)
    exact = [each for each in listing.read(reads.with_quote, path, quote, start) if each in possible]
    if exact:
        return Spot(exact[0], start, start + len(quote))
    holding = listing.read(reads.with_quote, path, quote)
    nearest = [each for each in holding if each in possible] or holding
    if len(nearest) == 1:
        text = listing.read(reads.text, path, nearest[0])
        if text.count(quote) == 1:
            at = text.index(quote)
            return Spot(nearest[0], at, at + len(quote))
    return Spot(possible[0])


def around(text: str, start: int, end: int) -> Window:
    """The text around a span, cut at the ends of lines where some are near, with the span marked."""
    first, last = max(0, start - BEFORE), min(len(text), end + AFTER)
    first = _line_start(text, first, start) if first else 0
    last = _line_end(text, end, last) if last < len(text) else last
    parts = ((text[first:start], False), (text[start:end], True), (text[end:last], False))
    segments = tuple(Segment(for_terminal(part), mark) for part, mark in parts if part)
    return Window(segments, first or None, last if last < len(text) else None)


def part(text: str, start: int, end: int) -> Window:
    """Code points [start, end) of a text as a window."""
    start, end = max(0, start), min(len(text), end)
    segments = (Segment(for_terminal(text[start:end])),) if start < end else ()
    return Window(segments, start or None, end if end < len(text) else None)


def _line_start(text: str, at: int, until: int) -> int:
    line = text.find("\n", at, min(until, at + 500))
    return line + 1 if line >= 0 else at


def _line_end(text: str, since: int, at: int) -> int:
    line = text.rfind("\n", max(since, at - 500), at)
    return line if line >= 0 else at
