"""Records as text that can be quoted: JSON, notebooks and subtitles (.srt, .vtt)."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from local_rag.core.documents import PLACE
from local_rag.index.parse.parsed_file import UNKNOWN, ParsedFile, Properties, clean, document, headed, joined
from local_rag.index.parse.properties import from_mapping
from local_rag.index.parse.prose import markdown, read

_LONG_NAME = 200
"""Characters of a name that stands before each value of JSON; of a longer one, the innermost parts.

A long key above many values would make a text many times as large as the file.
"""

_CUE = re.compile(
    r"^[ \t]*(?P<time>(?:\d+:)?\d\d:\d\d)[.,]\d{3}[ \t]+-->.*\n(?P<text>(?:[ \t]*\S.*\n?)*+)", re.MULTILINE
)
_VOICE = re.compile(r"<v[. ][^>]*?([^>. ][^>]*)>")
_MARKUP = re.compile(r"</?[a-zA-Z\d][^<>]*>|\{\\[^{}]*\}")


def load_json(path: Path) -> ParsedFile:
    """Read JSON as readable lines; what is no JSON, or is nested too deeply, as the text it is."""
    text = read(path)
    try:
        value = json.loads(text)
        return ParsedFile((document(clean("\n\n".join(_records(value))) or text, properties=_properties(value)),))
    except (ValueError, RecursionError):
        return ParsedFile((document(text),))


def load_notebook(path: Path) -> ParsedFile:
    """Read a Jupyter notebook as Markdown: its cells, code between fences, with the texts that they put out
    (https://nbformat.readthedocs.io/en/latest/format_description.html).

    What is no notebook is read as the text it is.
    """
    text = read(path)
    try:
        notebook = json.loads(text)
        text = clean("\n\n".join(block for cell in notebook["cells"] for block in _cell(cell))) or text
        properties = _properties(notebook.get("metadata"))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ParsedFile((document(text),))
    return ParsedFile((headed(*markdown(text), properties),))


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
    """Read one JSON value per line, each a paragraph; a broken line as the text it is."""
    lines = [line for line in read(path).split("\n") if line.strip()]
    for number, line in enumerate(lines):
        with suppress(ValueError, RecursionError):
            lines[number] = " ".join(_records(json.loads(line)))
    return ParsedFile((document(clean("\n\n".join(filter(str.strip, lines)))),))


def _properties(value: Any) -> Properties:
    return from_mapping(value) if isinstance(value, dict) else UNKNOWN


def _records(value: Any) -> Iterator[str]:
    """Yield paragraphs: one per element of a list of objects, one per key of an object."""
    for record, leaves in itertools.groupby(_leaves(value, ()), key=lambda leaf: _record_path(leaf[0])):
        yield _pair(record, "; ".join(_pair(path[len(record) :], text) for path, text in leaves))


def _leaves(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key[:_LONG_NAME]))
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*path, number))
    elif text := ", ".join(map(_word, value if isinstance(value, list) else [value])):
        yield path, text


def _word(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _record_path(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return the path that the values of a record share: to the innermost element of a list, else to the outermost
    key.
    """
    numbers = [index for index, step in enumerate(path) if isinstance(step, int)]
    return path[: numbers[-1] + 1] if numbers else path[:-1][:1]


def _pair(path: Sequence[str | int], text: str) -> str:
    name = ".".join(step for step in path if isinstance(step, str))[-_LONG_NAME:]
    return f"{name}: {text}" if name else text


def load_subtitles(path: Path) -> ParsedFile:
    """Read what is said, a line for each caption, without its markup; a citation names the time of its first one."""
    text = read(path)
    cues = [(PLACE, cue["time"], _said(cue["text"])) for cue in _CUE.finditer(text)]
    new = [cue for at, cue in enumerate(cues) if not at or cue[2] != cues[at - 1][2]]
    said, times = joined(new, "\n")
    return ParsedFile((document(said or text, headings=times),))


def _said(caption: str) -> str:
    return " ".join(_MARKUP.sub("", _VOICE.sub(r"\1: ", caption)).split())
