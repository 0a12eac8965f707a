"""Render the blocks of an answer as Markdown, for an export, a chat program or an agent.

List items of an answer begin with another sign than its sources, because two lists in a row with the same sign would be
one list (CommonMark, 5.3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from local_rag.text.blocks import BLOCKS, Block, Disagreement, Nearest, Note, Quotes, Source, Written
from local_rag.text.display import printable, shorten
from local_rag.text.nodes import Node

Clean = Callable[[str], str]
"""A function that makes a text of a file, a person or a model harmless in the output."""

LONGEST_QUOTE = 1000
"""The most characters of a quote in a list of sources."""

_MARKUP = re.compile(r"[\\`*_\[\]<>&#|~$@]|:(?=//)|(?<=www)\.|^[-+=]")
_NUMBER = re.compile(r"^(\d+)([.)])")
_BAR = re.compile(r"(?<!\\)\|")
_TICKS = re.compile("`+")
_EDGES = re.compile(r"^(\s*)(.*?)(\s*)$", re.DOTALL)
_SIGNS: Mapping[str, str] = {"strong": "**", "em": "*", "del": "~~"}


def one_line(text: str) -> str:
    """Return a text on one line, so that nothing that was read can begin a new line."""
    return " ".join(printable(text).split())


def escaped(text: str) -> str:
    """Return one line that Markdown shows literally: all possible markup stands behind a backslash (CommonMark, 2.4).

    At the beginning of a line further signs are markup: that of a list, or of a heading above it. GitHub makes links of
    text that looks like an address, so such text is broken up, too.
    """
    return _NUMBER.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", one_line(text)))


def markdown(blocks: Sequence[Block], clean: Clean = one_line, *, quotes: bool = True, quiet: bool = False) -> str:
    """Return the blocks as Markdown, separated by empty lines; without `quotes` the lists of sources are left out.

    With `quiet` the note that an answer is grounded is included, too.
    """
    parts = []
    for block in blocks:
        match block:
            case Note(name="status", tone=tone):
                parts += [f"**{clean(block.line)}.**"] if quiet or tone != "quiet" else []
            case Note(name=name):
                parts.append(f"*{clean(block.line)}*" if name == "understood" else clean(block.line))
            case Written():
                parts += [_block(node, clean) for node in block.nodes]
            case Disagreement():
                parts.append(_disagreement(block, clean))
            case Quotes() | Nearest() if quotes:
                title = [clean(block.title), ""] if isinstance(block, Nearest) else []
                parts.append("\n".join([*title, *(source_line(source, clean) for source in block.sources)]))
    return "\n\n".join(parts)


def source_line(source: Source, clean: Clean = one_line) -> str:
    """Return a source as a list item: its number, its place, its quote, and the reason to doubt it if there is one."""
    number, document = source.citation.number, f" ({clean(source.about)})" if source.about else ""
    doubt = source.citation.why or source.doubt
    quote = f": “{clean(shorten(source.read, LONGEST_QUOTE))}”" + (f" ({clean(doubt)})" if doubt else "")
    return f"- {clean(f'[{number}]')} {clean(source.place)}{document}{quote}"


def _disagreement(block: Disagreement, clean: Clean) -> str:
    lines = [f"**{clean(block.title)}**", ""]
    for side in block.sides:
        marks = "".join(clean(f"[{source.citation.number}]") for source in side.sources)
        lines.append(f"* {f'{clean(side.when)}: ' if side.when else ''}**{clean(side.text)}** {marks}")
        lines += [f"  {source_line(source, clean)}" for source in side.sources]
    return "\n".join(lines)


def _block(node: Node, clean: Clean) -> str:
    kind, children = node["t"], node.get("c", [])
    if kind in ("ul", "ol"):
        first = node.get("n", 1)
        signs = (f"{number}." if kind == "ol" else "*" for number in range(first, first + len(children)))
        return "\n".join(_item(sign, item, clean) for sign, item in zip(signs, children, strict=True))
    if kind == "table":
        rows = [[_BAR.sub(r"\\|", _line(cell["c"], clean)) for cell in row["c"]] for row in children]
        rows.insert(1, ["---"] * len(rows[0]))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    if kind == "pre":
        code = _line(children, printable)
        fence = _ticks(code, 3)
        return f"{fence}\n{code}\n{fence}"
    if kind == "quote":
        return "\n".join(f"> {line}" for line in _inner(children, clean).split("\n"))
    return f"{'#### ' if kind == 'h' else ''}{_line(children, clean)}"


def _item(sign: str, item: Node, clean: Clean) -> str:
    lines = _inner(item["c"], clean).split("\n")
    return "\n".join([f"{sign} {lines[0]}", *(f"{' ' * len(sign)} {line}".rstrip() for line in lines[1:])])


def _inner(nodes: Sequence[Node], clean: Clean) -> str:
    """Return the content of a list item or a quotation: blocks, and lines outside of any block."""
    parts = list[str]()
    for is_block, group in groupby(nodes, key=lambda node: node["t"] in BLOCKS):
        some = [*group]
        parts += [_block(node, clean) for node in some] if is_block else [_line(some, clean)]
    return "\n".join(parts)


def _line(nodes: Sequence[Node], clean: Clean) -> str:
    """Return inline nodes as one line of Markdown."""
    line = ""
    for node in nodes:
        kind = node["t"]
        if kind == "text":
            line += _EDGES.sub(lambda edges: f"{edges[1]}{clean(edges[2])}{edges[3]}", str(node["s"]))
        elif kind == "br":
            line += "\n"
        elif kind == "cite":
            blank = " " if line[-1:].strip() not in ("", "]") else ""
            line += blank + clean(f"[{node['n']}]")
        elif kind == "doubt":
            line += f" ({clean(str(node['s']))})"
        elif kind == "link":
            shown, address = _line(node["c"], clean), clean(str(node["href"]))
            line += shown if shown == address else f"{shown} ({address})"
        elif kind == "code":
            code = _line(node["c"], printable)
            ticks, blank = _ticks(code), " " if "`" in code else ""
            line += f"{ticks}{blank}{code}{blank}{ticks}"
        else:
            sign = _SIGNS.get(kind, "")
            line += f"{sign}{_line(node['c'], clean)}{sign}"
    return line


def _ticks(code: str, least: int = 1) -> str:
    """Return more backticks in a row than a code has, so that the code does not end in the middle (CommonMark, 6.1)."""
    return "`" * max(least, 1 + max(map(len, _TICKS.findall(code)), default=0))
