"""Files written and read by the loaders in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.loaders import load


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8", newline="")
    return path


def document_of(path: Path) -> LoadedDocument:
    (found,) = load(path).documents
    return found


def outline(document: LoadedDocument) -> list[tuple[int, str]]:
    """Level and text of the headings, after a check that each stands where it says it does."""
    for heading in document.headings:
        line = document.text[heading.start :].split("\n", 1)[0]
        assert heading.text.split()[0] in line, (heading, line)
        assert heading.start == 0 or document.text[heading.start - 1] == "\n"
    return [(heading.level, heading.text) for heading in document.headings]


def reason(path: Path) -> str:
    with pytest.raises(FileSkipped) as skipped:
        load(path)
    return str(skipped.value)
