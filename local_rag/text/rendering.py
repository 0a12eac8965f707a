"""Render the stored text of a file as the nodes of `text.nodes`, with quoted code points marked.

Markdown and reStructuredText are parsed; HTML in Markdown is reduced to its text. A program is code, a plain text is
paragraphs. Any other text has headings (known from the index), lists, paragraphs, and lines of cells, which are tables
(see `index.parse.tables`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import chain, groupby, pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from local_rag.text.markup import View
from local_rag.text.nodes import BEGIN, END, Node, NodeReader, markdown_parser, same_length
from local_rag.text.rst import as_markdown
from local_rag.text.words import BAR, indentation

_LOOKED_AT = 20
"""The most lines of a table in which its header is sought."""

_ITEM = re.compile(r"[ \t]*[-•][ \t]+")
_TAG = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|</?[a-z!?][^<>]*>", re.DOTALL | re.IGNORECASE)
_FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\n.*?^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_ATTRIBUTES = re.compile(r"(?<=\S)[ \t]*\{[ \t]*[#.:][^{}\n]*\}[ \t]*\Z")
"""Attributes of a heading in many dialects: "Price { #price }"."""
_SOFT_BREAK = re.compile(r"(?<!\\)(?<!  )\n[ \t]*")
"""The end of a line within a sentence, which may be shown as a blank (CommonMark 6.8)."""
_MARKUP = re.compile(r"[*_`~]+|!?\]\([^()\n]*\)|\]\[[^\[\]\n]*\]|<[^<>\n]*>|\\.|&#?\w+;")
"""Markup of a line that a highlight must not split: the highlight begins after it and ends before it."""

Spans = Sequence[tuple[int, int]]
"""Code points [start, end) of a text."""


class Part(NamedTuple):
    """Hold a part of a text as nodes, with its start and end in the text."""

    nodes: list[Node]
    start: int
    end: int


def rendered(text: str, suffix: str, headings: Collection[int], start: int, end: int, marks: Spans = ()) -> Part:
    """Render code points [start, end) of the text of a file of this kind; of Markdown all blocks that overlap them.

    `headings` are the code points at which a heading begins.
    """
    if suffix in (".md", ".markdown", ".ipynb"):
        return _Markdown(text, start, end, marks).part()
    if suffix == ".rst":
        view = as_markdown(text, headings)
        first, last, *bounds = (bisect_left(view.positions, at) for at in (start, end, *chain(*marks)))
        part = _Markdown(view.text, first, last, [*zip(bounds[::2], bounds[1::2], strict=True)], of_rst=True).part()
        first, last = ((*view.positions, len(text))[at] for at in (part.start, part.end))
        return Part(part.nodes, first if part.start else 0, last)
    if suffix == "code":
        nodes = [{"t": "pre", "c": [*_marked(View.of(text[start:end], start), marks)]}]
        return Part(nodes if start < end else [], start, end)
    return Part([*_prose(text, headings, start, end, marks, is_plain=suffix == "text")], start, end)


def _prose(
    text: str, headings: Collection[int], start: int, end: int, marks: Spans, *, is_plain: bool
) -> Iterator[Node]:
    lines = [(start + match.start(), match.group()) for match in re.finditer(r"[^\n]+|(?<=\n)\n", text[start:end])]

    def kind(line: tuple[int, str]) -> str:
        if not line[1].strip() or is_plain:
            return "p" if line[1].strip() else ""
        return "h" if line[0] in headings else "table" if BAR in line[1] else "ul" if _ITEM.match(line[1]) else "p"

    for name, group in groupby(lines, kind):
        block = [View.of(line, at) for at, line in group]
        if name == "h":
            yield from ({"t": "h", "c": [*_marked(line, marks)]} for line in block)
        elif name == "table" and (len(block) > 1 or block[0].text.count(BAR) > 1):
            first = text.rfind("\n\n", 0, block[0].positions[0]) + 1
            above = [line for line in text[first : block[0].positions[0]].split("\n", _LOOKED_AT)[:-1] if BAR in line]
            yield _drawn(grid(block, above), marks)
        elif name == "ul":
            items = [line.part(match.end() if (match := _ITEM.match(line.text)) else 0) for line in block]
            yield {"t": "ul", "c": [{"t": "li", "c": [*_marked(line, marks)]} for line in items]}
        elif name:
            first, last = block[0].positions[0], block[-1].positions[-1]
            yield {"t": "p", "c": [*_marked(View.of(text[first : last + 1], first), marks)]}


def _marked(view: View, marks: Spans) -> Iterator[Node]:
    """Yield the nodes of a text without markup, its highlights marked."""
    return NodeReader((), ()).pieces(_signed(View(same_length(view.text), view.positions), marks))


def _signed(view: View, marks: Spans, *, inline: bool = False) -> str:
    """Insert signs into a text where highlights begin and end."""
    content = view.text.replace(BEGIN, "\ufffd").replace(END, "\ufffd")
    whole = [match.span() for match in _MARKUP.finditer(content)] if inline else []
    for start, end in sorted(marks, reverse=True):
        first, last = bisect_left(view.positions, start), bisect_left(view.positions, end)
        for begin, stop in whole:
            first = stop if begin <= first < stop else first
        for begin, stop in reversed(whole):
            last = begin if begin < last <= stop else last
        if first < last:
            content = f"{content[:first]}{BEGIN}{content[first:last]}{END}{content[last:]}"
    return content


class Row(NamedTuple):
    """Hold the cells of a row; with `head` they are the names of the columns."""

    cells: Sequence[View]
    head: bool = False


def grid(lines: Sequence[View], above: Sequence[str] = ()) -> list[Row]:
    """Convert lines of cells, "Rent | 2023: 400", to rows of a table; `above` are the lines of the table
    before them.
    """
    known = [*above, *(line.text for line in lines[:_LOOKED_AT])]
    at, names = next(_headers(known), (-1, []))
    rows = []
    for number, line in enumerate(lines, len(above)):
        cells = [*_cells(line)]
        if number <= at:
            rows.append(Row(cells, number == at))
            continue
        row, free = [View("", ())] * len(names), 0
        for cell in cells:
            column = next((place for place, name in enumerate(names) if cell.text.startswith(f"{name}: ")), None)
            if column is not None and column >= free:
                cell = cell.part(len(names[column]) + 2)
            place = free if column is None or column < free else column
            row[place:] = [cell, *row[place + 1 :]]
            free = place + 1
        rows.append(Row(row))
    return rows


def _headers(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield each line that names the columns of the following lines: its position and these names."""
    for at, (line, below) in enumerate(pairwise(lines)):
        names = line.split(BAR)
        if len(names) > 1 and any(cell.startswith(f"{name}: ") for cell in below.split(BAR) for name in names):
            yield at, names


