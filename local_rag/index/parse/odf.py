"""OpenDocument texts and slides (https://docs.oasis-open.org/office/OpenDocument/v1.3/), and RTF."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import parse_xml
from local_rag.index.parse.parsed_file import ParsedFile, Properties, clean, document, joined
from local_rag.index.parse.properties import stated
from local_rag.index.parse.slides import deck
from local_rag.index.parse.tables import rows
from local_rag.index.parse.zips import measured

_LEFT_OUT = frozenset("tracked-changes annotation table-of-content note-citation forms notes".split())
_BOXES = frozenset("frame note custom-shape g".split())
"""What stands inside of a paragraph and is read after it."""

_MOST_COLUMNS = 100
"""Times that one cell is repeated, at most: the rest of a row is often said to be empty that way."""

_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}\s*){300,}")
"""The pictures in RTF."""

_RTF_PROPERTY = re.compile(r"\{\\(title|author|subject|keywords) ([^{}]*)\}")
_RTF_MADE = re.compile(r"\{\\creatim\\yr(\d+)\\mo(\d+)\\dy(\d+)")


def load_odt(path: Path) -> ParsedFile:
    """A text: headings with their levels, paragraphs, lists, tables, notes and what stands for a picture."""
    content, properties = _opened(path)
    text, headings = joined((level, block, block) for level, block in _blocks(content))
    first = headings[0].text if headings else ""
    return ParsedFile((document(text, first, headings=headings, properties=properties),))


def load_odp(path: Path) -> ParsedFile:
    """Slides: each is a page, with its notes at the end."""
    content, properties = _opened(path)
    return deck(map(_slide, content.iterfind("{*}presentation/{*}page")), properties)


def _slide(page: Any) -> tuple[str, list[str]]:
    frames = [(_attribute(frame, "class"), "\n".join(block for _, block in _blocks([frame]))) for frame in page]
    title = next((text for kind, text in frames if kind == "title"), "")
    blocks = [text for kind, text in frames if kind != "title"]
    notes = " ".join(block for found in page.iterfind("{*}notes") for _, block in _blocks(found))
    return title, [*blocks, f"Notes: {notes}" if notes.strip() else ""]


def _opened(path: Path) -> tuple[Any, Properties]:
    """The body of the content, and the properties. Raises FileSkipped where there is no content."""
    with measured(path) as archive:
        properties = odf_properties(archive)
        content = parse_xml(archive.read("content.xml")) if "content.xml" in archive.namelist() else None
    body = None if content is None else content.find("{*}body")
    if body is None:
        raise FileSkipped("is damaged (no OpenDocument content inside)")
    return body, properties


def odf_properties(archive: zipfile.ZipFile) -> Properties:
    """Those of meta.xml. Raises FileSkipped where the file is encrypted."""
    parts = {name: archive.read(name) for name in ("META-INF/manifest.xml", "meta.xml") if name in archive.namelist()}
    if b":encryption-data" in parts.get("META-INF/manifest.xml", b""):
        raise FileSkipped("is encrypted with a password")
    meta = parse_xml(parts["meta.xml"]) if "meta.xml" in parts else None

    def all_of(name: str) -> list[str]:
        return [] if meta is None else ["".join(node.itertext()) for node in meta.iter(f"{{*}}{name}")]

    title, date = (next(iter(all_of(name)), "") for name in ("title", "creation-date"))
    authors = all_of("initial-creator") or all_of("creator")
    return stated(title, authors, date, [*all_of("subject"), *all_of("keyword")])


def _blocks(nodes: Any) -> Iterator[tuple[int, str]]:
    """The blocks below a node with the level of those that are headings, 0 for the others."""
    for node in nodes:
        tag = _tag(node)
        if tag in ("h", "p"):
            level = _attribute(node, "outline-level")
            yield (min(int(level), 6) if level.isdecimal() else 1) if tag == "h" else 0, _spoken(node)
            yield from _boxes(node)
        elif tag == "list":
            items = (" ".join(text for _, text in _blocks([part])) for item in node for part in item)
            yield 0, "\n".join(f"- {item}" if not item.startswith("- ") else item for item in items if item.strip())
        elif tag == "table":
            own = (row for row in node.iter("{*}table-row") if next(row.iterancestors("{*}table")) is node)
            yield 0, "\n".join(rows([list(_cells(row)) for row in own]))
        elif tag in ("title", "desc"):
            yield 0, f"Picture: {_spoken(node)}"
        elif tag not in _LEFT_OUT:
            yield from _blocks(node)


def _boxes(node: Any) -> Iterator[tuple[int, str]]:
    for child in node:
        yield from _blocks(child) if _tag(child) in _BOXES else _boxes(child)


def _spoken(node: Any) -> str:
    parts = [node.text or ""]
    for child in node:
        tag = _tag(child)
        if tag == "s":
            parts.append(" ")
        elif tag in ("tab", "line-break"):
            parts.append("\t" if tag == "tab" else "\n")
        elif tag and tag not in _BOXES | _LEFT_OUT:
            parts.append(_spoken(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _cells(row: Any) -> Iterator[str]:
    for cell in row:
        repeated = _attribute(cell, "number-columns-repeated")
        text = " ".join(block for _, block in _blocks(cell))
        yield from [text] * (min(int(repeated), _MOST_COLUMNS) if repeated.isdecimal() else 1)


def _tag(node: Any) -> str:
    return str(node.tag).rpartition("}")[2] if isinstance(node.tag, str) else ""


def _attribute(node: Any, name: str) -> str:
    """An attribute by its name, of whatever vocabulary."""
    return next((value for key, value in node.attrib.items() if key.rpartition("}")[2] == name), "")


def load_rtf(path: Path) -> ParsedFile:
    """RTF: its text and its tables; pictures are left out."""
    from striprtf.striprtf import rtf_to_text

    source = path.read_bytes().decode("cp1252", "replace")
    if not source.lstrip().startswith("{\\rtf"):
        raise FileSkipped("is damaged (not RTF inside)" if source.strip() else "is empty")
    head = source[:20_000]

    def plain(rtf: str) -> str:
        text: str = rtf_to_text(rtf, errors="replace")  # type: ignore[no-untyped-call]
        return clean(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")).strip()

    known = {name: plain(f"{{\\rtf1 {value}}}") for name, value in _RTF_PROPERTY.findall(head)}
    made = _RTF_MADE.search(head)
    date = "-".join(made.groups()) if made else ""
    subjects = [known.get("subject", ""), known.get("keywords", "")]
    properties = stated(known.get("title", ""), [known.get("author", "")], date, subjects)
    parts = list[str]()
    for is_row, group in groupby(plain(_HEX.sub("", source)).split("\n"), key=lambda line: line.endswith("|")):
        lines = list(group)
        parts += rows([line[:-1].split("|") for line in lines]) if is_row else lines
    return ParsedFile((document("\n".join(parts), properties=properties),))
