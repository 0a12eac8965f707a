"""HTML as text: white space collapsed, blocks apart, a row of a table on one line, headings at their offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.entities import html5
from typing import Any

from local_rag.core.documents import Heading
from local_rag.index.parse.parsed_file import clean
from local_rag.index.parse.tables import lines
from local_rag.text.encoding import declared_charset, decode
from local_rag.text.sentences import Span

DROPPED = frozenset(
    """head script style noscript template svg iframe object embed audio video canvas select textarea button datalist
    map area""".split()
)
AROUND = frozenset("nav footer aside menu dialog".split())
_PARAGRAPH = frozenset(
    """p div section article main header footer nav aside table blockquote pre figure figcaption address form
    fieldset details hr body center caption h1 h2 h3 h4 h5 h6""".split()
)
_LIST = frozenset("ul ol dl".split())
_LINE = frozenset("li dt dd tr br option summary thead tbody tfoot".split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_MOST_COLUMNS = 100
"""Columns and rows that one cell spans, at most."""

_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]*);")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def parse_html(source: str) -> Any:
    """The tree of a page, however broken, or None where nothing is left of it; nothing is fetched."""
    from lxml import etree

    parser = etree.HTMLParser(no_network=True, remove_pis=True, huge_tree=True)
    try:
        return etree.fromstring(_DECLARATION.sub("", source), parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None


def parse_xml(data: bytes) -> Any:
    """The tree of an XML file; no entity is expanded but HTML's own, nothing is fetched. None where it is no XML."""
    from lxml import etree

    source = _ENTITY.sub(_character, decode(data, declared_charset(data)))
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, remove_pis=True)
    try:
        return etree.fromstring(_DECLARATION.sub("", source), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _character(match: re.Match[str]) -> str:
    """A named character of HTML as itself, XML's own five untouched, anything else dropped."""
    name = match.group(1)
    return match.group() if name in ("amp", "lt", "gt", "quot", "apos") else html5.get(name + ";", "")


@dataclass(frozen=True)
class _Cell:
    text: str
    columns: int
    rows: int


@dataclass
class TextBuilder:
    """Text as it grows: white space collapsed, blocks on lines of their own, the cells of a row on one line."""

    parts: list[str] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    length: int = 0
    _breaks: int = 0
    _space: bool = False
    _lead: str = ""
    _row: bool = False
    _filled: bool = False
    _lists: int = 0
    _level: int = 0
    _from: tuple[int, int] | None = None
    _cells: list[_Cell] = field(default_factory=list)
    _begin: int = 0
    _cell: int = 0
    _tables: list[list[tuple[int, list[_Cell]]]] = field(default_factory=list)
    _headed: dict[int, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text with the cells of a row as they are."""
        return "".join(self.parts)

    def lines(self) -> list[Span]:
        return [Span(*match.span()) for match in re.finditer(r"[^\n]+", self.text)]

    def picked(self, lines: Iterable[Span]) -> tuple[str, list[Heading]]:
        """Some lines, neighbours as far apart as they were, with the headings among them; rows carry their headers."""
        text, parts, length, end = self.text, list[str](), 0, 0
        headings, picked = iter(self.headings), list[Heading]()
        heading = next(headings, None)
        for line in lines:
            between = text[end : line.start] if parts else ""
            parts += ["\n\n" if between.strip() else between, self._headed.get(line.start) or line.of(text)]
            length += len(parts[-2])
            while heading and heading.start < line.end:
                if heading.start >= line.start:
                    picked.append(Heading(length + heading.start - line.start, heading.level, heading.text))
                heading = next(headings, None)
            length, end = length + len(parts[-1]), line.end
        return "".join(parts), picked

    def add(self, raw: str, verbatim: bool = False) -> None:
        """Text as it stands in the tree; `verbatim` keeps its lines."""
        raw = clean(raw)  # an entity can be any character
        text = raw.strip("\n") if verbatim else " ".join(raw.split())
        if not text:
            self._space = self._space or bool(raw)
            return
        self._space = self._space or raw[0].isspace()
        self._flush()
        if not self._filled:
            self._begin = self.length
        if self._level and self._from is None:
            self._from = (self.length, len(self.parts))
        self._put(text)
        self._filled, self._space = True, raw[-1].isspace()

    def block(self, breaks: int) -> None:
        """A new line (1) or a new paragraph (2) before what is added next; inside a row just a blank."""
        if self._row:
            self._space = True
        else:
            self._breaks = max(self._breaks, breaks)

    def lead(self, mark: str) -> None:
        """A mark before what is added next, if anything is; none inside a row."""
        if not self._row:
            self._lead = mark

    def open_cell(self) -> None:
        self._cell = len(self.parts)

    def close_cell(self, columns: int, rows: int) -> None:
        """A rule before the next cell of the row, a line where the table is a page's layout."""
        if not self._row:
            self.block(1)
            return
        text = "".join(self.parts[self._cell :]).removeprefix(" | ").strip()
        self._cells.append(_Cell(text, columns, rows))
        if self._filled:
            self._lead = " | "

    def open_row(self, data: bool) -> None:
        """A row whose cells stand on one line, or not `data`: one of a page's layout."""
        self.close_row()
        self._row = data

    def close_row(self) -> None:
        if self._row and self._filled and self._tables and not any("\n" in cell.text for cell in self._cells):
            self._tables[-1].append((self._begin, self._cells))
        self._row, self._lead, self._filled, self._cells = False, "", False, []
        self.block(1)

    def open_table(self) -> None:
        self._tables.append([])

    def close_table(self, headed: bool) -> None:
        table = self._tables.pop()
        grid = _grid(cells for _, cells in table)
        self._headed |= zip((start for start, _ in table), lines(grid, headed=headed), strict=True)

    def nest(self, step: int) -> None:
        """Into a list (+1) or out of it (-1): a list inside a list stays in its paragraph."""
        if step < 0:
            self._lists -= 1
        self.block(1 if self._lists else 2)
        if step > 0:
            self._lists += 1

    def open_heading(self, level: int) -> None:
        self._level, self._from = level, None

    def close_heading(self) -> None:
        if self._from is not None:
            start, part = self._from
            self.headings.append(Heading(start, self._level, "".join(self.parts[part:])))
        self._level, self._from = 0, None

    def _flush(self) -> None:
        if self.length:
            if self._breaks:
                self._put("\n" * self._breaks)
            elif self._space and not self._lead:
                self._put(" ")
        if self._lead:
            self._put(self._lead)
        self._breaks, self._space, self._lead = 0, False, ""

    def _put(self, part: str) -> None:
        self.parts.append(part)
        self.length += len(part)


def _grid(rows: Iterable[list[_Cell]]) -> Iterator[list[str]]:
    """Rows of as many cells as there are columns: one that spans rows stands in each."""
    below: dict[int, tuple[str, int]] = {}
    for row in rows:
        cells, waiting = list[str](), iter(row)
        cell = next(waiting, None)
        while cell or len(cells) in below:
            text, more = below.pop(len(cells), ("", 0))
            if more:
                cells.append(text)
                below |= {len(cells) - 1: (text, more - 1)} if more > 1 else {}
            elif cell:
                for text in (cell.text, *[""] * (cell.columns - 1)):
                    below |= {len(cells): (text, cell.rows - 1)} if cell.rows > 1 else {}
                    cells.append(text)
                cell = next(waiting, None)
        yield cells


def html_text_of(source: str) -> tuple[str, list[Heading]]:
    """The text of a page and its headings."""
    builder = TextBuilder()
    if (tree := parse_html(source)) is not None:
        add_tree(tree, builder)
    return builder.picked(builder.lines())


def add_tree(tree: Any, builder: TextBuilder, skip: frozenset[str] = DROPPED) -> None:
    """Add the visible text of an lxml tree; never recursive, whatever the depth of the tree."""
    from lxml import etree

    verbatim = 0
    walk = etree.iterwalk(tree, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        tag = _tag(node)
        if event == "start":
            if tag in skip or _hidden(node):
                walk.skip_subtree()
                continue
            verbatim += tag == "pre"
            _open(builder, tag, node)
            builder.add(node.text or "", verbatim > 0)
            continue
        if event == "end" and tag not in skip and not _hidden(node):
            verbatim -= tag == "pre"
            _close(builder, tag, node)
        if node is not tree:
            builder.add(node.tail or "", verbatim > 0)


def _open(builder: TextBuilder, tag: str, node: Any) -> None:
    _separate(builder, tag, 1)
    if tag in _HEADINGS:
        builder.open_heading(_HEADINGS[tag])
    elif tag == "li":
        builder.lead("- ")
    elif tag == "tr":
        builder.open_row(_is_data(node))
    elif tag == "table":
        builder.open_table()
    elif tag in ("td", "th"):
        builder.open_cell()


def _close(builder: TextBuilder, tag: str, node: Any) -> None:
    if tag in _HEADINGS:
        builder.close_heading()
    elif tag == "tr":
        builder.close_row()
    elif tag in ("td", "th"):
        builder.close_cell(_span(node, "colspan"), _span(node, "rowspan"))
    elif tag == "table":
        first = next(node.iter("{*}tr"), ())
        builder.close_table(headed=len(first) > 1 and all(_tag(cell) == "th" for cell in first))
    _separate(builder, tag, -1)


def _separate(builder: TextBuilder, tag: str, step: int) -> None:
    if tag in _PARAGRAPH:
        builder.block(2)
    elif tag in _LINE:
        builder.block(1)
    elif tag in _LIST:
        builder.nest(step)


def _is_data(row: Any) -> bool:
    """A row that reads as one line: a page laid out with tables has headings, tables or articles in its cells."""
    if next(row.iter("table", *_HEADINGS), None) is not None:
        return False
    return sum(len(text) for text in row.itertext()) <= 2000


def _span(cell: Any, name: str) -> int:
    """Columns or rows that a cell spans."""
    value = cell.get(name, "")
    return max(1, min(int(value), _MOST_COLUMNS)) if value.isascii() and value.isdecimal() else 1


def _tag(node: Any) -> str:
    return node.tag.rpartition("}")[2].lower() if isinstance(node.tag, str) else ""


def _hidden(node: Any) -> bool:
    return "hidden" in node.attrib or bool(_HIDDEN.search(node.get("style", "")))
