"""Files of Microsoft Office: slides (PPTX) and rich texts (RTF)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import attribute, parse_xml, text_of
from local_rag.index.parse.marks import Level, counted, fractions, lowered, mark, raised
from local_rag.index.parse.package import Package, properties_of
from local_rag.index.parse.parsed_file import ParsedFile, Piece, Properties, clean, document, joined, measured
from local_rag.index.parse.tables import rows

_FILE = re.compile(r"\S+\.(png|jpe?g|gif|bmp|tiff?|svg|[ew]mf)", re.IGNORECASE)
"""The text that PowerPoint writes in place of a picture's description."""

_KINDS = {"arabic": "1", "alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}
_NUMBERED = re.compile(f"({'|'.join(_KINDS)})")

_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}\s*){300,}")
"""The pictures in RTF."""

_RTF = re.compile(r"\\(?P<word>[a-z]+)(?P<number>-?\d+)? ?|\\'..|\\[^a-z]|[{}]|[^\\{}]+", re.IGNORECASE | re.DOTALL)
_LEVELS = {"super": 1, "sub": -1, "nosupersub": 0, "plain": 0}
_ASIDE = {"footnote": (" [Note: ", "]"), "annotation": (" [Comment: ", "]"), "pntext": ("", "")}
_ASIDE |= {f"{name.lower()}{at}": (f"{name}: ", r"\par ") for name in ("Header", "Footer") for at in ("", *"lrf")}
"""Destinations of RTF that a reader sees, and the texts before and behind theirs here."""


def deck(slides: Iterable[tuple[str, Iterable[str]]], properties: Properties) -> Iterator[LoadedDocument]:
    """Yield slides, each given with its title, "" where it has none, and the blocks of its text, as pages of one
    document.
    """
    first = ""
    for number, (title, blocks) in enumerate(slides, 1):
        title = " ".join(title.split())
        first = first or title
        text, headings = joined([(1, title, title), *((0, "", block) for block in blocks)])
        if text:
            yield document(text, first, page=number, headings=headings, properties=properties)


def load_pptx(path: Path) -> Iterator[Piece]:
    """Read slides, shows and templates of PowerPoint: texts, tables, charts, notes, and what stands for a picture."""
    import pptx.package

    with measured(path) as archive:
        package = Package(archive)
        presentation: Any = pptx.package.Package.open(str(path)).main_document_part
        slides = list(presentation.presentation.slides)
        yield from deck((_slide(package, slide) for slide in slides), properties_of(archive))
        for slide in slides:
            yield from package.embedded(slide.part.partname.lstrip("/"))


def _slide(package: Package, page: Any) -> tuple[str, list[str]]:
    """Return the title of a slide and the blocks below it."""
    title, name = page.shapes.title, page.part.partname.lstrip("/")
    blocks = [
        block for shape in page.shapes if title is None or shape != title for block in _blocks(package, name, shape)
    ]
    notes = _text(page.notes_slide.notes_text_frame) if page.has_notes_slide else ""
    return _text(title.text_frame) if title is not None else "", [*blocks, f"Notes: {notes}" if notes.strip() else ""]


def _blocks(package: Package, slide: str, shape: Any) -> Iterator[str]:
    if hasattr(shape, "shapes"):
        for inner in shape.shapes:
            yield from _blocks(package, slide, inner)
    elif shape.has_text_frame:
        yield _text(shape.text_frame)
    elif shape.has_table:
        yield "\n".join(rows(list(_filled(shape.table)), headed=shape.table.first_row))
    elif drawn := list(package.drawn(slide, shape.element)):
        yield "\n".join(drawn)
    elif (described := shape.element.xpath("string(.//p:cNvPr/@descr)")) and not _FILE.fullmatch(described):
        yield f"Picture: {described}"


def _filled(table: Any) -> Iterator[list[str]]:
    """Yield the rows of a table; what is merged over rows stands in each of them."""
    below = dict[int, tuple[str, int]]()
    for number, row in enumerate(table.rows):
        texts = ["" if cell.is_spanned else _text(cell.text_frame) for cell in row.cells]
        for at, (text, end) in below.items():
            texts[at] = text if number < end else texts[at]
        below |= {
            at: (texts[at], number + cell.span_height) for at, cell in enumerate(row.cells) if cell.is_merge_origin
        }
        yield texts


