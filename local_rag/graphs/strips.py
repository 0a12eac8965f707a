"""Cut pages and passages into strips of a few sentences, and keep only the helpful ones.

This is CRAG's knowledge refinement (arXiv 2401.15884, section 4.4) and its selection of web pages (section 4.5,
appendix B.3), with the engine's own retrieval grader, in one call, in place of CRAG's evaluator. Of a page only the
strips that share most words with the question are graded; of a passage all are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.documents import Document

from local_rag.text.citations import BETWEEN
from local_rag.text.sentences import sentences
from local_rag.text.words import shared_stems

if TYPE_CHECKING:
    from local_rag.core.verdicts import Relevance

SENTENCES = 3
"""The sentences of a strip, as in the paper ("a few")."""
LONGEST_STRIP = 900
"""The most characters of a strip: a page may have no sentences."""
PER_PAGE = 4
"""The strips of one page that are graded: three pages then cost one call of about 1,500 tokens."""
TOP = 5
"""The most strips that are kept of all passages together (section 4.4)."""
LEAST_SCORE = 0.25
"""The score in [0, 1] that the best strip must exceed: the paper's -0.5 on its scale of [-1, 1] (section 4.4).

The others must exceed this share of the best one's score, because a strip alone scores less than its whole passage
does. With the same limit for all, one ClapNQ answer in twenty lost its second half, and F1 fell from .537 to .523.
"""
SHORT_PASSAGE = 2
"""The most sentences of a passage that stays whole (section 4.4)."""


def strips(document: Document) -> list[Document]:
    """Cut a page or passage into strips; `start` and `end` are code points, counted as in its own."""
    spans, cut = sentences(document.page_content), list[Document]()
    for first in range(0, len(spans), SENTENCES):
        start, end = spans[first].start, spans[min(first + SENTENCES, len(spans)) - 1].end
        cut += [_strip(document, begin, min(begin + LONGEST_STRIP, end)) for begin in range(start, end, LONGEST_STRIP)]
    return cut


def of_passage(passage: Document) -> list[Document]:
    """Cut a passage into strips, or return it whole if it is short or computed."""
    is_short = passage.metadata.get("computed") or len(sentences(passage.page_content)) <= SHORT_PASSAGE
    cut = [] if is_short else strips(passage)
    return cut if len(cut) > 1 else [_strip(passage, 0, len(passage.page_content))]


def best(verdicts: Sequence[Relevance]) -> list[int]:
    """Return which strips are kept, in their order: at most `TOP`, none too far behind the best; see `LEAST_SCORE`.

    A verdict without a score counts by its label. The list is empty if no strip is good enough.
    """
    scores = {
        number: float(verdict.label == "relevant") if verdict.score is None else verdict.score
        for number, verdict in enumerate(verdicts)
        if verdict.label != "unparsed"
    }
    top = max(scores.values(), default=0.0)
    good = [number for number, score in scores.items() if score > LEAST_SCORE * top] if top > LEAST_SCORE else []
    return sorted(sorted(good, key=lambda number: -scores[number])[:TOP])


def recomposed(passages: Sequence[Document], kept: Sequence[Document]) -> list[Document]:
    """Return the passages with the kept strips of each in their order, without the passages that keep none.

    Neighbouring strips are joined again. `pieces` holds the code points [start, end) of each piece, counted as the
    passage's own `start`, so that a citation still points into the file.
    """
    result = []
    for passage in passages:
        spans = sorted(
            (int(strip.metadata["start"]), int(strip.metadata["end"]))
            for strip in kept
            if strip.metadata["of"] == passage.metadata["chunk_id"]
        )
        pieces = _joined(passage, spans)
        offset = int(passage.metadata["start"])
        text = BETWEEN.join(passage.page_content[start - offset : end - offset] for start, end in pieces)
        if pieces:
            result.append(Document(text, metadata=passage.metadata | {"pieces": pieces}))
    return result


def _joined(passage: Document, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that have only white space between them."""
    offset, pieces = int(passage.metadata["start"]), list[tuple[int, int]]()
    for start, end in spans:
        if pieces and not passage.page_content[pieces[-1][1] - offset : start - offset].strip():
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
    return pieces


def _strip(whole: Document, start: int, end: int) -> Document:
    chunk, offset = whole.metadata["chunk_id"], int(whole.metadata["start"])
    own = {"start": offset + start, "end": offset + end, "chunk_id": f"{chunk}:{start}", "of": chunk}
    return Document(whole.page_content[start:end], metadata=whole.metadata | own)


def promising(question: str, pages: Sequence[Document]) -> list[Document]:
    """Return the strips that share most words with the question, at most `PER_PAGE` of each page, in the
    pages' order.
    """
    chosen: list[Document] = []
    for page in pages:
        cut = strips(page)
        ranked = sorted(range(len(cut)), key=lambda n: (-shared_stems(question, cut[n].page_content), n))
        chosen += [cut[number] for number in sorted(ranked[:PER_PAGE])]
    return chosen


def selected(
    pages: Sequence[Document], judged: Sequence[Document], verdicts: Sequence[Relevance]
) -> list[tuple[Document, int, int]]:
    """Return (the page cut to its relevant strips, their number, the number that was graded) for each page.

    The text of a page is its relevant strips in their order; `start` and `end` count in that text from then on.
    """
    pairs = list(zip(judged, verdicts, strict=True))
    result = []
    for page in pages:
        own = [(strip, verdict) for strip, verdict in pairs if strip.metadata["url"] == page.metadata["url"]]
        kept = [strip.page_content for strip, verdict in own if verdict.label == "relevant"]
        text = BETWEEN.join(kept)
        result.append((Document(text, metadata=page.metadata | {"start": 0, "end": len(text)}), len(kept), len(own)))
    return result
