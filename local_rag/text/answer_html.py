"""Render the blocks of an answer as HTML, for a page of its own and for a notebook. Every string passes
`html.escape`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape

from local_rag.core.answer import Answer
from local_rag.text.blocks import Disagreement, Label, Nearest, Note, Source, Written, blocks, sources_of
from local_rag.text.display import printable, short_path
from local_rag.text.nodes import Node

_TAGS = {"quote": "blockquote", "h": "h3"}
"""The HTML tag of each kind of node whose name is not its tag."""
_INLINE = ("strong", "em", "del", "mark", "code")
_ANCHOR = re.compile(r' (?:id|href)="#?c\d+"')
"""The id and href attributes that several answers on one page would share. A text cannot match: its quotation marks are
escaped.
"""

Around = Callable[[Source], Sequence[Node]]
"""A function that returns a quote within the text around it, as nodes."""


def answer_html(answer: Answer) -> str:
    """Return an answer and its quotes as HTML that fits into a page of others, such as a notebook: without links,
    styles and anchors.
    """
    return f"<div>\n{_ANCHOR.sub('', ''.join(blocks_html(answer)))}</div>"


def blocks_html(answer: Answer, label: Label = short_path, around: Around | None = None) -> Iterator[str]:
    """Yield the blocks in their order, then every cited quote, by itself or within the text that `around` returns."""
    for block in blocks(answer, label):
        match block:
            case Note():
                yield f'<p class="soft"><bdi>{text(block.line)}</bdi></p>\n'
            case Written():
                yield from nodes_html(block.nodes)
            case Disagreement():
                yield from _disagreement(block)
            case Nearest():
                yield from _nearest(block)
    if answer.cited:
        yield from _sources(sources_of(answer, label), around or alone)


def text(words: str) -> str:
    """Escape the words of a file, a person or a model for HTML, without control characters."""
    return escape(printable(words))


def _disagreement(block: Disagreement) -> Iterator[str]:
    yield f"<h2>{text(block.title)}</h2>\n<ul>\n"
    for side in block.sides:
        cites = "".join(
            f"{_cite(source.citation.number)} <bdi>{text(source.citation.title)}</bdi>" for source in side.sources
        )
        yield f"<li><bdi>{text(side.text)}</bdi>{cites} {text(side.when)}</li>\n"
    yield "</ul>\n"


def _nearest(block: Nearest) -> Iterator[str]:
    yield f"<h2>{text(block.title)}</h2>\n"
    for source in block.sources:
        yield f'<p class="soft"><bdi>{text(_heading(source))}</bdi></p>\n'
        yield f"<blockquote><bdi>{text(source.read)}</bdi></blockquote>\n"


def _sources(sources: Sequence[Source], around: Around) -> Iterator[str]:
    known = set[int]()
    for source in sources:
        number = source.citation.number
        anchor = f' id="c{number}"' if number not in known else ""
        known.add(number)
        yield f"<h2{anchor}>[{number}] <bdi>{text(_heading(source))}</bdi></h2>\n"
        yield f'<blockquote dir="auto">{"".join(nodes_html(around(source)))}</blockquote>\n'


def _heading(source: Source) -> str:
    return " · ".join(filter(None, (source.place, source.about, source.how)))


def alone(source: Source) -> Sequence[Node]:
    """Return a quote as nodes, without the text around it."""
    return [{"t": "p", "c": [{"t": "mark", "c": [{"t": "text", "s": source.read}]}]}]


def nodes_html(nodes: Sequence[Node]) -> Iterator[str]:
    """Yield the nodes of an answer or a file as HTML; every kind of node is handled here."""
    for node in nodes:
        kind, inner = node["t"], "".join(nodes_html(node.get("c", ())))
        if kind == "cite":
            yield _cite(node["n"])
        elif kind == "doubt":
            yield f' <em class="soft">({text(node["s"])})</em>'
        elif kind == "link":
            yield f'{inner} <span class="soft">({text(node["href"])})</span>'
        elif kind == "text":
            yield text(node["s"])
        elif kind == "br":
            yield "<br>\n"
        else:
            tag = _TAGS.get(kind, kind)
            first = f' start="{int(node["n"])}"' if kind == "ol" and "n" in node else ""
            yield (f"<{tag}{first}>{inner}</{tag}>\n" if kind not in _INLINE else f"<{tag}>{inner}</{tag}>")


def _cite(number: int) -> str:
    return f'<a class="cite" href="#c{number}">[{number}]</a>'
