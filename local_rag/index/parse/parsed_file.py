"""What a loader makes of one file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from local_rag.core.documents import Heading, LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.text.display import printable, shorten

MAX_CHARACTERS = 50_000_000
"""Of one file. The largest book of Project Gutenberg has 6 million; what is above this is a dump, not a document."""

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\u00ad\u200b\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class ParsedFile:
    """The documents of one file, never empty; `warnings` name what of the file was not read."""

    documents: tuple[LoadedDocument, ...]
    warnings: tuple[str, ...] = ()


def clean(text: str) -> str:
    """Text as it is stored: every line ends with a line feed, nothing invisible, no control character, no surrogate."""
    return printable(_INVISIBLE.sub("", _LINE_ENDS.sub("\n", _SURROGATE.sub("\ufffd", text))))


def document(
    text: str, title: str = "", *, page: int | None = None, headings: Sequence[Heading] = ()
) -> LoadedDocument:
    """A document of a text that is `clean` already, so that the offsets of its headings stay true."""
    titled = tuple(Heading(h.start, h.level, shorten(clean(h.text), 200)) for h in headings if h.text.strip())
    return LoadedDocument(text, shorten(clean(title), 200), page, titled)


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
    return ParsedFile(filled, file.warnings)
