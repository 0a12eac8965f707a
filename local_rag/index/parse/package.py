"""Packages of Microsoft Office (ECMA-376, part 2): zip files of XML whose parts name each other, and what they draw."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import Any

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import attribute, parse_xml
from local_rag.index.parse.number_formats import formatted
from local_rag.index.parse.parsed_file import Inside, Piece, Properties
from local_rag.index.parse.properties import dublin_core
from local_rag.index.parse.tables import rows

_POINTS = 100_000
"""Values of a chart that are read."""


def xml_of(archive: zipfile.ZipFile, name: str) -> Any:
    """Return the tree of a part of a zip file; None where there is no such part, or where it is no XML."""
    try:
        return parse_xml(archive.read(name))
    except (KeyError, FileSkipped):
        return None


def properties_of(archive: zipfile.ZipFile) -> Properties:
    """Return the properties of a file of Word, Excel or PowerPoint (ECMA-376, part 2, section 11), or of
    OpenDocument.
    """
    core = xml_of(archive, "docProps/core.xml")
    return dublin_core(xml_of(archive, "meta.xml") if core is None else core)


class Package:
    """An opened package; `unread` names what is drawn in it without a text."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive, self.unread = archive, list[str]()

    def xml(self, name: str) -> Any:
        return xml_of(self.archive, name)

    def related(self, part: str) -> dict[str, tuple[str, str]]:
        """Return kind and name of the parts that a part names, by the id that it uses for them; "" is the package."""
        folder, _, name = part.rpartition("/")
        tree = self.xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        return {
            each.get("Id", ""): (
                each.get("Type", "").rpartition("/")[2],
                posixpath.normpath(posixpath.join("/", folder, each.get("Target", ""))).lstrip("/"),
            )
            for each in (() if tree is None else tree.iter("{*}Relationship"))
            if each.get("TargetMode") != "External"
        }

    def named(self, part: str, kind: str) -> Iterator[str]:
        """Yield the parts of a kind that a part names."""
        yield from dict.fromkeys(name for found, name in self.related(part).values() if found == kind)

    def embedded(self, part: str) -> Iterator[Piece]:
        """Yield the files inside of a part, such as the workbook behind a table on a slide."""
        for name in (*self.named(part, "package"), *self.named(part, "oleObject")):
            data = self.archive.read(name) if name in self.archive.namelist() else b""
            yield Inside(posixpath.basename(name), partial(io.BytesIO, data))
        yield from self.unread
        self.unread.clear()

    def drawn(self, part: str, drawing: Any) -> Iterator[str]:
        """Yield in lines what a chart or a diagram of SmartArt shows."""
        for node in drawing.iter("{*}chart", "{*}relIds"):
            _, name = self.related(part).get(attribute(node, "id") or attribute(node, "dm"), ("", ""))
            tree = self.xml(name)
            if tree is not None and node.tag.endswith("chart"):
                shown = chart(tree)
                self.unread += ["the values of a chart"] * (len(shown) == 1)
                yield from shown
            elif tree is not None:
                for point in tree.iter("{*}pt"):
                    yield "- " * bool(text := " ".join("".join(point.itertext("{*}t")).split())) + text


def chart(tree: Any) -> list[str]:
    """Return the title of a chart and its values as a table (DrawingML, part 1, section 21.2)."""
    names, columns = [""], list[dict[int, str]]()
    labels = dict[int, str]()
    for series in tree.iter("{*}ser"):
        names.append(" ".join(series.findtext("{*}tx//{*}v", "").split()))
        labels |= _points(series, "cat", "xVal")
        columns.append(_points(series, "val", "yVal"))
    at = sorted({*labels, *(number for column in columns for number in column)})[:_POINTS]
    title = "".join(text for node in tree.iterfind(".//{*}chart/{*}title") for text in node.itertext("{*}t"))
    table = [[labels.get(number, ""), *(column.get(number, "") for column in columns)] for number in at]
    shown = rows([names, *table], headed=True) if table else []
    return [f"Chart: {title}".removesuffix(": "), *shown]


def _points(series: Any, *tags: str) -> dict[int, str]:
    """Return the stored values of a series, as the chart shows them, by their number; labels of several levels
    joined.
    """
    points = dict[int, str]()
    for cache in (each for tag in tags for each in series.iterfind(f"{{*}}{tag}//*") if each.find("{*}pt") is not None):
        code = (cache.findtext("{*}formatCode") or "").replace("General", "")
        for point in cache.iterfind("{*}pt"):
            number, text = int(point.get("idx") or 0), formatted(point.findtext("{*}v") or "", code)
            points[number] = f"{text} {points[number]}" if number in points else text
    return points
