"""An answer as a tree of allowed nodes, from which a page builds elements: no string of it is ever markup.

The text of an answer is read as Markdown (CommonMark with tables), without HTML, images and link definitions; that of
the extractive engine quotes files, so only its tables and lists are read as such. Marks and highlights are code points
of the text, so all cutting happens here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from local_rag.core.answer import Answer, Sentence
from local_rag.text.answer_texts import texts_in
from local_rag.text.display import printable
from local_rag.text.marks import marks

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Node = dict[str, Any]
"""{"t": kind, "c": children, "s": text of text, code, pre and doubt, "n": number of a cite, "href": of a link}."""

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

_LAST_BAR = re.compile(r"\s*\|\s*$")

_OF_QUOTES = {"table", "list", "paragraph", "text", "newline", "text_join", "fragments_join", "block", "inline"}
"""The rules under which sentences that are quoted from files are read: nothing within a line means anything."""


class Insertion(NamedTuple):
    """A node that stands at a code point of the text, and how many code points it takes the place of."""

    start: int
    end: int
    nodes: tuple[Node, ...]


def answer_tree(answer: Answer) -> list[Node]:
    """The text of an answer as nodes: cites in the place of its marks, highlights marked, doubts behind sentences."""
    texts = texts_in(answer.language)
    numbers = {citation.number for citation in answer.citations}
    numbers |= {each.number for conflict in answer.conflicts for side in conflict.positions for each in side.citations}
    doubts = [
        _behind(answer.text, sentence, {"t": "doubt", "s": doubt, "support": sentence.support})
        for sentence in answer.sentences
        if (doubt := texts.doubts.get(sentence.support))
    ]
    highlights = [(highlight.start, highlight.end) for highlight in answer.highlights]
    return tree(answer.text, numbers, highlights, doubts, quotes=answer.engine == "extractive")


def _behind(text: str, sentence: Sentence, node: Node) -> Insertion:
    """A node behind a sentence; behind a row of a table it stands in the last cell."""
    last_bar = _LAST_BAR.search(text, sentence.start, sentence.end)
    end = last_bar.start() if last_bar else sentence.end
    return Insertion(end, end, (node,))


def tree(
    text: str,
    numbers: Collection[int] = (),
    highlights: Sequence[tuple[int, int]] = (),
    insertions: Sequence[Insertion] = (),
    *,
    quotes: bool = False,
) -> list[Node]:
    """Markdown as nodes. `numbers` are those that a mark [n] may cite; any other mark stays text.

    `highlights` are code points [start, end) of the text. Where the place of a bit of text is not certain it is shown
    without a highlight.
    """
    plain = same_length(text)
    cites = [
        Insertion(span.start, span.end, tuple({"t": "cite", "n": number} for number in cited))
        for span, cited in marks(plain)
        if cited and all(number in numbers for number in cited)
    ]
    builder = _Builder(plain, sorted([*cites, *insertions]), sorted(highlights), frozenset(numbers))
    return builder.blocks(_parser(quotes).parse(plain))


def same_length(text: str) -> str:
    """A text whose control and bidirectional characters are replaced, so that offsets stay what they are."""
    if printable(text) == text:
        return text
    return "".join(
        " " if character == "\r" else character if printable(character) == character else "\ufffd" for character in text
    )


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
    """Turns tokens into nodes, in the order of the text. `cursor` is the code point up to which it has been read."""

    text: str
    insertions: list[Insertion]
    highlights: list[tuple[int, int]]
    numbers: frozenset[int]
    cursor: int = 0
    lines: list[int] = field(default_factory=list)
    in_cell: bool = False

    def __post_init__(self) -> None:
        self.lines = [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))]

    def blocks(self, tokens: Sequence[Token]) -> list[Node]:
        """The nodes of a list of block tokens; what is not allowed gives its children in its place."""
        stack: list[list[Node]] = [[]]
        for token in tokens:
            if token.type == "inline":
                self._enter(token)
                stack[-1] += self.inline(token.children or [])
                stack[-1] += self._due(self._end_of(token))
            elif token.type in ("fence", "code_block"):
                stack[-1].append({"t": "pre", "s": token.content.rstrip("\n")})
                self.cursor = self._end_of(token)
                self._drop_until(self.cursor)
            else:
                self.in_cell = token.type in ("th_open", "td_open")
                self._open_or_close(stack, token)
        return stack[0]

    def inline(self, tokens: Sequence[Token]) -> list[Node]:
        """The nodes of the tokens within a paragraph, heading or cell."""
        stack: list[list[Node]] = [[]]
        for token in tokens:
            if token.type == "text":
                stack[-1] += self._text(token.content)
            elif token.type == "text_special":
                stack[-1] += self._text(token.content, token.markup)
            elif token.type == "image":
                self._skip(token.content)
                stack[-1] += _plain(token.content)
            elif token.type == "code_inline":
                self._skip(token.content)
                stack[-1].append({"t": "code", "s": token.content})
            elif token.type in ("softbreak", "hardbreak"):
                self._skip("\n")
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
        start = self.lines[token.map[0]] if token.map else self.cursor
        if start >= self.cursor:
            prefix = _PREFIX.match(self.text, start)
            self.cursor = prefix.end() if prefix else start
            first = token.content.partition("\n")[0]
            if not self.text.startswith(first, self.cursor):  # what looked like a prefix is text, such as a bar
                self.cursor = max(start, self.text.find(first, start))
        self._drop_until(self.cursor - 1)

    def _end_of(self, token: Token) -> int:
        """Where the last line of a token ends; of a cell, which shares its line, where its text ends."""
        if not token.map or self.in_cell:
            return self.cursor
        return self.lines[min(token.map[1], len(self.lines) - 1)] - 1

    def _skip(self, content: str) -> None:
        place = self.text.find(content, self.cursor)
        self.cursor = place + len(content) if place >= 0 else self.cursor

    def _text(self, content: str, written: str = "") -> Iterator[Node]:
        """Text cut at marks, doubts and highlights. `written` is how it stands in the text, if otherwise."""
        place = self.text.find(written or content, self.cursor)
        if place < 0:
            yield from _plain(content)
            return
        yield from self._due(place)
        self.cursor = place + len(written or content)
        if written:
            yield from self._cut(content, place, self.cursor) if self._marked(place) else _plain(content)
            return
        position = place
        while self.insertions and self.insertions[0].start < self.cursor:
            insertion = self.insertions.pop(0)
            if insertion.end > self.cursor:
                break
            yield from self._cut(self.text[position : insertion.start], position, insertion.start)
            yield from insertion.nodes
            position = max(position, insertion.end)
        yield from self._cut(self.text[position : self.cursor], position, self.cursor)

    def _due(self, place: int) -> Iterator[Node]:
        """What stands between two bits of text, such as a doubt behind a word in bold; a mark there stays text."""
        while self.insertions and self.insertions[0].start <= place:
            if self.insertions[0].end > self.insertions[0].start:
                if self.insertions[0].end > place:
                    return
                self.insertions.pop(0)
                continue
            yield from self.insertions.pop(0).nodes

    def _drop_until(self, place: int) -> None:
        """Forget the marks before a place: they stand in code, or in what is not shown."""
        self.insertions = [each for each in self.insertions if each.end > place or each.start == each.end]

    def _marked(self, place: int) -> bool:
        return any(start <= place < end for start, end in self.highlights)

    def _cut(self, content: str, start: int, end: int) -> Iterator[Node]:
        """A bit of text, in marks where highlights are."""
        if end - start != len(content):  # an escaped character is one behind two
            yield {"t": "mark", "c": [*_plain(content)]}
            return
        borders = {border for span in self.highlights for border in span if start < border < end}
        for first, last in zip([start, *sorted(borders)], [*sorted(borders), end], strict=True):
            nodes = [*_plain(content[first - start : last - start])]
            yield from [{"t": "mark", "c": nodes}] if nodes and self._marked(first) else nodes


def _plain(content: str) -> Iterator[Node]:
    if content:
        yield {"t": "text", "s": content}


def plain_text(nodes: Sequence[Node]) -> str:
    """The text of nodes without their structure."""
    return "".join(str(node.get("s", "")) + plain_text(node.get("c", ())) for node in nodes)
