"""HTML as text: white space collapsed, blocks apart, a row of a table on one line, headings at their offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from html.entities import html5
from typing import Any

from local_rag.core.documents import Heading
from local_rag.index.parse.marks import STRUCK, is_fraction, mark, plain
from local_rag.index.parse.parsed_file import clean
from local_rag.index.parse.tables import lines
from local_rag.text.encoding import declared_charset, decode
from local_rag.text.sentences import Span

DROPPED = STRUCK | frozenset(
    """head script style noscript template svg iframe object embed audio video canvas select textarea button datalist
    map area annotation""".split()
)
AROUND = frozenset("nav footer aside menu dialog".split())
_PARAGRAPH = frozenset(
    """p div section article main header footer nav aside table blockquote pre figure figcaption address form
    fieldset details hr body center caption h1 h2 h3 h4 h5 h6""".split()
)
_LIST = frozenset("ul ol dl".split())
_LINE = frozenset("li dt dd tr td th br option summary thead tbody tfoot".split())
HEADINGS = {f"h{level}": level for level in range(1, 7)}
_MOST_SPANNED = 100
"""The most columns or rows that one cell spans."""

_LONG_ROW = 2000
"""Characters above which a row is no row but a part of a page that is laid out as a table."""

_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]*;)")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|\bline-through\b", re.IGNORECASE)


def parse_html(source: str) -> Any:
    """Return the tree of a page, its marks written as text; None where nothing is left of it. Nothing is fetched."""
    from lxml import etree

    tree = _tree(source, etree.HTMLParser(no_network=True, remove_pis=True, huge_tree=True))
    if tree is not None:
        mark(tree)
    return tree


def parse_xml(data: bytes) -> Any:
    """Return the tree of an XML file; no entity is expanded but HTML's own, nothing is fetched. None where it is no
    XML.
    """
    from lxml import etree

    source = _ENTITY.sub(lambda match: html5.get(match[1], ""), decode(data, declared_charset(data)))
    return _tree(source, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True))


def _tree(source: str, parser: Any) -> Any:
    from lxml import etree

    try:
        return etree.fromstring(_DECLARATION.sub("", source), parser)
    except (etree.LxmlError, ValueError):
        return None


@dataclass
class TextBuilder:
    """Text as it grows: white space collapsed, blocks on lines of their own.

    `bare` holds for each row of a table, by its start, its cells without their headers.
    """

    parts: list[str] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    bare: dict[int, str] = field(default_factory=dict)
    length: int = 0
    lead: str = ""
    """The text before the next part that is added, if any is."""

    _breaks: int = 0
    _space: bool = False
    _opened: tuple[int, int, str] = (0, 0, "")

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def lines(self) -> list[Span]:
        return [Span(*match.span()) for match in re.finditer(r"[^\n]+", self.text)]

    def picked(self, lines: Iterable[Span]) -> tuple[str, list[Heading]]:
        """Return some lines, neighbours as far apart as they were, with the headings among them."""
        text, headings, picked, end = self.text, list[Heading](), "", 0
        starts = {heading.start: heading for heading in self.headings}
        for line in lines:
            between = text[end : line.start]
            picked += ("\n\n" if between.strip() else between) if picked else ""
            if heading := starts.get(line.start):
                headings.append(replace(heading, start=len(picked)))
            picked, end = picked + line.of(text), line.end
        return picked, headings

    def add(self, raw: str, verbatim: bool = False) -> None:
        """Add text as it stands in the tree; `verbatim` keeps its lines."""
        raw = clean(raw)  # an entity can be any character
        text = raw.strip("\n") if verbatim else " ".join(raw.split())
        self._space = self._space or raw[:1].isspace()
        if text:
            self._put(text)
            self._space = raw[-1].isspace()

    def add_row(self, row: str, bare: str) -> None:
        """Add a row of a table on a line of its own, and remember it without its headers."""
        if row:
            self.block(1)
            self._put(row)
            self.bare[self.length - len(row)] = bare

    def block(self, breaks: int) -> None:
        """Begin a new line (1) or a new paragraph (2) before the next part that is added."""
        self._breaks = max(self._breaks, breaks)

    def open_heading(self) -> None:
        self._opened = self.length, len(self.parts), self.lead

    def close_heading(self, level: int) -> None:
        """Make a heading of all that was added since it was opened."""
        start, part, lead = self._opened
        if added := self.parts[part:]:
            self.headings.append(Heading(start + len(added[0]), level, "".join(added[1:]).removeprefix(lead)))

    def _put(self, part: str) -> None:
        if len(self.parts) > 4 and is_fraction(self.parts[-3], self.parts[-1], part):
            self.parts[-3], part = plain(self.parts[-3]), plain(part)
            if not self.parts[-4] and self.parts[-5][-1:].isdigit():
                self.parts[-4] = " "
                self.length += 1
        between = ("\n" * self._breaks or " " * (self._space and not self.lead)) if self.length else ""
        self.parts += [between, self.lead + part]
        self.length += len(between) + len(self.parts[-1])
        self._breaks, self._space, self.lead = 0, False, ""


def html_text_of(source: str) -> tuple[str, list[Heading]]:
    """Return the text of a page and its headings."""
    return text_of(parse_html(source))


def text_of(tree: Any, skip: frozenset[str] = DROPPED) -> tuple[str, list[Heading]]:
    """Return the text of a tree, None for an empty one, and its headings."""
    builder = TextBuilder()
    if tree is not None:
        add_tree(tree, builder, skip)
    return builder.text, builder.headings


def add_tree(tree: Any, builder: TextBuilder, skip: frozenset[str] = DROPPED) -> None:
    """Add the visible text of an lxml tree of whatever depth; only the cells of a table need recursion."""
    from lxml import etree

    verbatim = 0
    walk = etree.iterwalk(tree, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        tag = tag_of(node)
        shown = not (tag in skip or "hidden" in node.attrib or _HIDDEN.search(node.get("style") or ""))
        if event == "start" and not shown:
            walk.skip_subtree()
        elif event == "start":
            verbatim += tag == "pre"
            _separate(builder, node, 1)
            if tag in ("table", "tr") and _is_data(node):
                _add_table(node, builder, skip)
                walk.skip_subtree()
            else:
                builder.add(node.text or "", verbatim > 0)
        else:
            if event == "end" and shown:
                verbatim -= tag == "pre"
                _separate(builder, node, -1)
            if node is not tree:
                builder.add(node.tail or "", verbatim > 0)


def _separate(builder: TextBuilder, node: Any, step: int) -> None:
    """Begin the lines, headings and labels of an element at its beginning (+1) or its end (-1); a list inside a list
    stays in its paragraph.
    """
    tag, parent = tag_of(node), node.getparent()
    if step < 0 and tag in HEADINGS:
        builder.close_heading(HEADINGS[tag])
    if tag in _PARAGRAPH:
        builder.block(2)
    elif tag in _LINE:
        builder.block(1)
    elif tag in _LIST:
        builder.block(2 if parent is None or tag_of(parent) not in ("li", "dd", *_LIST) else 1)
    if step > 0 and tag in HEADINGS:
        builder.open_heading()
    if step > 0 and (tag == "li" or "label" in node.attrib):
        builder.lead = f"{node.get('label', '-')} ".lstrip()


def _is_data(table: Any) -> bool:
    """Return whether the rows of a table, or one row, read as a line each.

    A page that is laid out as a table has headings, tables or articles in its cells.
    """
    inside = table.iter("{*}table", *(f"{{*}}{heading}" for heading in HEADINGS))
    return all(node is table for node in inside) and all(
        sum(map(len, row.itertext())) <= _LONG_ROW for row in table.iter("{*}tr")
    )


def _add_table(table: Any, builder: TextBuilder, skip: frozenset[str]) -> None:
    """Add the rows of a table, or one row, each as a line; a caption stands above them."""
    if (caption := table.find("{*}caption")) is not None:
        builder.add(_spoken(caption, skip))
    rows = [[cell for cell in row if tag_of(cell) in ("td", "th")] for row in table.iter("{*}tr")]
    headed = bool(rows) and len(rows[0]) > 1 and all(tag_of(cell) == "th" for cell in rows[0])
    grid = list(_grid(rows, skip))
    for row, line in zip(grid, lines(grid, headed=headed), strict=True):
        builder.add_row(line, " ".join(row))


def _grid(rows: Iterable[Iterable[Any]], skip: frozenset[str]) -> Iterator[list[str]]:
    """Yield the texts of rows, as many as there are columns: that of a cell that spans rows stands in each."""
    below: dict[int, tuple[str, int]] = {}
    cells = list[str]()
    for row in rows:
        above, cells, waiting = cells, [], iter(row)
        while True:
            if len(cells) in below:
                text, more = below.pop(len(cells))
                below |= {len(cells): (text, more - 1)} if more > 1 else {}
                cells.append(text)
            elif (cell := next(waiting, None)) is not None:
                more, said = _span(cell, "rowspan") - 1, _spoken(cell, skip)
                if "continued" in cell.attrib:
                    said = above[len(cells)] if len(cells) < len(above) else ""
                for text in (said, *[""] * (_span(cell, "colspan") - 1)):
                    below |= {len(cells): (text, more)} if more else {}
                    cells.append(text)
            else:
                break
        yield cells


def _spoken(cell: Any, skip: frozenset[str]) -> str:
    """Return the text of a cell in one line."""
    return " ".join(text_of(cell, skip)[0].split())


def _span(cell: Any, name: str) -> int:
    """Return the number of columns or rows that a cell spans."""
    value = cell.get(name, "")
    return max(1, min(int(value), _MOST_SPANNED)) if value.isascii() and value.isdecimal() else 1


def tag_of(node: Any) -> str:
    """Return the name of an element in small letters, without its namespace; "" for a comment."""
    return node.tag.rpartition("}")[2].lower() if isinstance(node.tag, str) else ""


def attribute(node: Any, name: str) -> str:
    """Return an attribute by its name, of whatever vocabulary; "" where there is none."""
    return next((value for key, value in node.attrib.items() if key.rpartition("}")[2] == name), "")


def value(node: Any, path: str) -> str:
    """Return the attribute `val` of the element at the end of a path of names; "" where there is none."""
    found = node.find("/".join(f"{{*}}{name}" for name in path.split("/")))
    return "" if found is None else attribute(found, "val")
