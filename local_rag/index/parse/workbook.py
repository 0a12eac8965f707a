"""Workbooks of Excel (ECMA-376, part 1, section 18) and OpenDocument, row by row: what each cell shows."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, repeat
from operator import itemgetter
from typing import Any

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import attribute, tag_of, value
from local_rag.index.parse.marks import lowered, raised
from local_rag.index.parse.number_formats import BUILT_IN, EPOCH, EPOCH_1904, formatted
from local_rag.index.parse.package import Package
from local_rag.index.tables.values import NO_VALUE

Row = tuple[int, dict[int, str], list[str]]
"""The number of a row, its cells by their columns, and what stands behind them: notes, or that it is hidden."""

_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=\"([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})\"")
_MOST_REPEATED = 1000


class Workbook:
    """An opened workbook; `warnings` name the cells without a value, once its sheets are read."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive, self.package = archive, Package(archive)
        self.warnings = list[str]()
        self._merged: dict[tuple[int, int], int] = {}
        self._uncounted = 0

    def sheets(self) -> Iterator[tuple[str, Iterator[list[str]]]]:
        """Yield the name of each sheet and its rows, to be read one after the other."""
        if main := next(self.package.named("", "officeDocument"), ""):
            sheets = self._excel(main)
        else:
            sheets = self._open_document()
        found = False
        for name, rows in sheets:
            found, self._uncounted = True, 0
            yield name, self._filled(rows)
            if self._uncounted:
                self.warnings.append(f"formulas without a stored value in the sheet {name}: {self._uncounted:,}")
        if not found:
            raise FileSkipped("is damaged (no sheets inside)")

    def _filled(self, rows: Iterable[Row]) -> Iterator[list[str]]:
        """Yield the cells of each row from the first column on; what is merged over rows stands in each of them."""
        below, last, width = dict[int, tuple[str, int]](), 0, 0
        for number, cells, more in rows:
            yield from repeat([], number - last - 1)
            for column, (text, end) in list(below.items()):
                if number <= end:
                    cells.setdefault(column, text)
                else:
                    del below[column]
            if self._merged:
                below |= {at: (cells[at], end) for at in cells if (end := self._merged.get((number, at), 0)) > number}
            width = max(width, max(cells, default=-1) + 1)
            yield [cells.get(column, "") for column in range(width if more else max(cells, default=-1) + 1)] + more
            last = max(number, last)

    def _each(self, data: bytes, *tags: str) -> Iterator[Any]:
        """Yield the elements of a part by their names, each cleared behind its use."""
        from lxml import etree

        names = [f"{{*}}{tag}" for tag in tags]
        for _, node in etree.iterparse(io.BytesIO(data), tag=names, resolve_entities=False, no_network=True):
            yield node
            node.clear()
            while node.getprevious() is not None:
                del node.getparent()[0]

    def _part(self, part: str, kind: str) -> bytes:
        return self._read(next(self.package.named(part, kind), ""))

    def _read(self, name: str) -> bytes:
        return self.archive.read(name) if name in self.archive.namelist() else b"<x/>"

    def _excel(self, main: str) -> Iterator[tuple[str, Iterator[Row]]]:
        book, styles = self.package.xml(main), self.package.xml(next(self.package.named(main, "styles"), ""))
        if book is None:
            raise FileSkipped("is damaged (no workbook inside)")
        epoch = (
            EPOCH_1904 if any(each.get("date1904") in ("1", "true") for each in book.iter("{*}workbookPr")) else EPOCH
        )
        strings = [_said(each) for each in self._each(self._part(main, "sharedStrings"), "si")]
        formats = list[str]()
        if styles is not None:
            codes = BUILT_IN | {each.get("numFmtId"): each.get("formatCode") for each in styles.iter("{*}numFmt")}
            formats = [codes.get(each.get("numFmtId"), "") for each in styles.iterfind("{*}cellXfs/{*}xf")]

        def shown(cell: Any) -> str:
            texts = {each.tag.rpartition("}")[2]: each.text for each in cell}
            kind, value = cell.get("t", "n"), texts.get("v")
            if kind == "inlineStr":
                return _said(cell)
            if not value:
                is_unknown = "f" in texts and (kind != "str" or "v" not in texts)
                self._uncounted += is_unknown
                return NO_VALUE if is_unknown else ""
            if kind == "s":
                return strings[int(value)]
            style = int(cell.get("s", "0"))
            code = formats[style] if style < len(formats) else ""
            return formatted(value, code, epoch) if kind == "n" else str(value == "1").upper() if kind == "b" else value

        parts = self.package.related(main)
        for sheet in book.iter("{*}sheet"):
            kind, name = parts.get(attribute(sheet, "id"), ("", ""))
            if kind == "worksheet":
                hidden = " (hidden)" * (sheet.get("state", "visible") != "visible")
                yield f"{sheet.get('name')}{hidden}", self._excel_rows(name, shown)

    def _excel_rows(self, name: str, shown: Callable[[Any], str]) -> Iterator[Row]:
        data, last = self._read(name), 0
        self._merged = {(int(row), _column(first.decode())): int(end) for first, row, end in _MERGED.findall(data)}
        comments = self._each(self._part(name, "comments"), "comment")
        notes = {each.get("ref"): _said(each).rpartition("Comment:\n")[2].strip() for each in comments}
        for row in self._each(data, "row"):
            last = min(int(row.get("r") or last + 1), 2**20)
            cells, more, column = dict[int, str](), list[str](), -1
            for cell in row.iterchildren("{*}c"):
                place = cell.get("r", "")
                column = _column(place.rstrip("0123456789")) if place else column + 1
                if text := shown(cell):
                    cells[column] = text
                if notes and place in notes:
                    more.append(f"Note on {place}: {notes.pop(place)}")
            more += ["hidden row"] * (row.get("hidden") in ("1", "true") and bool(cells))
            yield last, cells, more
        for place, note in notes.items():
            yield last, {}, [f"Note on {place}: {note}"]

    def _open_document(self) -> Iterator[tuple[str, Iterator[Row]]]:
        for (_, name), rows in groupby(self._open_document_rows(), key=itemgetter(0)):
            yield name, (row for _, row in rows)

    def _open_document_rows(self) -> Iterator[tuple[tuple[Any, str], Row]]:
        """Yield the rows of all sheets, each with its sheet."""
        last, table, hidden = 0, None, set[str]()
        for node in self._each(self._read("content.xml"), "style", "table-row"):
            if tag_of(node) == "style":
                hidden |= {attribute(node, "name") for each in node if attribute(each, "display") == "false"}
                continue
            if (above := next(node.iterancestors("{*}table"))) is not table:
                table, last, self._merged = above, 0, {}
            name = attribute(table, "name") + " (hidden)" * (attribute(table, "style-name") in hidden)
            cells, more, column, last = dict[int, str](), list[str](), 0, last + 1
            space = node.tag.removesuffix("table-row")
            for cell in node.iterchildren(f"{space}table-cell", f"{space}covered-table-cell"):
                times = int(cell.get(f"{space}number-columns-repeated", "1"))
                more += [f"Note: {_paragraphs(each)}" for each in cell.iterchildren("{*}annotation")]
                text = _paragraphs(cell)
                if not text and cell.get(f"{space}formula") and not attribute(cell, "value-type"):
                    text = NO_VALUE
                    self._uncounted += 1
                if text:
                    cells |= dict.fromkeys(range(column, column + min(times, _MOST_REPEATED)), text)
                    if spanned := int(cell.get(f"{space}number-rows-spanned", "1")) - 1:
                        self._merged[last, column] = last + spanned
                column += times
            more += ["hidden row"] * (attribute(node, "visibility") in ("collapse", "filter") and bool(cells))
            times = int(attribute(node, "number-rows-repeated") or 1)
            for number in range(last, last + (times if cells or more else 1)):
                yield (table, name), (number, dict(cells), more)
            last += times - 1


def _paragraphs(node: Any) -> str:
    """Return the paragraphs of a cell or a note."""
    return "\n".join(_line(each) for each in node.iterchildren("{*}p"))


def _line(paragraph: Any) -> str:
    if not len(paragraph):
        return paragraph.text or ""
    for blank in paragraph.iter("{*}s"):
        blank.text = " "
    return "".join(paragraph.itertext())


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _said(node: Any) -> str:
    """Return the text of a cell or a note, without what is struck out and without how Japanese is pronounced."""
    if len(node) == 1 and not len(node[0]):
        return node[0].text or ""
    parts = list[str]()
    for text in node.iter("{*}t"):
        run, said = text.getparent(), text.text or ""
        lifted = value(run, "rPr/vertAlign")
        if tag_of(run) != "rph" and run.find("{*}rPr/{*}strike") is None:
            parts.append(raised(said) if lifted == "superscript" else lowered(said) if lifted == "subscript" else said)
    return "".join(parts)
