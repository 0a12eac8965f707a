"""A tree of HTML as text: white space collapsed, blocks apart, rows on one line, headings at their offsets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from local_rag.core.documents import Heading
from local_rag.index.parse.parsed_file import clean

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
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


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

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def add(self, raw: str, verbatim: bool = False) -> None:
        """Text as it stands in the tree; `verbatim` keeps its lines."""
        raw = clean(raw)  # an entity can be any character
        text = raw.strip("\n") if verbatim else " ".join(raw.split())
        if not text:
            self._space = self._space or bool(raw)
            return
        self._space = self._space or raw[0].isspace()
        self._flush()
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

    def cell(self) -> None:
        """The end of a cell: a rule before the next one of the row, a line where the table is a page's layout."""
        if not self._row:
            self.block(1)
        elif self._filled:
            self._lead = " | "

    def row(self, inside: bool) -> None:
        self._row, self._lead, self._filled = False, "", False
        self.block(1)
        self._row = inside

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
            _close(builder, tag)
        if node is not tree:
            builder.add(node.tail or "", verbatim > 0)


def _open(builder: TextBuilder, tag: str, node: Any) -> None:
    _separate(builder, tag, 1)
    if tag in _HEADINGS:
        builder.open_heading(_HEADINGS[tag])
    elif tag == "li":
        builder.lead("- ")
    elif tag == "tr":
        builder.row(_is_data(node))


def _close(builder: TextBuilder, tag: str) -> None:
    if tag in _HEADINGS:
        builder.close_heading()
    elif tag == "tr":
        builder.row(False)
    elif tag in ("td", "th"):
        builder.cell()
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


def _tag(node: Any) -> str:
    return node.tag.rpartition("}")[2].lower() if isinstance(node.tag, str) else ""


def _hidden(node: Any) -> bool:
    return "hidden" in node.attrib or bool(_HIDDEN.search(node.get("style", "")))
