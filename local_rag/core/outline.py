"""Values about whole files: the lines of an outline, and the hits of a search for files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from langchain_core.documents import Document


@dataclass(frozen=True, slots=True)
class Place:
    """Locate code points [start, end) in the `document`-th text of a file (from 0); `page` is None without pages."""

    document: int
    page: int | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class OutlineLine:
    """Hold a line of an outline and the places that it is from.

    `about` says what the file is, `begins` is one of its first sentences, a `section` has its first sentence and the
    headings in it, a `table` has its columns; the other kinds list the commonest names, dates and amounts.
    """

    kind: Literal["about", "begins", "section", "table", "names", "dates", "amounts"]
    text: str
    places: tuple[Place, ...]


class FileHit(NamedTuple):
    """Hold a file that was found: its best passage, the best sentence with its code points in the document, and the
    number of `more` passages that hold the words. `near` hits are found by meaning alone.
    """

    passage: Document
    quote: str
    start: int
    end: int
    more: int
    near: bool
