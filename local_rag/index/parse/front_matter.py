"""What a text file says of itself at its head: YAML and TOML front matter, and lines such as "Author: …"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_rag.index.parse.parsed_file import UNKNOWN, Properties
from local_rag.index.parse.properties import from_mapping

LONGEST = 20_000
"""Characters of front matter that is parsed; what is longer is none that a person wrote."""

HEAD = 6_000
"""Characters at the head of a text in which it says what it is. The longest head of 43 PEPs has 1,500."""

_BRACKETS = 200
"""In front matter that is parsed: brackets in brackets take quadratic time."""

_LONG_LINE = 2000

_FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"(?::|#\+)?(?P<name>[A-Za-z][A-Za-z _-]{0,30}):+(?:[ \t]+(?P<text>.*))?$")
_NOT_PLAIN = re.compile(r"""[\[{&*!|>%]|"[^"]*$|'[^']*$""")
"""How a value of YAML begins that is more than its letters, or a quote that lacks its other one."""

_KNOWN = frozenset(
    "title author authors created date published release_date original_publication keywords subject".split()
)
_SHORT_NAMES = frozenset("author authors date created published keywords subject".split())


def front_matter(text: str) -> tuple[Properties, int]:
    """What the front matter of Markdown says, and the code point at which the text behind it begins; 0 without any.

    YAML between "---" (Jekyll, Pandoc) or TOML between "+++" (Hugo); of what does not parse, the lines with a plain
    value are read.
    """
    if text[:3] not in ("---", "+++") or (match := _FRONT.match(text[:LONGEST])) is None:
        return UNKNOWN, 0
    front = match[2]
    mapping = _yaml(front) if match[1] == "---" else _toml(front)
    return (_of_lines(front, plain=True) if mapping is None else from_mapping(mapping)), match.end()


def _yaml(front: str) -> Mapping[Any, Any] | None:
    """Plain values, every scalar as the text it is: a title of 2023 or Yes stays one, a date is as precise as it is."""
    import yaml

    if front.count("[") + front.count("{") > _BRACKETS:
        return None
    try:
        value = yaml.load(front, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError):
        return None
    return value if isinstance(value, dict) else None


def _toml(front: str) -> Mapping[Any, Any] | None:
    import tomllib

    try:
        return tomllib.loads(front)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None


def fields(text: str, *, begin: bool = False) -> Properties:
    """What the lines at the head of a text say: "Author: …" (PEPs), ":Author: …" (docutils' bibliographic fields,
    https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#bibliographic-fields), "#+AUTHOR: …" (Org).

    A line that is indented goes on with the field above it. `begin`: only a text that begins with such lines, or that
    has a title among them, says something of itself; anywhere else "Date: …" may be part of what is told.
    """
    properties = _of_lines(text[:HEAD])
    if begin and not properties.title:
        first = text[:HEAD].lstrip().partition("\n\n")[0].split("\n")
        known = [match["name"].lower() for line in first if (match := _LINE.match(line[:_LONG_LINE]))]
        if len(known) < len(first) or len(_SHORT_NAMES.intersection(known)) < 2:
            return UNKNOWN
    return properties


def _of_lines(head: str, *, plain: bool = False) -> Properties:
    """The first of each known field, with the indented lines below it; only `plain` values, if that is wanted."""
    known: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in head.split("\n"):
        line = line[:_LONG_LINE].rstrip()
        if current is not None and line[:1].isspace() and line.strip() and not _LINE.match(line.strip()):
            current.append(line.strip())
            continue
        current = None
        match = _LINE.match(line)
        if match is None:
            continue
        name = re.sub(r"[ -]", "_", match["name"].lower())
        if name in _KNOWN and name not in known:
            current = known.setdefault(name, [match["text"] or ""])
    if plain:
        known = {name: lines for name, lines in known.items() if not _NOT_PLAIN.match(lines[0].strip())}
    return from_mapping({name: _value(name, lines) for name, lines in known.items()})


def _value(name: str, lines: list[str]) -> str | list[str]:
    joined = " ".join(lines).strip()
    if len(joined) > 1 and joined[0] == joined[-1] and joined[0] in "'\"":
        joined = joined[1:-1]
    if name in ("author", "authors") and re.search(r"[<@]", joined):
        return [author.strip() for author in re.split(r",\s+(?=[^,]*[<@])|(?<=>),\s*|;", joined) if author.strip()]
    return joined
