"""Files read by the loaders, and what was read of them in one text that a test can compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse import loaders
from local_rag.index.parse.parsed_file import ParsedFile

PROPERTIES = ("page", "title", "author", "date", "subject", "url")


def load(path: Path) -> ParsedFile:
    with loaders.told():
        return loaders.load(path)


def document_of(path: Path) -> LoadedDocument:
    (found,) = load(path).documents
    return found


def reason(path: Path) -> str:
    with pytest.raises(FileSkipped) as skipped:
        load(path)
    return str(skipped.value)


def shown(document: LoadedDocument) -> str:
    """What is known of a document, and its text with the headings where they start: "[title Oil]<1 Oil>Oil"."""
    text = document.text
    for heading in reversed(document.headings):
        text = f"{text[: heading.start]}<{heading.level} {heading.text}>{text[heading.start :]}"
    return "".join(f"[{name} {value}]" for name in PROPERTIES if (value := getattr(document, name))) + text
