"""Parse the text of an answer into a tree of allowed nodes, from which a page builds elements; strings in it are never
markup.

The text is read as Markdown (CommonMark with tables), without HTML, images and link definitions. The extractive engine
quotes files, so of its answers only tables and lists are read as such, and other markup is left out. Highlights and
doubts are code points of the text, so before parsing a sign that no text contains is inserted at each.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from local_rag.core.answer import Answer, Sentence
from local_rag.text.answer_language import texts_in
from local_rag.text.display import printable
from local_rag.text.marks import marks, without_marks
from local_rag.text.markup import View, view_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

Node = dict[str, Any]
"""{"t": kind, "c": children, "s": text of text and doubt, "n": number of a cite or a list, "href": of a link}."""

KINDS = {
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
    "s": "del",
    "code_inline": "code",
    "fence": "pre",
    "code_block": "pre",
}
"""The kinds of nodes with children, by markdown-it's names; any other element is replaced by its children."""

LINKS = ("http://", "https://", "mailto:")
_FALSE_FRIENDS = ("html_block", "html_inline", "code", "lheading", "reference")
"""Rules of CommonMark that models and quotes trigger by accident or that could do harm."""
_OF_QUOTES = {"table", "list", "paragraph", "text", "newline", "text_join", "fragments_join", "block", "inline"}
"""The rules for sentences that are quoted from files: no inline markup is parsed."""

BEGIN, END, DOUBT = "\ufdd0", "\ufdd1", "\u2e4f"
"""Signs for the beginning and end of a highlight, noncharacters that Markdown treats as letters; and for a doubt, a
rare punctuation mark, because it follows the full stop of a sentence.
"""
_SIGNS = re.compile(f"([{BEGIN}{END}{DOUBT}])")
_LAST_BAR = re.compile(r"\s*\|\s*$")
_OF_BLOCKS = re.compile(r"\||^\s*(?:[-+*]|\d+[.)])(?:\s|$)", re.MULTILINE)
_OF_LINES = re.compile(r"[*_`~#<>&\[\\]|^[ \t]*-")
"""Possible markup of blocks, and of lines; a text without any is plain paragraphs, so that no parser is imported."""


def answer_tree(answer: Answer) -> list[Node]:
    """Return the text of an answer as nodes: cites in place of its marks, highlights marked, doubts after sentences."""
    doubts = texts_in(answer.language).doubts
    return tree(
        answer.text,
        {citation.number for citation in answer.cited},
        [(highlight.start, highlight.end) for highlight in answer.highlights],
        [
            (_end(answer.text, sentence), {"t": "doubt", "s": doubts[sentence.support], "support": sentence.support})
            for sentence in answer.sentences
            if sentence.support in doubts
        ],
        quotes=answer.quotes_only,
    )


def _end(text: str, sentence: Sentence) -> int:
    """Return the end of a sentence; that of a table row is before its last bar, in its last cell."""
    last_bar = _LAST_BAR.search(text, sentence.start, sentence.end)
    return last_bar.start() if last_bar else sentence.end


def tree(
    text: str,
    numbers: Collection[int] = (),
    highlights: Sequence[tuple[int, int]] = (),
    doubts: Iterable[tuple[int, Node]] = (),
    *,
    quotes: bool = False,
) -> list[Node]:
    """Parse Markdown into nodes. `numbers` are those that a mark [n] may cite; any other mark stays text.

    `highlights` are code points [start, end) of the text; `doubts` are nodes, each with the code point that it stands
    at.
    """
    view = view_of(same_length(text)) if quotes else View.of(same_length(text))
    highlights = [(bisect_left(view.positions, start), bisect_left(view.positions, end)) for start, end in highlights]
    doubts = sorted(((bisect_left(view.positions, at), node) for at, node in doubts), key=itemgetter(0))
    signs = [(start, BEGIN) for start, end in highlights if start < end]
    signs += [(end, END) for start, end in highlights if start < end]
    text = _SIGNS.sub("\ufffd", view.text)
    for at, sign in sorted([*signs, *((at, DOUBT) for at, _ in doubts)], reverse=True):
        text = f"{text[:at]}{sign}{text[at:]}"
    reader = NodeReader(numbers, [node for _, node in doubts])
    if not (_OF_BLOCKS.search(text) or (not quotes and _OF_LINES.search(without_marks(text)))):
        return [{"t": "p", "c": reader.lines(block)} for block in re.split(r"\n\s*\n", text.strip()) if block]
    from markdown_it.tree import SyntaxTreeNode  # takes a tenth of the time of a question

    return reader.nodes(SyntaxTreeNode(_parser(quotes).parse(text)).children)


