"""Pages and passages in strips of a few sentences, of which only what helps is kept.

CRAG's knowledge refinement (arXiv 2401.15884, section 4.4) and its selection of web pages (section 4.5, appendix B.3),
with the engine's own retrieval grader, in one call, in place of its evaluator. Of a page the strips that share most
words with the question are judged; of a passage all are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.documents import Document

from local_rag.text.citations import BETWEEN
from local_rag.text.sentences import sentences
from local_rag.text.words import content_stems

if TYPE_CHECKING:
    from local_rag.core.verdicts import Relevance

SENTENCES = 3
"""Sentences of a strip, as in the paper ("a few")."""
LONGEST = 900
"""Characters of a strip: a page may have no sentences."""
PER_PAGE = 4
"""Strips of one page that are judged: three pages then cost one call of about 1,500 tokens."""
TOP = 5
"""Strips that are kept of all passages together (section 4.4)."""
LEAST = 0.25
"""Score in [0, 1] above which the best strip must be: the paper's -0.5 on its scale of [-1, 1] (section 4.4).

The others must have this share of the best one's score, because a strip alone scores less than its whole passage does.
With the same number for all, one ClapNQ answer in twenty lost its second half, and F1 fell from .537 to .523.
"""
WHOLE = 2
"""Sentences up to which a passage stays whole (section 4.4)."""


def strips(document: Document) -> list[Document]:
    """A page or passage cut into strips; `start` and `end` are code points as in its own."""
    spans, cut = sentences(document.page_content), list[Document]()
    for first in range(0, len(spans), SENTENCES):
        start, end = spans[first].start, spans[min(first + SENTENCES, len(spans)) - 1].end
        cut += [_strip(document, begin, min(begin + LONGEST, end)) for begin in range(start, end, LONGEST)]
    return cut


def of_passage(passage: Document) -> list[Document]:
    """A passage cut into strips, or whole where it is short."""
    is_short = passage.metadata.get("computed") or len(sentences(passage.page_content)) <= WHOLE
    cut = [] if is_short else strips(passage)
    return cut if len(cut) > 1 else [_strip(passage, 0, len(passage.page_content))]


def best(verdicts: Sequence[Relevance]) -> list[int]:
    """Which strips are kept, in their order: at most `TOP`, none too far behind the best; see `LEAST`.

    Where a score is not known the label decides. Empty where none is good enough.
    """
    scores = {
        number: float(verdict.label == "relevant") if verdict.score is None else verdict.score
        for number, verdict in enumerate(verdicts)
        if verdict.label != "unparsed"
    }
    top = max(scores.values(), default=0.0)
    good = [number for number, score in scores.items() if score > LEAST * top] if top > LEAST else []
    return sorted(sorted(good, key=lambda number: -scores[number])[:TOP])


def recomposed(passages: Sequence[Document], kept: Sequence[Document]) -> list[Document]:
    """The passages with the kept strips of each in their order; one without any is gone.

    Neighbouring strips grow together again. `pieces` holds the code points [start, end) of each piece as the passage's
    own `start` counts them, so that a citation still points into the file.
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
    """Spans with nothing but white space between them as one."""
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
    """The strips that share most words with the question, at most `PER_PAGE` of each page, in the pages' order."""
    stems = set(content_stems(question))
    chosen: list[Document] = []
    for page in pages:
        cut = strips(page)
        ranked = sorted(range(len(cut)), key=lambda n: (-len(stems & set(content_stems(cut[n].page_content))), n))
        chosen += [cut[number] for number in sorted(ranked[:PER_PAGE])]
    return chosen


def selected(
    pages: Sequence[Document], judged: Sequence[Document], verdicts: Sequence[Relevance]
) -> list[tuple[Document, int, int]]:
    """(the page with what is relevant of it, how many strips that are, how many were judged) for each page.

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
