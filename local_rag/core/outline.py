"""Files as wholes: the lines of an outline, and which files hold something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from langchain_core.documents import Document


class Place(NamedTuple):
    """Code points [start, end) of the `document`-th text of a file (from 0), and its page where it has pages."""

    document: int
    page: int | None
    start: int
    end: int


class OutlineLine(NamedTuple):
    """A line of an outline, and the places that it is from: what the file is (`about`), a sentence with which it
    `begins`, a `section` with its first sentence and the headings in it, a `table` with its columns; what stands out.
    """

    kind: Literal["about", "begins", "section", "table", "names", "dates", "amounts"]
    text: str
    places: tuple[Place, ...]


class FileHit(NamedTuple):
    """A file that holds what was looked for: its best passage, the sentence there, code points of the document, and in
    how many `more` passages it stands. `near`: by meaning alone.
    """

    passage: Document
    quote: str
    start: int
    end: int
    more: int
    near: bool
