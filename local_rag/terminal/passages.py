"""The passages of a search in a terminal, and where a passage or a citation stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from local_rag.core.answer import Citation
from local_rag.terminal.console import PlainTable, link
from local_rag.text.answer_texts import ENGLISH, AnswerTexts
from local_rag.text.display import is_url, short_path, shorten

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.index.path_labels import PathLabel


def passages_table(passages: list[Document], label: PathLabel = short_path) -> PlainTable:
    """The passages of a search: where each stands, its scores, the words that name its document, how it begins."""
    table = PlainTable(gap=1)
    for rank, passage in enumerate(passages, start=1):
        metadata = passage.metadata
        named = f", named by “{metadata['named']}”" if metadata.get("named") else ""
        scores = f"  (similarity {metadata['score']:.3f}, rank score {metadata['rank_score']:.4f}{named})"
        table.add_row(f"[{rank}]", location(citation_of(passage), label) + Text(scores, "dim"))
        table.add_row("", shorten(passage.page_content, 300))
    return table


def citation_of(passage: Document) -> Citation:
    """A whole passage as a citation."""
    metadata = passage.metadata
    names = ("source", "page", "heading", "start", "end", "url")
    known = {name: metadata[name] for name in names} | {"index": metadata.get("index", "")}
    return Citation(number=0, quote=passage.page_content, verified=True, **known)


def location(citation: Citation, label: PathLabel = short_path, texts: AnswerTexts = ENGLISH) -> Text:
    """File, and page or heading: notes/plan.pdf, p. 4; of several indexes the one too. The file opens on a click."""
    shown = citation.url if is_url(citation.url) else label(citation.source)
    text = link(shown, _address(citation))
    if citation.page is not None:
        text.append(f", {texts.page.format(page=citation.page)}")
    elif citation.heading:
        text.append(f", § {shorten(citation.heading, 80)}")
    if citation.index:
        text.append(f" ({texts.in_index.format(name=short_path(citation.index))})")
    return text


def _address(citation: Citation) -> str:
    """What a click opens: of a fallback corpus the saved page, for which no network is needed."""
    if citation.url and not (citation.fallback_corpus and Path(citation.source).is_absolute()):
        return citation.url
    page = f"#page={citation.page}" if citation.page is not None else ""
    path = Path(citation.source)
    return (path.as_uri() if path.is_absolute() else str(path)) + page
