"""Spreadsheets and CSV: a sheet is a document, a row is one line that carries its headers and can be cited."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, time
from pathlib import Path

from local_rag.core.documents import MEMBER, PLACE, LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.package import properties_of
from local_rag.index.parse.parsed_file import (
    MAX_CHARACTERS,
    UNKNOWN,
    ParsedFile,
    Properties,
    clean,
    document,
    joined,
    measured,
)
from local_rag.index.parse.tables import lines
from local_rag.index.parse.workbook import Workbook
from local_rag.text.encoding import decode

PLACES = 5_000
"""Places of a sheet that a citation can name: rows, or in a longer sheet several rows at once."""

_DELIMITERS = ",;\t|"
_SEP = re.compile(r"sep=(.)\n")
"""The line that Excel writes above a table to name the delimiter."""

_DELIMITER_SAMPLE = 100_000
"""Characters in which a delimiter is sought."""

_DEFAULT_NAME = re.compile(r"(sheet|tabelle|feuil(le)?|hoja|planilha|foglio|blad|arkusz) ?\d+", re.IGNORECASE)


def load_sheets(path: Path) -> ParsedFile:
    """Read a workbook of Excel or OpenDocument: the values of all sheets as they are shown, of hidden ones, too.

    The value of a formula is the one last computed. Of an old .xls the formats are not known.
    """
    if path.suffix.lower() == ".xls" and not zipfile.is_zipfile(path):
        return ParsedFile(tuple(_sheet(table, name) for name, table in _old_sheets(path)))
    with measured(path) as archive:  # by content, not by suffix
        properties, book = properties_of(archive), Workbook(archive)
        documents = tuple(_sheet(table, name, properties) for name, table in book.sheets())
        return ParsedFile(documents, tuple(book.warnings))


def _old_sheets(path: Path) -> Iterator[tuple[str, Iterator[list[str]]]]:
    from python_calamine import CalamineWorkbook, PasswordError, SheetVisibleEnum

    try:
        with path.open("rb") as file, CalamineWorkbook.from_filelike(file) as book:
            for sheet in book.sheets_metadata:
                hidden = " (hidden)" * (sheet.visible != SheetVisibleEnum.Visible)
                rows = book.get_sheet_by_name(sheet.name).iter_rows()
                yield f"{sheet.name}{hidden}", (list(map(_shown, row)) for row in rows)
    except PasswordError as error:
        raise FileSkipped("is encrypted with a password") from error


def _shown(value: object) -> str:
    """Return a value as a person reads it; the format of the cell is not known."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime):
        return str(value.date()) if value.time() == time() else value.isoformat(" ", "seconds").removesuffix(":00")
    return str(value)


def load_csv(path: Path) -> ParsedFile:
    """Read one sheet; a file that is no table as the text it is."""
    text = clean(decode(path.read_bytes()))
    csv.field_size_limit(MAX_CHARACTERS)
    named = _SEP.match(text)
    text = text[named.end() :] if named else text
    delimiter = "\t" if path.suffix.lower() == ".tsv" else named[1] if named else _delimiter(text)
    try:
        rows = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
        return ParsedFile((_sheet(rows, headed=True),))
    except csv.Error:
        return ParsedFile((document(text),))


def _delimiter(text: str) -> str:
    """Return the mark that most rows have most often, as often as each other.

    A comma before a blank, or beside another delimiter that is in each row as often, is a part of a text or of a
    number.
    """
    sample = [f"{line}\n" for line in text[:_DELIMITER_SAMPLE].split("\n")[:100] if line.strip()]

    def fit(mark: str) -> tuple[bool, float]:
        widths = [len(row) - 1 for row in csv.reader(sample, delimiter=mark, skipinitialspace=True)]
        width = max(widths, key=lambda width: width * widths.count(width), default=0)
        share = widths.count(width) / max(len(widths), 1)
        plain = 1.1 - text.count(f"{mark} ", 0, _DELIMITER_SAMPLE) / max(text.count(mark, 0, _DELIMITER_SAMPLE), 1)
        return mark != "," and width > 0 and share == 1, width * share * share * plain

    try:
        return max(_DELIMITERS, key=fit)
    except csv.Error:
        return ","


def _sheet(
    table: Iterable[Sequence[str]], name: str = "", properties: Properties = UNKNOWN, *, headed: bool = False
) -> LoadedDocument:
    """Return a sheet headed by its name; a citation names its rows."""
    name = " ".join(clean(name).split())
    rows = [(number, line) for number, line in enumerate(lines(table, headed=headed), 1) if line]
    step = len(rows) // PLACES + 1
    blocks = [(1, name, name)] if rows else []
    for at, (first, line) in enumerate(rows):
        last, _ = rows[min(at + step, len(rows)) - 1]
        place = f"row {first}" if first == last else f"rows {first}-{last}"
        blocks.append((0 if at % step else PLACE, place, line))
    text, headings = joined(blocks, "\n")
    title = MEMBER.join(
        filter(None, [properties.title, "" if _DEFAULT_NAME.fullmatch(name.removesuffix(" (hidden)")) else name])
    )
    return document(text, title, headings=headings, properties=replace(properties, title=""))