def _cells(line: View) -> Iterator[View]:
    at = 0
    for cell in line.text.split(BAR):
        yield line.part(at, at + len(cell))
        at += len(cell) + len(BAR)


def _drawn(rows: Sequence[Row], marks: Spans) -> Node:
    cells = ((row.head, [[*_marked(cell, marks)] for cell in row.cells]) for row in rows)
    drawn = [{"t": "tr", "c": [{"t": "th" if head else "td", "c": cell} for cell in row]} for head, row in cells]
    return {"t": "table", "c": drawn}


_OF_RST = """normalize block inline text_join paragraph list heading fence hr text newline escape backticks emphasis
    link balance_pairs fragments_join""".split()


@cache
def _parser(of_rst: bool) -> MarkdownIt:
    parser = markdown_parser(_OF_RST if of_rst else (), html=True)
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # the reader keeps none but LINKS
    parser.core.ruler.after("block", "marks", lambda state: state.env["reading"].sign(state))
    return parser


class _Markdown:
    """Read the blocks of a Markdown file that overlap code points [start, end)."""

    def __init__(self, text: str, start: int, end: int, marks: Spans, *, of_rst: bool = False) -> None:
        front = None if of_rst else _FRONT.match(text)
        self._of_rst = of_rst
        self._begin = front.end() if front else 0
        self._text = text = same_length(text)
        self._window, self._marks = (start, end), marks
        self._starts = [self._begin]
        for line in text[self._begin :].split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._kept = (self._begin if start else 0, len(text))

    def part(self) -> Part:
        """Parse the file and return its blocks in the window as nodes, with the front matter as code if the window
        touches it.
        """
        source = self._text[self._begin :]
        tokens = _parser(self._of_rst).parse(source, {"reading": self})
        nodes = NodeReader((), ()).nodes(SyntaxTreeNode(tokens).children)
        first, last = self._kept
        if self._begin and self._window[0] < self._begin:
            front = self._text[: self._begin].strip("-+. \n")
            head = View.of(front, self._text.find(front))
            nodes, first = [{"t": "pre", "c": [*_marked(head, self._marks)]}, *nodes], 0
        return Part(nodes, first, last)

    def sign(self, state: StateCore) -> None:
        """Keep the blocks of the window, and insert signs for the ends of highlights into their content."""
        start, end = self._window
        kept, inside, first, last = list[Token](), False, len(self._text), len(self._text)
        for token in state.tokens:
            if token.level == 0 and token.nesting >= 0 and token.map:
                begin, stop = self._starts[token.map[0]], self._starts[token.map[1]]
                inside = begin < end and stop > start
                if inside:
                    first = min(first, begin)
                elif begin >= end:
                    last = min(last, begin)
            if inside:
                kept.append(token)
        self._kept = (0 if not kept or first == self._starts[0] == 0 else first, last)
        state.tokens = [each for token in kept for each in self._signed(token)]

    def _signed(self, token: Token) -> Iterator[Token]:
        if token.type in ("fence", "code_block"):
            token.content = _signed(self._placed(token), self._marks)
        elif token.type == "html_block":
            view = self._placed(token)
            view = view.without([match.span() for match in _TAG.finditer(view.text)])
            if not view.text.strip():
                return
            token = Token("html_text", "", 0, content=_signed(view, self._marks), block=True)
        elif token.type == "inline" and not self._of_rst and all(BAR in line for line in token.content.split("\n")):
            yield from self._table(token)
            return
        elif token.type == "inline":
            view = self._placed(token)
            attributes = _ATTRIBUTES.search(view.text)
            content = _signed(view.part(0, attributes and attributes.start()), self._marks, inline=True)
            token.content = _SOFT_BREAK.sub(" ", content)
        yield token

    def _table(self, token: Token) -> Iterator[Token]:
        view, at, lines = self._placed(token), 0, list[View]()
        for line in token.content.split("\n"):
            lines.append(view.part(at, at + len(line)))
            at += len(line) + 1
        if len(lines) < 2 and lines[0].text.count(BAR) < 2:
            token.content = _signed(view, self._marks, inline=True)
            yield token
            return
        yield Token("table_open", "table", 1)
        for row in grid(lines):
            yield Token("tr_open", "tr", 1)
            for cell in row.cells:
                kind = "th" if row.head else "td"
                content = _signed(cell, self._marks, inline=True)
                yield Token(f"{kind}_open", kind, 1)
                yield Token("inline", "", 0, content=content, children=[])
                yield Token(f"{kind}_close", kind, -1)
            yield Token("tr_close", "tr", -1)
        yield Token("table_close", "table", -1)

    def _placed(self, token: Token) -> View:
        """Return the content of a token, with the position of each of its code points."""
        first, last = token.map or [0, 0]
        at, positions = self._starts[first], list[int]()
        if token.type == "fence":
            at = self._starts[first + 1]
        for line in token.content.split("\n"):
            found = self._text.find(line.strip(), at, self._starts[last]) if line.strip() else at
            begin = (found if found >= 0 else at) - indentation(line)
            positions += range(begin, begin + len(line) + 1)
            at = max(at, begin + len(line))
        return View(token.content, tuple(positions[: len(token.content)]))
