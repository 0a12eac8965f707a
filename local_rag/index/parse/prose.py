"""Plain text, Markdown and reStructuredText: stored as they are, with their title and headings.

Their properties stand at the head: YAML and TOML front matter, and lines such as "Author: …".
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from local_rag.core.documents import Heading
from local_rag.index.parse.marks import fractions, lowered, raised
from local_rag.index.parse.parsed_file import UNKNOWN, ParsedFile, Properties, clean, document, headed
from local_rag.index.parse.properties import from_mapping
from local_rag.index.parse.tables import rows
from local_rag.text.encoding import decode
from local_rag.text.names import SALUTATION

LONG = 300
"""Characters of a heading that are looked at."""

LONG_LINE = 2000
"""Characters of a line that patterns look at: where one goes back and forth, a longer line would take very long."""

_LONG_HEADING = 110
_LONG_MARKDOWN = 5_000_000
"""Characters of Markdown in which headings and tables are looked for, which takes half a second per million."""

_ATTRIBUTES = re.compile(r"[ \t]*\{[ \t]*[#.:][^{}]*\}[ \t]*$")
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]+")
_MARKED = re.compile(
    r"(?P<code>(?P<ticks>`+)(?!`).{1,1000}?(?<!`)(?P=ticks)(?!`)|\\[~<])"
    r"|~~(?=[^\s~]).{1,1000}?(?<=[^\s~])~~(?!~) ?|<(?P<tag>del|s|strike)>.{1,1000}?</(?P=tag)> ?"
    r"|<sup>(?P<sup>[^<]{1,200})</sup>|<sub>(?P<sub>[^<]{1,200})</sub>",
    re.DOTALL | re.IGNORECASE,
)
"""The parts of Markdown that are code, struck out, above the line or below it."""

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*$")
_RST = re.compile(
    r"^(?:(?P<over>([!-/:-@\[-`{-~])\2{2,}+)[ \t]*\n)?(?=.*\S)(?P<line>.*+)\n"
    r"(?P<under>([!-/:-@\[-`{-~])\5{2,}+)[ \t]*$",
    re.MULTILINE,
)
_MARKS = " \t*=#"
_NO_TITLE = re.compile(r"(dear|hi|hello|hey|to whom|from|to|sent|date|re|copyright|this file|page)\b", re.IGNORECASE)
_ROLE = re.compile(r":[\w:+.-]+:`([^`<]*?)(?:\s*<[^`>]*>)?`|``?|\*{1,2}")

_LONG_FRONT = 20_000
"""Characters of front matter that is parsed; no person writes a longer one."""

_HEAD = 6_000
"""Characters at the head of a text in which its properties are looked for. The longest head of 43 PEPs has 1,500."""

_BRACKETS = 200
"""The most brackets in front matter that is parsed: brackets in brackets take quadratic time."""

_FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(
    r"^(?::|#\+)?(?P<name>[A-Za-z][\w -]{0,30}):+(?:[ \t]+(?P<text>.*(?:\n[ \t]+(?![A-Za-z][\w -]{0,30}:)\S.*)*))?$",
    re.MULTILINE,
)
_EMPHASIS = re.compile(r"[*_]{1,2}(?=[^\s*_])|(?<=[^\s*_])[*_]{1,2}|^[-+*>][ \t]+")
_KNOWN = frozenset(
    "title author authors created date published release_date original_publication keywords subject".split()
)


def read(path: Path) -> str:
    """Return the clean text of a text file. Raises FileSkipped for a binary or an empty one."""
    return clean(decode(path.read_bytes()))


def load_code(path: Path) -> ParsedFile:
    """Read source code, configuration and the like: no title, no headings."""
    return ParsedFile((document(read(path)),))


def load_text(path: Path) -> ParsedFile:
    """Read plain text; its title is that in the lines at its head ("Title: …"), else its first line where that looks
    like one.

    It has no headings.
    """
    text = read(path)
    return ParsedFile((document(text, _first_line(text), properties=fields(text, begin=True)),))


def _first_line(text: str) -> str:
    """Return the first line where it is short, stands alone above more text, and is neither a sentence nor of a
    letter.
    """
    first, _, rest = text[:LONG_LINE].lstrip().partition("\n")
    following = rest.partition("\n")[0].strip()
    title = first.strip(_MARKS)
    if not rest.strip() or (following and not _ADORNMENT.match(following)) or SALUTATION.search(text[:LONG_LINE]):
        return ""
    return title if is_heading(title) and title[-1] not in ".:" and not _NO_TITLE.match(title) else ""


def is_heading(line: str) -> bool:
    """Return whether a line may be a heading: short, of words rather than figures, and no sentence."""
    if not 3 <= len(line) <= _LONG_HEADING or not line[0].isalnum() or line[0].islower() or line[-1] in ",;":
        return False
    long = [word for word in line.split() if len(word) > 3 and word[0].isalpha()]
    is_sentence = line[-1] in ".!?" and sum(word[0].islower() for word in long) >= 0.4 * len(long)
    return not is_sentence and sum(map(str.isalpha, line)) + line.count(" ") >= 0.65 * len(line)


def load_markdown(path: Path) -> ParsedFile:
    """Read Markdown as it is written, but that the rows of its tables carry their headers."""
    text = read(path)
    properties, begin = front_matter(text)
    text, headings = markdown(text, begin)
    outermost = min(headings, key=lambda h: (h.level, h.start), default=None)
    title = outermost.text if outermost else ""
    properties = properties if begin else replace(fields(text, begin=True), title="")
    return ParsedFile((document(text, title, headings=headings, properties=properties),))


def markdown(text: str, begin: int = 0) -> tuple[str, list[Heading]]:
    """Return the text with the headers in each row of its tables, and its headings of both styles.

    It is Markdown from `begin` on: https://github.github.com/gfm/#tables-extension-,
    https://spec.commonmark.org/0.31.2/#atx-headings
    """
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("table")
    reader.core.ruler.enableOnly(["normalize", "block"])
    source = text[begin : begin + _LONG_MARKDOWN]
    starts = [*accumulate(map(len, source.splitlines(keepends=True)), initial=begin)]
    parts, headings, table = list[str](), list[Heading](), list[list[str]]()
    end = grown = 0

    def write(span: tuple[int, int], lines: str) -> None:
        """Write lines in place of those of a token."""
        nonlocal end, grown
        start, last = starts[span[0]], starts[span[1]]
        parts.extend([text[end:start], lines])
        end = last - text.endswith("\n", 0, last)
        grown += len(lines) - (end - start)

    tokens: list[Any] = [*reader.parse(source), None]
    for token, inside in pairwise(tokens):
        if token.type == "heading_open" and not token.level and "\n" not in inside.content:
            headings.append(Heading(starts[token.map[0]] + grown, int(token.tag[1:]), _plain(inside.content)))
        elif token.type == "table_open":
            table, span = [], token.map
        elif token.type == "tr_open":
            table.append([])
        elif token.type in ("th_open", "td_open"):
            table[-1].append(_marked(inside.content))
        elif token.type == "table_close":
            write(span, "\n".join(rows(table, headed=True)))
            table = []
        elif token.type in ("inline", "html_block") and not table:
            source = text[starts[token.map[0]] : starts[token.map[1]]].removesuffix("\n")
            if (lines := _marked(source)) != source:
                write(token.map, lines)
    return "".join([*parts, text[end:]]), headings


def _plain(heading: str) -> str:
    bare = _marked(_ATTRIBUTES.sub("", heading[:LONG]))
    return _MARKUP.sub(lambda match: match.group(1) or "", bare).strip()


def _marked(source: str) -> str:
    """Return Markdown without what is struck out (https://github.github.com/gfm/#strikethrough-extension-), its
    superscripts and subscripts, which are HTML, as characters; code stays as it is.
    """
    return fractions(_MARKED.sub(_mark, source)) if "~~" in source or "<" in source else source


def _mark(match: re.Match[str]) -> str:
    if match["code"]:
        return match[0]
    return raised(match["sup"]) if match["sup"] else lowered(match["sub"]) if match["sub"] else ""


def load_rst(path: Path) -> ParsedFile:
    """Read the text of reStructuredText as it is written.

    A title is underlined at its full width, maybe overlined; levels in the order in which the adornments appear
    (https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#sections). PEPs have a Title field.
    """
    text = read(path)
    return ParsedFile((headed(text, list(_rst_headings(text)), fields(text)),))


def _rst_headings(text: str) -> Iterator[Heading]:
    levels: dict[tuple[str, bool], int] = {}
    for match in _RST.finditer(text):
        over, line, under = match["over"] or "", match["line"], match["under"]
        above = text[text.rfind("\n", 0, max(0, match.start() - 1)) + 1 : match.start()]
        alone = over == under if over else not line[0].isspace() and not above.strip()
        if alone and len(line.rstrip()) <= len(under) and not _ADORNMENT.fullmatch(line):
            level = levels.setdefault((under[0], bool(over)), len(levels) + 1)
            yield Heading(match.start(), level, _ROLE.sub(lambda role: role[1] or "", line[:LONG]).strip())


def front_matter(text: str) -> tuple[Properties, int]:
    """Return the properties in the front matter of Markdown, and the code point at which the text behind it begins; 0
    without any.

    YAML between "---" (Jekyll, Pandoc) or TOML between "+++" (Hugo); of what does not parse, the lines with a plain
    value are read.
    """
    import yaml

    if text[:3] not in ("---", "+++") or (match := _FRONT.match(text[:_LONG_FRONT])) is None:
        return UNKNOWN, 0
    front, mapping = match[2], dict[Any, Any]()
    try:
        if match[1] == "+++":
            mapping = tomllib.loads(front)
        elif front.count("[") + front.count("{") <= _BRACKETS:
            mapping = yaml.load(front, Loader=yaml.BaseLoader)  # a title of 2023 or Yes is text, a date is as it is
    except Exception:  # the parsers raise more than their own errors
        mapping = {}
    return (from_mapping(mapping) if mapping and isinstance(mapping, dict) else _of_lines(front)), match.end()


def fields(text: str, *, begin: bool = False) -> Properties:
    """Return the properties in the lines at the head of a text: "Author: …" (PEPs), ":Author: …" (docutils), "#+AUTHOR:
    …" (Org).

    A line that is indented goes on with the field above it. With `begin` a text without a title among such lines has
    properties only where it begins with them, or with a title above them; anywhere else "Date: …" may be part of what
    is told. https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#bibliographic-fields
    """
    properties = _of_lines(text[:_HEAD])
    return properties if properties.title or not begin else _of_lines(_opening(text[:_HEAD]))


def _opening(text: str) -> str:
    """Return the lines of fields with which a text begins, below a title of at most two lines, without marks of
    Markdown.
    """
    known, titles = list[str](), 0
    for line in filter(str.strip, text.splitlines()):
        plain = _EMPHASIS.sub("", line[:LONG_LINE]).strip()
        if _FIELD.fullmatch(plain):
            known.append(plain)
        elif known or titles == 2 or plain[-1:] in ".!?:,;":
            break
        else:
            titles += 1
    return "\n".join(known)


def _of_lines(head: str) -> Properties:
    """Return the first of each known field, with the indented lines below it."""
    known: dict[str, str] = {}
    for match in _FIELD.finditer(head):
        name, text = re.sub(r"[ -]", "_", match["name"].lower()), " ".join((match["text"] or "").split())
        if name in _KNOWN:
            known.setdefault(name, text.strip("'\""))
    return from_mapping(known)
