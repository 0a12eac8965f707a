"""Pages of the web in strips: a page is long, and only what helps is kept.

CRAG's selection (arXiv 2401.15884, section 4.5 and appendix B.3) without its evaluator: strips of a few sentences, the
most promising by shared words, judged by the engine's own retrieval grader in one call, put together in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.documents import Document

from local_rag.text import content_stems, sentences

if TYPE_CHECKING:
    from local_rag.types import Relevance

SENTENCES = 3
"""Sentences of a strip, as in the paper ("a few")."""
LONGEST = 900
"""Characters of a strip: a page may have no sentences."""
PER_PAGE = 4
"""Strips of one page that are judged: three pages then cost one call of about 1,500 tokens."""
BETWEEN = "\n\n"


def strips(page: Document) -> list[Document]:
    """A page cut into strips; `start` and `end` are code points in the page's text."""
    text, found = page.page_content, []
    spans = [(span.start, span.end) for span in sentences(text)]
    for first in range(0, len(spans), SENTENCES):
        start, end = spans[first][0], spans[min(first + SENTENCES, len(spans)) - 1][1]
        for begin in range(start, end, LONGEST):
            stop = min(begin + LONGEST, end)
            about = page.metadata | {"start": begin, "end": stop, "chunk_id": f"{page.metadata['chunk_id']}:{begin}"}
            found.append(Document(text[begin:stop], metadata=about))
    return found


def promising(question: str, pages: Sequence[Document]) -> list[Document]:
    """The strips that share most words with the question, at most `PER_PAGE` of each page, in the pages' order."""
    asked = set(content_stems(question))
    chosen: list[Document] = []
    for page in pages:
        cut = strips(page)
        ranked = sorted(range(len(cut)), key=lambda n: (-len(asked & set(content_stems(cut[n].page_content))), n))
        chosen += [cut[number] for number in sorted(ranked[:PER_PAGE])]
    return chosen


def selected(
    pages: Sequence[Document], judged: Sequence[Document], verdicts: Sequence[Relevance]
) -> list[tuple[Document, int, int]]:
    """(the page with what is relevant of it, how many strips that are, how many were judged) for each page.

    The text of a page is its relevant strips in their order; `start` and `end` count in that text from then on.
    """
    result = []
    for page in pages:
        url = page.metadata["url"]
        mine = [(strip, one) for strip, one in zip(judged, verdicts, strict=True) if strip.metadata["url"] == url]
        kept = [strip.page_content for strip, verdict in mine if verdict.label == "relevant"]
        text = BETWEEN.join(kept)
        result.append((Document(text, metadata=page.metadata | {"start": 0, "end": len(text)}), len(kept), len(mine)))
    return result
