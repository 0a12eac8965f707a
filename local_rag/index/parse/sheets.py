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
from typing import Any

from local_rag.core.documents import MEMBER, PLACE, LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.office import properties_of
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
from local_rag.text.encoding import decode

_PLACES = 5_000
"""Places of a sheet that a citation can name: rows, or in a longer sheet several rows at once."""

_DELIMITERS = ",;\t|"
_DEFAULT_NAME = re.compile(r"(sheet|tabelle|feuil(le)?|hoja|planilha|foglio|blad|arkusz) ?\d+", re.IGNORECASE)


def load_sheets(path: Path) -> ParsedFile:
    """A workbook of Excel or OpenDocument: the values of all sheets, of hidden ones, too; formulas as last computed."""
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    properties = UNKNOWN
    if path.suffix.lower() != ".xls" or zipfile.is_zipfile(path):
        with measured(path) as archive:
            properties = properties_of(archive)
    documents, warnings, room = list[LoadedDocument](), list[str](), MAX_CHARACTERS
    try:
        with path.open("rb") as file, CalamineWorkbook.from_filelike(file) as book:  # by content, not by suffix
            for name in book.sheet_names:
                sheet, unread = _sheet(_cells(book, name), room, name, properties)
                documents.append(sheet)
                room -= len(sheet.text)
                if unread:
                    warnings.append(unread)
    except PasswordError as error:
        raise FileSkipped("is encrypted with a password") from error
    except CalamineError as error:
        raise FileSkipped("is damaged (it cannot be read as a spreadsheet)") from error
    return ParsedFile(tuple(documents), tuple(warnings))


def _cells(book: Any, name: str) -> Iterator[list[str]]:
    for row in book.get_sheet_by_name(name).iter_rows():
        yield [_shown(value) if value != "" else "" for value in row]


def _shown(value: object) -> str:
    """A value as a person reads it; the format of the cell is not known."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime):
        return str(value.date()) if value.time() == time() else value.isoformat(" ", "seconds").removesuffix(":00")
    return str(value)


def load_csv(path: Path) -> ParsedFile:
    """One sheet; a file that is no table is read as the text it is."""
    text = clean(decode(path.read_bytes()))
    csv.field_size_limit(MAX_CHARACTERS)
    first = next((line for line in text.split("\n") if line.strip()), "")[:100_000]
    delimiter = "\t" if path.suffix.lower() == ".tsv" else max(_DELIMITERS, key=first.count)
    try:
        sheet, unread = _sheet(csv.reader(io.StringIO(text), delimiter=delimiter), MAX_CHARACTERS, headed=True)
    except csv.Error:
        return ParsedFile((document(text),))
    return ParsedFile((sheet,), (unread,) if unread else ())


def _sheet(
    table: Iterable[Sequence[str]],
    room: int,
    name: str = "",
    properties: Properties = UNKNOWN,
    *,
    headed: bool = False,
) -> tuple[LoadedDocument, str]:
    """A sheet of up to `room` characters, headed by its name, and a warning that says what of it was not read."""
    name = " ".join(clean(name).split())
    rows, unread, room = list[tuple[int, str]](), "", room - len(name)
    for number, line in enumerate(lines(table, headed=headed), 1):
        room -= len(line) + 1
        if room < 0:
            what = name or "the table"
            unread = f"{what} was read up to row {number - 1:,}: of a file {MAX_CHARACTERS:,} characters are stored"
            break
        if line:
            rows.append((number, line))
    step = len(rows) // _PLACES + 1
    places = dict[int, str]()
    for at in range(0, len(rows), step):
        first, last = rows[at][0], rows[min(at + step, len(rows)) - 1][0]
        places[first] = f"row {first}" if first == last else f"rows {first}-{last}"
    blocks = [(PLACE * (number in places), places.get(number, ""), line) for number, line in rows]
    text, headings = joined([(1, name, name), *blocks] if rows else [], "\n")
    title = MEMBER.join(filter(None, [properties.title, "" if _DEFAULT_NAME.fullmatch(name) else name]))
    return document(text, title, headings=headings, properties=replace(properties, title="")), unread
