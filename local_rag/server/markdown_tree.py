"""Markdown as a tree of allowed nodes (CommonMark with tables), without HTML, images and link definitions."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from local_rag.server.marked_text import MarkedText, Node, plain_nodes, same_length

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_BLOCKS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "quote",
    "heading": "h",
    "table": "table",
    "tr": "tr",
    "th": "th",
    "td": "td",
    "strong": "strong",
    "em": "em",
}
"""What of Markdown becomes a node with children, by its name there."""

_LINKS = ("http://", "https://", "mailto:")
_PREFIX = re.compile(r"(?:[ \t]*(?:[-*+]|\d{1,9}[.)]|>|#{1,6})[ \t]+)*[ \t]*\|?[ \t]*")
"""What stands before the text of a line: bullets, numbers, signs of quotes and headings, the bar of a table."""

_FALSE_FRIENDS = ("html_block", "html_inline", "code", "lheading", "reference")
"""Rules of CommonMark that models and quotes break by accident or use for harm."""

_OF_QUOTES = {"table", "list", "paragraph", "text", "newline", "text_join", "fragments_join", "block", "inline"}
"""The rules under which sentences that are quoted from files are read: nothing within a line means anything."""


def markdown_tree(marked: MarkedText, numbers: Collection[int], *, quotes: bool = False) -> list[Node]:
    """The nodes of a text; `numbers` are those that may be cited, `quotes`: its sentences are quoted from files."""
    return _Builder(marked, numbers).blocks(_parser(quotes).parse(marked.text))


@cache
def _parser(quotes: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.validateLink = lambda url: url.lower().startswith(_LINKS)  # type: ignore[method-assign]
    if quotes:
        every = [rule for rules in parser.get_all_rules().values() for rule in rules]
        parser.disable([rule for rule in every if rule not in _OF_QUOTES], ignoreInvalid=True)
    parser.disable([*_FALSE_FRIENDS, "text_join"])  # joined, an escaped character would have lost its place
    return parser


@dataclass
class _Builder:
    """Turns tokens into nodes, in the order of the text. `lines` are the code points at which its lines begin."""

    marked: MarkedText
    numbers: Collection[int]
    lines: list[int] = field(default_factory=list)
    in_cell: bool = False

    def __post_init__(self) -> None:
        self.lines = [0, *accumulate(len(line) + 1 for line in self.marked.text.split("\n"))]

    def blocks(self, tokens: Sequence[Token]) -> list[Node]:
        """The nodes of a list of block tokens; what is not allowed gives its children in its place."""
        stack: list[list[Node]] = [[]]
        for token in tokens:
            if token.type == "inline":
                self._enter(token)
                stack[-1] += self.inline(token.children or [])
                stack[-1] += self.marked.due(self._end_of(token))
            elif token.type in ("fence", "code_block"):
                stack[-1].append({"t": "pre", "s": token.content.rstrip("\n")})
                self.marked.move_to(self._end_of(token), including=True)
            else:
                self.in_cell = token.type in ("th_open", "td_open")
                self._open_or_close(stack, token)
        return stack[0]

    def inline(self, tokens: Sequence[Token]) -> list[Node]:
        """The nodes of the tokens within a paragraph, heading or cell."""
        stack: list[list[Node]] = [[]]
        for token in tokens:
            if token.type == "text":
                stack[-1] += self.marked.read(token.content)
            elif token.type == "text_special":
                stack[-1] += self.marked.read(token.content, token.markup)
            elif token.type == "image":
                self.marked.skip(token.content)
                stack[-1] += plain_nodes(token.content)
            elif token.type == "code_inline":
                self.marked.skip(token.content)
                stack[-1].append({"t": "code", "s": token.content})
            elif token.type in ("softbreak", "hardbreak"):
                self.marked.skip("\n")
                stack[-1].append({"t": "br"})
            else:
                self._open_or_close(stack, token)
        return stack[0]

    def _open_or_close(self, stack: list[list[Node]], token: Token) -> None:
        name = token.type.removesuffix("_open").removesuffix("_close")
        if name == "link":
            self._link(stack, token)
        elif name in _BLOCKS and token.nesting == 1 and not token.hidden:
            node: Node = {"t": _BLOCKS[name], "c": []}
            if name == "ordered_list" and (start := token.attrGet("start")) is not None:
                node["n"] = int(start)
            stack[-1].append(node)
            stack.append(node["c"])
        elif name in _BLOCKS and token.nesting == -1 and not token.hidden:
            stack.pop()

    def _link(self, stack: list[list[Node]], token: Token) -> None:
        """A link with its address; [1](address), where 1 is a citation, is a mark like any other."""
        if token.nesting == 1:
            node: Node = {"t": "link", "href": same_length(str(token.attrGet("href") or "")), "c": []}
            stack[-1].append(node)
            stack.append(node["c"])
            return
        children = stack.pop()
        shown = "".join(child.get("s", "") for child in children)
        if shown.isdecimal() and int(shown) in self.numbers:
            stack[-1][-1] = {"t": "cite", "n": int(shown)}

    def _enter(self, token: Token) -> None:
        """Move to the first line of a token; the cells of a row share theirs."""
        text, place = self.marked.text, self.marked.cursor
        start = self.lines[token.map[0]] if token.map else place
        if start >= place:
            prefix = _PREFIX.match(text, start)
            place = prefix.end() if prefix else start
            first = token.content.partition("\n")[0]
            if not text.startswith(first, place):  # what looked like a prefix is text, such as a bar
                place = max(start, text.find(first, start))
        self.marked.move_to(place)

    def _end_of(self, token: Token) -> int:
        """Where the last line of a token ends; of a cell, which shares its line, where its text ends."""
        if not token.map or self.in_cell:
            return self.marked.cursor
        return self.lines[min(token.map[1], len(self.lines) - 1)] - 1
