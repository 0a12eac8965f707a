"""A proposal as a person sees it: its answer, its place, and the words around the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from local_rag.core.answer import Citation
from local_rag.evaluation.making.proposals import Proposal
from local_rag.terminal.show import place_of
from local_rag.text.display import printable
from local_rag.text.sentences import Span

if TYPE_CHECKING:
    from rich.text import Text

AROUND = 320
"""Characters of the passage that are shown before and after the words that answer."""
BETWEEN = "|"
"""Stands between two answers of which each is right, where a person types them."""

_WRAP = re.compile(r"(?<!\n)(?<!\|)\n(?![^\n]*\|)")
"""The end of a line that is no row of a table."""


def answer_text(proposal: Proposal) -> Text:
    from rich.text import Text

    case = proposal.case
    if not case.answerable:
        return Text("none; keep it only if your files do not say", style="dim")
    if not case.answers:
        return Text("no short one; the passage is the label", style="dim")
    return Text(printable(f" {BETWEEN} ".join(case.answers)), style="green")


def place_line(proposal: Proposal) -> str:
    assert proposal.passage is not None
    about = proposal.passage.metadata
    citation = Citation(
        0, about["source"], about["page"], about["heading"], "", about["start"], about["end"], about["url"], True
    )
    heading = f", § {printable(about['heading'])}" if about["page"] is not None and about["heading"] else ""
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
