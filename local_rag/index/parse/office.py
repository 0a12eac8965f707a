"""Files of Microsoft Office: texts (DOCX, RTF) and slides (PPTX)."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import html_text_of, parse_xml
from local_rag.index.parse.parsed_file import ParsedFile, Properties, clean, document, headed, joined, measured
from local_rag.index.parse.properties import dublin_core
from local_rag.index.parse.tables import rows

_FILE = re.compile(r"\S+\.(png|jpe?g|gif|bmp|tiff?|svg|[ew]mf)", re.IGNORECASE)
"""What PowerPoint writes in the place of a picture's description."""

_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}\s*){300,}")
"""The pictures in RTF."""


def xml_of(archive: zipfile.ZipFile, name: str) -> Any:
    """The tree of a part of a zip file; None where there is no such part, or where it is no XML."""
    try:
        return parse_xml(archive.read(name))
    except (KeyError, FileSkipped):
        return None


def properties_of(archive: zipfile.ZipFile) -> Properties:
    """Those of Word, Excel and PowerPoint (ECMA-376, part 2, section 11), or of OpenDocument."""
    core = xml_of(archive, "docProps/core.xml")
    return dublin_core(xml_of(archive, "meta.xml") if core is None else core)


def load_docx(path: Path) -> ParsedFile:
    """A Word file by mammoth: headings, lists and tables; pictures are left out, equations are named as not read."""
    import mammoth

    with measured(path) as archive:
        properties = properties_of(archive)
    with path.open("rb") as file:
        styles = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"
        no_pictures = mammoth.images.img_element(lambda image: {})
        converted = mammoth.convert_to_html(file, convert_image=no_pictures, style_map=styles)
    text, headings = html_text_of(clean(converted.value))
    lost = any("}oMath" in message.message for message in converted.messages)
    warnings = ("its equations were not read",) if lost else ()
    return ParsedFile((headed(text.removesuffix("↑"), headings, properties),), warnings)


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
    from pptx.package import Package

    with measured(path) as archive:
        properties = properties_of(archive)
    presentation: Any = Package.open(str(path)).main_document_part
    return deck(map(_slide, presentation.presentation.slides), properties)


def _slide(page: Any) -> tuple[str, list[str]]:
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
        table = [["" if cell.is_spanned else cell.text for cell in row.cells] for row in shape.table.rows]
        yield "\n".join(rows(table, headed=shape.table.first_row))
    elif (described := shape.element.xpath("string(.//p:cNvPr/@descr)")) and not _FILE.fullmatch(described):
        yield f"Picture: {described}"


def load_rtf(path: Path) -> ParsedFile:
    """RTF: its text and its tables; pictures are left out."""
    from striprtf.striprtf import rtf_to_text

    source = path.read_bytes().decode("cp1252", "replace")
    if not source.lstrip().startswith("{\\rtf"):
        raise FileSkipped("is damaged (not RTF inside)" if source.strip() else "is empty")
    text: str = rtf_to_text(_HEX.sub("", source), errors="replace")  # type: ignore[no-untyped-call]
    text = clean(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")).strip()
    parts = list[str]()
    for is_row, group in groupby(text.split("\n"), key=lambda line: line.endswith("|")):
        lines = list(group)
        parts += rows([line[:-1].split("|") for line in lines]) if is_row else lines
    return ParsedFile((document("\n".join(parts)),))
