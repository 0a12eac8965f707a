"""Tables and JSON as text that can be quoted: one record is one paragraph of "name: value" pairs."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from local_rag.index.parse.parsed_file import MAX_CHARACTERS, UNKNOWN, ParsedFile, Properties, clean, document
from local_rag.index.parse.properties import MANY, from_mapping
from local_rag.index.parse.prose import read
from local_rag.text.encoding import decode

_DELIMITERS = ",;\t|"

_LONG_NAME = 200
"""Characters of a name that stands before each value of JSON; of a longer one, the innermost parts.

A long key above many values would make a text many times as large as the file."""


def load_csv(path: Path) -> ParsedFile:
    """A table, one row a paragraph "header: value; header: value"; without a header only the values.

    The header is the first row with as many cells as is usual, if each is filled, unlike the others and no number.
    """
    text = clean(decode(path.read_bytes()))
    csv.field_size_limit(MAX_CHARACTERS)
    try:
        rows = [row for row in _rows(text, path.suffix.lower()) if any(row)]
    except csv.Error:
        return ParsedFile((document(text),))
    above, head, rows = _headed(rows)
    lines = itertools.chain((_row([], row) for row in above), (_row(head, row) for row in rows))
    return ParsedFile((document("\n\n".join(line for line in lines if line)),))


def _rows(text: str, suffix: str) -> Iterator[list[str]]:
    """Cells without the white space at their ends, each on one line."""
    first = next((line for line in text.split("\n") if line.strip()), "")[:100_000]
    delimiter = "\t" if suffix == ".tsv" else max(_DELIMITERS, key=first.count)
    for row in csv.reader(io.StringIO(text), delimiter=delimiter):
        yield [" ".join(cell.split()) for cell in row]


def _headed(rows: list[list[str]]) -> tuple[list[list[str]], list[str], list[list[str]]]:
    """Rows above the header (a title, mostly), the header or nothing, the rows below it."""
    filled = [sum(map(bool, row)) for row in rows[:10]]
    usual = max(filled, key=filled.count, default=0)
    for number, row in enumerate(rows[:10]):
        if filled[number] >= usual:
            return (
                (rows[:number], row, rows[number + 1 :]) if _is_header(row) and rows[number + 1 :] else ([], [], rows)
            )
    return [], [], rows


def _is_header(row: list[str]) -> bool:
    return all(row) and len(set(row)) == len(row) and not any(_is_number(cell) or len(cell) > 100 for cell in row)


def _is_number(cell: str) -> bool:
    return cell.strip("+-$€£%() ").replace(",", "").replace(".", "").isdigit()


def _row(head: list[str], row: list[str]) -> str:
    pairs = zip(itertools.chain(head, itertools.repeat("")), row, strict=False)  # short rows below a wide head are many
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def load_json(path: Path) -> ParsedFile:
    """JSON as readable lines; what is no JSON, or is nested too deeply, is read as the text it is."""
    text = read(path)
    try:
        value = json.loads(text)
        return ParsedFile((document(clean("\n\n".join(_records(value))) or text, properties=_properties(value)),))
    except (ValueError, RecursionError):
        return ParsedFile((document(text),))


def load_notebook(path: Path) -> ParsedFile:
    """A Jupyter notebook, stored as the JSON that it is; its first heading is the title where it names none
    (https://nbformat.readthedocs.io/en/latest/format_description.html).
    """
    text = read(path)
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        return ParsedFile((document(text),))
    notebook = notebook if isinstance(notebook, dict) else {}
    cells = notebook.get("cells")
    heading = next(filter(None, map(_first_heading, cells if isinstance(cells, list) else [])), "")
    return ParsedFile((document(text, heading, properties=_properties(notebook.get("metadata"))),))


def _first_heading(cell: Any) -> str:
    """The first heading of a cell of Markdown."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "markdown":
        return ""
    source = cell.get("source")
    lines = source if isinstance(source, list) else str(source).split("\n")
    first = next((line for line in lines[:MANY] if isinstance(line, str) and line.lstrip().startswith("#")), "")
    return first.strip("# \n")


def load_jsonl(path: Path) -> ParsedFile:
    """One JSON value per line, each a paragraph; a broken line is read as the text it is."""
    lines = []
    for line in read(path).split("\n"):
        try:
            lines.append(" ".join(_records(json.loads(line))) if line.strip() else "")
        except (ValueError, RecursionError):
            lines.append(line)
    return ParsedFile((document(clean("\n\n".join(line for line in lines if line.strip()))),))


def _properties(value: Any) -> Properties:
    return from_mapping(value) if isinstance(value, dict) else UNKNOWN


def _records(value: Any) -> Iterator[str]:
    """Paragraphs: one per element of a list of objects, one per key of an object."""
    for record, leaves in itertools.groupby(_leaves(value, ()), key=lambda leaf: _record_path(leaf[0])):
        named = [step for step in record if isinstance(step, str)]
        yield _pair(named, "; ".join(_pair(path[len(record) :], text) for path, text in leaves))


def _leaves(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if len(key) > _LONG_NAME:
                yield path, key  # a text of its own
            yield from _leaves(inner, (*path, key[:_LONG_NAME]))
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*path, number))
    elif isinstance(value, list):
        if value:
            yield path, ", ".join(map(_word, value))
    elif value is not None and value != "":
        yield path, _word(value)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _record_path(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """What a record shares: the way to the innermost element of a list, else to the parent object."""
    numbers = [index for index, step in enumerate(path) if isinstance(step, int)]
    return path[: numbers[-1] + 1] if numbers else path[:1] if len(path) > 1 else ()


def _pair(path: Sequence[str | int], text: str) -> str:
    name = _name(path)
    return f"{name}: {text}" if name else text


def _name(path: Sequence[str | int]) -> str:
    steps, length = list[str](), 0
    for step in reversed(path):
        length += len(str(step)) + 1
        if length > _LONG_NAME + 1 and steps:
            break
        steps.append(str(step))
    return ".".join(reversed(steps))
