"""What a loader makes of one file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import IO

from local_rag.core.documents import Heading, LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.text.display import printable, shorten

MAX_CHARACTERS = 50_000_000
"""Of one file. The largest book of Project Gutenberg has 6 million; what is above this is a dump, not a document."""

MAX_BYTES = 500_000_000
"""Of one file, and of all that lies inside of a zip file."""

LONG = 10_000
"""Characters of a title that are looked at."""

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\u00ad\u200b\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Member:
    """A file inside of a file, such as an attachment, by its name there."""

    name: str
    documents: tuple[LoadedDocument, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class ParsedFile:
    """The documents of one file and what lies inside of it; `warnings` name what of the file was not read."""

    documents: tuple[LoadedDocument, ...]
    warnings: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class Properties:
    """What a file says of itself: title, author, date (ISO 8601) and subject, empty where it says nothing."""

    title: str = ""
    author: str = ""
    date: str = ""
    subject: str = ""


UNKNOWN = Properties()


@dataclass(frozen=True)
class Inside:
    """A file inside of a file, such as an attachment, that is still to be read; `open` may raise what reading may."""

    name: str
    open: Callable[[], IO[bytes]]


Piece = LoadedDocument | Inside
"""What a mail, a mailbox or a zip file is made of."""


def clean(text: str) -> str:
    """Text as it is stored: every line ends with a line feed, nothing invisible, no control character, no surrogate."""
    return printable(_INVISIBLE.sub("", _LINE_ENDS.sub("\n", _SURROGATE.sub("\ufffd", text))))


def document(
    text: str,
    title: str = "",
    *,
    page: int | None = None,
    headings: Sequence[Heading] = (),
    properties: Properties = UNKNOWN,
) -> LoadedDocument:
    """A document of a text that is `clean` already, so that the offsets of its headings stay true.

    The title is that of the properties, `title` where they have none.
    """
    titled = tuple(Heading(h.start, h.level, shorten(clean(h.text), 200)) for h in headings if h.text.strip())
    title = properties.title or shorten(clean(title[:LONG]), 200)
    author, date, subject = properties.author, properties.date, properties.subject
    return LoadedDocument(text, title, page, titled, author=author, date=date, subject=subject)


def joined(blocks: Iterable[tuple[int, str, str]], between: str = "\n\n") -> tuple[str, list[Heading]]:
    """Blocks (level, heading, text) as one clean text, and the headings at which they start; level 0 is without one."""
    parts, headings, length = list[str](), list[Heading](), 0
    for level, heading, block in blocks:
        if text := clean(block).strip():
            if level:
                headings.append(Heading(length, level, " ".join(heading.split())))
            parts.append(text)
            length += len(text) + len(between)
    return between.join(parts), headings


def checked(file: ParsedFile) -> ParsedFile:
    """The same without its blank documents. Raises FileSkipped when nothing is left or there is too much."""
    characters = sum(len(document.text) for document in file.documents)
    if characters > MAX_CHARACTERS:
        raise FileSkipped(
            f"holds {characters:,} characters of text, up to {MAX_CHARACTERS:,} are read", hint="split it"
        )
    filled = tuple(document for document in file.documents if document.text.strip())
    if not filled:
        raise FileSkipped("is empty")
    return ParsedFile(filled, file.warnings, file.members)