def same_length(text: str) -> str:
    """Replace control and bidirectional characters of a text, so that offsets stay the same."""
    if printable(text) == text:
        return text
    return "".join(" " if each == "\r" else each if printable(each) == each else "\ufffd" for each in text)


@cache
def _parser(quotes: bool) -> MarkdownIt:
    parser = markdown_parser(_OF_QUOTES if quotes else ())
    parser.validateLink = lambda url: url.lower().startswith(LINKS)  # type: ignore[method-assign]
    return parser.disable([*_FALSE_FRIENDS])


def markdown_parser(rules: Collection[str] = (), *, html: bool = False) -> MarkdownIt:
    """Return a parser of CommonMark with tables and strikethrough, by these rules alone if any are given."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": html}).enable(["table", "strikethrough"])
    every = [rule for of_kind in parser.get_all_rules().values() for rule in of_kind]
    return parser.disable([rule for rule in every if rules and rule not in rules], ignoreInvalid=True)


class NodeReader:
    """Make nodes of parsed Markdown, in the order of the text."""

    def __init__(self, numbers: Collection[int], doubts: Sequence[Node]) -> None:
        self._numbers, self._doubts, self._highlighted = numbers, iter(doubts), 0

    def nodes(self, parsed: Sequence[SyntaxTreeNode]) -> list[Node]:
        """Return the nodes of parsed elements, in order."""
        return [node for each in parsed for node in self._node(each)]

    def lines(self, text: str) -> list[Node]:
        """Return the nodes of a paragraph without markup."""
        first, *others = ([*self._text(line.strip())] for line in text.split("\n"))
        return [*first, *(node for line in others for node in ({"t": "br"}, *line))]

    def _node(self, parsed: SyntaxTreeNode) -> Iterator[Node]:
        kind = parsed.type
        if kind in ("text", "image"):
            yield from self._text(parsed.content)
        elif kind == "html_text":
            yield {"t": "p", "c": [*self.pieces(parsed.content.strip("\n"))]}
        elif kind in ("softbreak", "hardbreak"):
            yield {"t": "br"}
        elif kind in ("code_inline", "fence", "code_block"):
            code = [*self.pieces(parsed.content.rstrip("\n"))]
            yield {"t": KINDS[kind], "c": [node for node in code if node["t"] != "doubt"]}
            yield from (node for node in code if node["t"] == "doubt")
        elif kind == "link":
            yield from self._link(parsed)
        elif kind in KINDS and not parsed.hidden:
            children = self.nodes(parsed.children)
            is_table = kind == "paragraph" and children and children[0]["t"] == "table"
            node: Node = children[0] if is_table else {"t": KINDS[kind], "c": children}
            yield node | ({"n": int(start)} if (start := parsed.attrs.get("start")) is not None else {})
        else:
            yield from self.nodes(parsed.children)

    def _link(self, parsed: SyntaxTreeNode) -> list[Node]:
        """Return a link with its address; [1](address), where 1 is a citation, is a mark like any other.

        A link that leads to no page of the web, such as to another file, is replaced by its text.
        """
        children, href = self.nodes(parsed.children), _SIGNS.sub("", str(parsed.attrs["href"]))
        shown = "".join(child.get("s", "") for child in children)
        if shown.isdecimal() and int(shown) in self._numbers:
            return [{"t": "cite", "n": int(shown)}]
        return [{"t": "link", "href": href, "c": children}] if href.lower().startswith(LINKS) else children

    def _text(self, content: str) -> Iterator[Node]:
        """Yield text, cut at each mark, highlight and doubt in it."""
        start = 0
        for span, cited in marks(content):
            if cited and all(number in self._numbers for number in cited):
                yield from self.pieces(content[start : span.start])
                yield from ({"t": "cite", "n": number} for number in cited)
                start = span.end
        yield from self.pieces(content[start:])

    def pieces(self, content: str) -> Iterator[Node]:
        """Yield text without marks, cut at each highlight and doubt in it."""
        for piece in filter(None, _SIGNS.split(content)):
            if piece == DOUBT:
                yield from ([doubt] if (doubt := next(self._doubts, None)) else [])
            elif piece in (BEGIN, END):
                self._highlighted += 1 if piece == BEGIN else -1
            else:
                node = {"t": "text", "s": piece}
                yield {"t": "mark", "c": [node]} if self._highlighted > 0 else node
