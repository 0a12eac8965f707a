"""A proposed case: its question and answer, where its passage stands, and the words around the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langchain_core.documents import Document
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from local_rag.evaluation.cases import Case
from local_rag.evaluation.making.proposals import Proposal
from local_rag.index.path_labels import PathLabel
from local_rag.terminal.answers import citation_of, location
from local_rag.terminal.console import PlainTable
from local_rag.text.display import short_path
from local_rag.text.sentences import Span

AROUND = 320
"""Characters of the passage that are shown before and after the words that answer."""
BETWEEN = "|"
"""Stands between two answers of which each is right, where a person types them."""

_WRAP = re.compile(r"(?<!\n)(?<!\|)\n(?![^\n]*\|)")
"""The end of a line that is no row of a table."""


def proposal_parts(proposal: Proposal, position: str, label: PathLabel = short_path) -> Iterator[RenderableType]:
    """A proposal; `position` is which of how many."""
    case = proposal.case
    kind = ("  your files answer it", "cyan") if case.answerable else ("  your files should not answer it", "yellow")
    yield Text.assemble((position, "bold"), kind)
    if proposal.passage is not None:
        yield Text.assemble("" if case.answerable else "nearest passage: ", _location(proposal.passage, label))
        yield Padding(excerpt(proposal), (0, 2, 0, 2))
    table = PlainTable()
    table.add_row(Text("Question", "bold"), Text(case.question, "bold"))
    table.add_row(Text("Answer", "bold"), _answer(case))
    yield table


def _answer(case: Case) -> Text:
    if not case.answerable:
        return Text("none; keep it only if your files do not say", style="dim")
    if not case.answers:
        return Text("no short one; the passage is the label", style="dim")
    return Text(f" {BETWEEN} ".join(case.answers), style="green")


def _location(passage: Document, label: PathLabel) -> Text:
    """File, page and heading."""
    text = location(citation_of(passage), label)
    page, heading = passage.metadata["page"], passage.metadata["heading"]
    return text.append(f", § {heading}") if page is not None and heading else text


def excerpt(proposal: Proposal) -> Text:
    """The words that answer, and the text around them, on flowing lines; the words stand out."""
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
        shown.append(_flowing(text[first:last]), style=style)
    shown.append(" …" if end < len(text) else "")
    return shown


def _flowing(text: str) -> str:
    """Each paragraph and each row of a table on one line; runs of blanks become one."""
    paragraphs = re.sub(r"\n\s*\n", "\n\n", text).split("\n\n")
    return "\n".join(re.sub(r"[^\S\n]+", " ", re.sub(_WRAP, " ", paragraph)) for paragraph in paragraphs)
