"""Slides: each is a page, its title the heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.office import core_properties
from local_rag.index.parse.parsed_file import ParsedFile, Properties, document, joined
from local_rag.index.parse.tables import rows
from local_rag.index.parse.zips import measured

_FILE = re.compile(r"\S+\.(png|jpe?g|gif|bmp|tiff?|svg|[ew]mf)", re.IGNORECASE)
"""What PowerPoint writes in the place of a picture's description."""


def deck(slides: Iterable[tuple[str, Iterable[str]]], properties: Properties) -> ParsedFile:
    """Slides, each with its title, "" where it has none, and the blocks of its text, as pages of one document."""
    pages, first = list[LoadedDocument](), ""
    for number, (title, blocks) in enumerate(slides, 1):
        title = " ".join(title.split())
        first = first or title
        text, headings = joined([(1, title, title), *((0, "", block) for block in blocks)])
        pages.append(document(text, first, page=number, headings=headings, properties=properties))
    return ParsedFile(tuple(pages))


def load_pptx(path: Path) -> ParsedFile:
    """Slides, shows and templates of PowerPoint: texts, tables, notes, and what stands for a picture."""
    from lxml.etree import LxmlError
    from pptx.exc import PythonPptxError
    from pptx.package import Package

    with measured(path) as archive:
        properties = core_properties(archive)
    try:
        presentation: Any = Package.open(str(path)).main_document_part
        return deck(map(_read, presentation.presentation.slides), properties)
    except (PythonPptxError, LxmlError, KeyError, AttributeError, TypeError, ValueError, IndexError) as error:
        raise FileSkipped("is damaged (it cannot be read as PowerPoint)") from error


def _read(page: Any) -> tuple[str, list[str]]:
    """The title of a slide and the blocks below it."""
    title = page.shapes.title
    blocks = [block for shape in page.shapes if title is None or shape != title for block in _blocks(shape)]
    notes = page.notes_slide.notes_text_frame if page.has_notes_slide else None
    if notes is not None and notes.text.strip():
        blocks.append(f"Notes: {notes.text}")
    return title.text_frame.text if title is not None else "", blocks


def _blocks(shape: Any) -> Iterator[str]:
    if hasattr(shape, "shapes"):
        for inner in shape.shapes:
            yield from _blocks(inner)
    elif shape.has_text_frame:
        yield shape.text_frame.text
    elif shape.has_table:
        yield "\n".join(
            rows([["" if cell.is_spanned else cell.text for cell in row.cells] for row in shape.table.rows])
        )
    elif (described := shape.element.xpath("string(.//p:cNvPr/@descr)")) and not _FILE.fullmatch(described):
        yield f"Picture: {described}"