def _text(frame: Any) -> str:
    """Return the paragraphs of a shape, a line each, with their numbers and marks (DrawingML, part 1, section
    21.1.2).
    """
    from lxml.etree import tostring

    if frame is None:
        return ""
    body, counts = parse_xml(tostring(frame._txBody)), dict[int, int]()  # its own elements hide their texts
    for run in list(body.iter("{*}r")):
        properties = run.find("{*}rPr")
        lifted = int(attribute(properties, "baseline") or 0) if properties is not None else 0
        is_struck = properties is not None and properties.get("strike", "noStrike") != "noStrike"
        run.tag = "del" if is_struck else "sup" if lifted > 0 else "sub" if lifted < 0 else "span"
    for paragraph in list(body.iter("{*}p")):
        paragraph.tag = "dd"
        properties, number = paragraph.find("{*}pPr"), paragraph.find("{*}pPr/{*}buAutoNum")
        at = int(properties.get("lvl", "0")) if properties is not None else 0
        if number is None:
            counts.pop(at, None)
        elif kind := _NUMBERED.match(number.get("type", "")):
            level = Level(_KINDS[kind[1]], f"%{at + 1}.", int(number.get("startAt", "1")))
            paragraph.set("label", counted(counts, {at: level}, at))
    mark(body)
    return text_of(body, frozenset({"del"}))[0]


def load_rtf(path: Path) -> ParsedFile:
    """Read RTF: its text and its tables; pictures are left out."""
    from striprtf.striprtf import rtf_to_text

    source = path.read_bytes().decode("cp1252", "replace")
    if not source.lstrip().startswith("{\\rtf"):
        raise FileSkipped("is damaged (not RTF inside)" if source.strip() else "is empty")
    text: str = rtf_to_text(_marked(_HEX.sub("", source)), errors="replace")  # type: ignore[no-untyped-call]
    text = clean(fractions(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))).strip()
    text = re.sub(r"(?<=\S)  +", " ", text)
    parts = list[str]()
    for is_row, group in groupby(text.split("\n"), key=lambda line: line.endswith("|")):
        lines = list(group)
        parts += rows([line[:-1].split("|") for line in lines]) if is_row else lines
    return ParsedFile((document("\n".join(parts)),))


def _marked(source: str) -> str:
    """Return RTF with the marks that striprtf would lose written as text.

    What is struck out or deleted is gone, superscripts and subscripts are characters, and the notes, comments, headers
    and numbers of lists that striprtf leaves out are text.
    """
    parts, stack = list[str](), list[tuple[int, bool, str]]()
    level, is_struck, closing, notes = 0, False, "", 0
    for match in _RTF.finditer(source.replace("\\*\\annotation", "\\annotation")):
        part, word = match[0], match["word"] or ""
        if part == "{":
            stack.append((level, is_struck, closing))
            closing = ""
        elif part == "}":
            part = closing + part
            level, is_struck, closing = stack.pop() if stack else (0, False, "")
        elif word in _LEVELS:
            level = _LEVELS[word]
        elif word in ("strike", "striked", "deleted"):
            is_struck = match["number"] != "0"
        elif word in _ASIDE:
            before, closing = _ASIDE[word]
            part = f"\\pard {before}"
        elif word == "chftn":  # in the text and in the note
            notes += "]" not in (closing, *(frame[2] for frame in stack))
            part = "".join(f"{{\\uc1\\u{ord(digit)}?}}" for digit in raised(str(notes)))
        elif is_struck and (not word or word == "u"):
            part = ""
        elif level and not word and "\\" not in part:
            shown = (raised if level > 0 else lowered)(part)
            part = shown if shown == part else "".join(f"{{\\uc1\\u{ord(letter)}?}}" for letter in shown)
        parts.append(part)
    return "".join(parts)
