"""The text of an answer in a terminal: what its passages do not carry is marked, and tables are set in columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from local_rag.core.answer import Answer
from local_rag.text.answer_texts import AnswerTexts
from local_rag.text.marks import tables
from local_rag.text.sentences import Span

_LAST_BAR = re.compile(r"\s*\|\s*$")


def answer_text(answer: Answer, texts: AnswerTexts) -> Iterator[RenderableType]:
    """The text in parts: what stands between two tables, and each table."""
    marked, places = _marked(answer, texts)
    position = 0
    for table in tables(answer.text):
        lines = [_moved(span, places) for span in (table.heading, table.delimiter, *table.rows)]
        if before := marked[position : lines[0].start].plain.strip("\n"):
            yield from (_without_newlines(marked[position : lines[0].start], before), "")
        yield AnswerTable([marked[line.start : line.end] for line in lines])
        position = lines[-1].end
    if rest := marked[position:].plain.strip("\n"):
        if position:
            yield ""
        yield _without_newlines(marked[position:], rest)


class AnswerTable:
    """A table in Markdown: in columns in a terminal, as it was written in a file or a pipe.

    `lines` are its headings, the delimiter row, and the rows.
    """

    def __init__(self, lines: Sequence[Text]) -> None:
        self.lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal:
            yield from self.lines
            return
        heading, _, *rows = map(_cells, self.lines)
        table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for title in heading:
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*row[: len(heading)])
        yield table


def _cells(line: Text) -> list[Text]:
    """The cells of a row, with their colours."""
    bars = [number for number, character in enumerate(line.plain) if character == "|"]
    parts = [part for part in line.divide(sorted({offset for bar in bars for offset in (bar, bar + 1)}))]
    cells = [part for part in parts if part.plain != "|"]
    cells = cells[1:] if line.plain.lstrip().startswith("|") and not cells[0].plain.strip() else cells
    cells = cells[:-1] if line.plain.rstrip().endswith("|") and not cells[-1].plain.strip() else cells
    return [_without_newlines(cell, cell.plain.strip()) for cell in cells]


def _marked(answer: Answer, texts: AnswerTexts) -> tuple[Text, list[tuple[int, int]]]:
    """The text, its answering words bold, with a mark behind every sentence that its passages do not carry in full.

    And (offset in the answer, code points that were put in there), in order.
    """
    text, position, places = Text(), 0, list[tuple[int, int]]()
    for sentence in sorted(answer.sentences, key=lambda sentence: sentence.start):
        end = sentence.end
        if last_bar := _LAST_BAR.search(answer.text, sentence.start, end):
            end = last_bar.start()
        text.append(answer.text[position:end])
        position = end
        if doubt := texts.doubts.get(sentence.support):
            text.append(f" ({doubt})", "red" if sentence.support == "no" else "yellow")
            places.append((end, len(doubt) + 3))
    text.append(answer.text[position:])
    for highlight in answer.highlights:
        bold = _moved(Span(highlight.start, highlight.end - 1), places)
        text.stylize("bold", bold.start, bold.end + 1)
    return text, places


def _moved(span: Span, places: Sequence[tuple[int, int]]) -> Span:
    """Where a span of the answer stands in the text with its marks."""
    start = span.start + sum(length for offset, length in places if offset < span.start)
    end = span.end + sum(length for offset, length in places if offset <= span.end)
    return Span(start, end)


def _without_newlines(text: Text, kept: str) -> Text:
    """The part of a text that is kept, with its colours."""
    start = text.plain.find(kept)
    return text[start : start + len(kept)]
