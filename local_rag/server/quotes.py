"""Where a quote stands in the stored text of a file, and that text cut around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from local_rag.index.store import reads
from local_rag.index.store.schema import StoredDocument
from local_rag.server.listings import FileListing
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


def number_of(listing: FileListing, documents: Sequence[StoredDocument], chunk_id: str) -> int | None:
    """The number of the document that a passage was cut from; None where it is not stored (any more)."""
    own = listing.read(reads.document_of, chunk_id) if chunk_id else 0
    return next((each.number for each in documents if each.id == own), None)


def spot_of(
    documents: Sequence[StoredDocument], number: int | None, page: int | None, start: int, end: int, quote: str
) -> Spot | None:
    """Where a quote stands now; its file may have been indexed anew since it was cut.

    What stands at `start` counts where it is the quote; else the quote where it stands once. Without a quote the span
    is taken as it is. None where no document of the file is of that number or page.
    """
    possible = [each for each in documents if number in (None, each.number) and page in (None, each.page)]
    if not possible:
        return None
    first = possible[0]
    if not quote or start >= end:
        return Spot(first.number, start, end) if 0 <= start < end <= len(first.text) else Spot(first.number)
    exact = [each for each in possible if each.text.startswith(quote, start)]
    holding = [each for each in documents if quote in each.text]
    nearest = exact or [each for each in holding if each in possible] or holding
    if exact or (len(nearest) == 1 and nearest[0].text.count(quote) == 1):
        at = start if exact else nearest[0].text.index(quote)
        return Spot(nearest[0].number, at, at + len(quote))
    return Spot(first.number)


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
