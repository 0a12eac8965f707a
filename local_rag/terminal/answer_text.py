"""Draw the text of an answer in a terminal from the nodes of `text.nodes`, without markup of a model or a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from local_rag.terminal.console import PlainTable
from local_rag.text.blocks import BLOCKS
from local_rag.text.nodes import Node

STYLES = {"strong": "bold", "mark": "bold", "h": "bold", "em": "italic", "th": "bold", "del": "strike"}


def drawn(nodes: Sequence[Node]) -> Iterator[RenderableType]:
    """Draw each block, and the nodes between blocks as lines.

    Answering words are bold, and a remark follows each sentence that the passages do not fully support.
    """
    line: list[Node] = []
    for node in nodes:
        if node["t"] in BLOCKS:
            yield from _lines(line)
            line = []
            yield _block(node)
        else:
            line.append(node)
    yield from _lines(line)


def _lines(nodes: Sequence[Node]) -> Iterator[Text]:
    if text := _text(nodes):
        yield text


def _block(node: Node) -> RenderableType:
    kind, children = node["t"], node["c"]
    if kind == "table":
        return AnswerTable([[_text(cell["c"]) for cell in row["c"]] for row in children])
    if kind in ("ul", "ol"):
        table, first = PlainTable(gap=1), node.get("n", 1)
        for number, item in enumerate(children, first):
            sign = f"{number}." if kind == "ol" else "-"
            table.add_row(sign, Group(*drawn(item["c"])))
        return table
    if kind in ("quote", "pre"):
        table = PlainTable(gap=1)
        table.add_row(" ", Group(*drawn(children)))
        return table
    return _text(children, STYLES.get(kind, ""))


def _text(nodes: Sequence[Node], style: str = "") -> Text:
    """Return the text of nodes that are no blocks."""
    text = Text(style=style)
    for node in nodes:
        kind = node["t"]
        if kind == "text":
            text.append(node["s"])
        elif kind == "br":
            text.append("\n")
        elif kind == "cite":
            after_word = text.plain[-1:].strip() not in ("", "]")
            text.append(f" [{node['n']}]" if after_word else f"[{node['n']}]")
        elif kind == "doubt":
            text.append(f" ({node['s']})", "red" if node["support"] == "no" else "yellow")
        elif kind == "link":
            shown, address = _text(node["c"]), node["href"]
            text.append_text(shown)
            text.append("" if shown.plain == address else f" ({address})")  # shown, but not opened by a click
        else:
            text.append_text(_text(node["c"], STYLES.get(kind, "")))
    return text


class AnswerTable:
    """Draw the rows of a table, headings first: in columns in a terminal, with bars between cells in a pipe."""

    def __init__(self, rows: Sequence[Sequence[Text]]) -> None:
        self.rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal:
            yield from (Text(" | ").join(row) for row in self.rows)
            return
        heading, *rows = self.rows
        table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for title in heading:
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*row[: len(heading)])
        yield table
