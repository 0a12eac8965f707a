"""A proposal as a person sees it: its answer, its place, and the words around the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from local_rag.core.answer import Citation
from local_rag.evaluation.making.proposals import Proposal
from local_rag.terminal.show import place_of
from local_rag.text.display import printable
from local_rag.text.sentences import Span

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from rich.console import RenderableType
    from rich.text import Text

    from local_rag.evaluation.cases import Case

AROUND = 320
"""Characters of the passage that are shown before and after the words that answer."""
BETWEEN = "|"
"""Stands between two answers of which each is right, where a person types them."""

_WRAP = re.compile(r"(?<!\n)(?<!\|)\n(?![^\n]*\|)")
"""The end of a line that is no row of a table."""


def proposal_lines(proposal: Proposal, position: str) -> Iterator[RenderableType]:
    """A proposal for a console of rich; `position` is which of how many."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    case = proposal.case
    kind = ("  your files answer it", "cyan") if case.answerable else ("  your files should not answer it", "yellow")
    yield Text.assemble((position, "bold"), kind)
    if proposal.passage is not None:
        before = "" if case.answerable else "nearest passage: "
        yield Text(before + location(proposal.passage), style="dim")
        yield Padding(excerpt(proposal), (0, 2, 0, 2))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    table.add_row("Question", Text(printable(case.question), style="bold"))
    table.add_row("Answer", _answer(case))
    yield table


def _answer(case: Case) -> Text:
    from rich.text import Text

    if not case.answerable:
        return Text("none; keep it only if your files do not say", style="dim")
    if not case.answers:
        return Text("no short one; the passage is the label", style="dim")
    return Text(printable(f" {BETWEEN} ".join(case.answers)), style="green")


def location(passage: Document) -> str:
    """File, page and heading of a passage."""
    metadata = passage.metadata
    citation = Citation(
        0,
        metadata["source"],
        metadata["page"],
        metadata["heading"],
        "",
        metadata["start"],
        metadata["end"],
        metadata["url"],
        True,
    )
    heading = f", § {printable(metadata['heading'])}" if metadata["page"] is not None and metadata["heading"] else ""
    return place_of(citation) + heading


def excerpt(proposal: Proposal) -> Text:
    """The words that answer, and the text around them, on flowing lines; the words stand out."""
    from rich.text import Text

    assert proposal.passage is not None
    text = proposal.passage.page_content
    marked = proposal.marked or Span(0, 0)
    start, end = max(0, marked.start - AROUND), min(len(text), marked.end + AROUND)
    if start:
        start = text.find(" ", start, marked.start) + 1 or start
    if end < len(text):
        end = max(text.rfind(" ", marked.end, end), marked.end)
    parts = ((start, marked.start, ""), (*marked, "bold green"), (marked.end, end, ""))
    shown = Text("…" if start else "")
    for first, last, style in parts:
        shown.append(_flowing(printable(text[first:last])), style=style)
    shown.append(" …" if end < len(text) else "")
    return shown


def _flowing(text: str) -> str:
    """Each paragraph and each row of a table on one line; runs of blanks become one."""
    paragraphs = re.sub(r"\n\s*\n", "\n\n", text).split("\n\n")
    return "\n".join(re.sub(r"[^\S\n]+", " ", re.sub(_WRAP, " ", paragraph)) for paragraph in paragraphs)
