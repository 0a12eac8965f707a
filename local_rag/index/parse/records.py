"""JSON as text that can be quoted, one record a paragraph of "name: value" pairs, and notebooks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from local_rag.index.parse.parsed_file import UNKNOWN, ParsedFile, Properties, clean, document
from local_rag.index.parse.properties import from_mapping
from local_rag.index.parse.prose import markdown, read

_LONG_NAME = 200
"""Characters of a name that stands before each value of JSON; of a longer one, the innermost parts.

A long key above many values would make a text many times as large as the file."""


def load_json(path: Path) -> ParsedFile:
    """JSON as readable lines; what is no JSON, or is nested too deeply, is read as the text it is."""
    text = read(path)
    try:
        value = json.loads(text)
        return ParsedFile((document(clean("\n\n".join(_records(value))) or text, properties=_properties(value)),))
    except (ValueError, RecursionError):
        return ParsedFile((document(text),))


def load_notebook(path: Path) -> ParsedFile:
    """A Jupyter notebook as Markdown: its cells, code between fences, with the texts that they put out
    (https://nbformat.readthedocs.io/en/latest/format_description.html). What is no notebook is the text it is.
    """
    text = read(path)
    try:
        notebook = json.loads(text)
        text = clean("\n\n".join(block for cell in notebook["cells"] for block in _cell(cell))) or text
        properties = _properties(notebook.get("metadata"))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ParsedFile((document(text),))
    text, headings = markdown(text)
    return ParsedFile((document(text, headings[0].text if headings else "", headings=headings, properties=properties),))


def _cell(cell: Any) -> Iterator[str]:
    source = "".join(cell["source"]).strip("\n")
    is_code = cell["cell_type"] == "code"
    if source.strip():
        yield f"```\n{source}\n```" if is_code else source
    for output in cell.get("outputs", ()) if is_code else ():
        plain = output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue") or ""
        if said := "".join(plain).strip("\n"):
            yield f"```\n{said}\n```"


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
