"""Relevant passages with what stands around them: their neighbours, or the section where most of it was found.

A wider passage is one stretch of one document, a PDF page for one, so its offsets are those of the file; `parts` in its
metadata names the stored passages in it (see `text.parts`). Passages that come to touch or overlap become one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from langchain_core.documents import Document

from local_rag.config.values import WidenName
from local_rag.core.protocols import Corpus
from local_rag.text.parts import chunk_id
from local_rag.text.words import words

LONGEST_SECTION = 8
"""Passages of a section that is taken whole, at most: twice as many as are retrieved by default."""
MOST = 0.5
"""Share of the passages of a section above which it is taken whole."""
SAME = 0.9
"""Share of common words (Jaccard) from which a neighbour only repeats what is there."""


def widened(
    passages: Sequence[Document], corpus: Corpus, room: int, how: WidenName, known: Iterable[str] = ()
) -> list[Document]:
    """The passages with what stands around them, which is at most `room` code points, the best ranked first.

    No stored passage in `known` is added. What was refined, and pages of the web, stay as they are.
    """
    surroundings = corpus.neighbours(passages, LONGEST_SECTION)
    around = {
        chunk_id(passage): near
        for passage, near in zip(passages, surroundings, strict=True)
        if chunk_id(passage) in map(chunk_id, near) and not passage.metadata.get("pieces")
    }
    chosen = {chunk_id(passage): passage for passage in passages if chunk_id(passage) in around}
    retrieved, closed = set(chosen), set(known)
    held = [_vocabulary(passage) for passage in chosen.values()]
    for passage in sorted(chosen.values(), key=_rank, reverse=True):
        for addition in _additions(chunk_id(passage), around[chunk_id(passage)], retrieved, how):
            new = [neighbour for neighbour in addition if chunk_id(neighbour) not in chosen]
            cost = sum(len(neighbour.page_content) for neighbour in new)
            if cost <= room and not closed.intersection(map(chunk_id, new)) and not _repeated(new, held):
                chosen |= {chunk_id(neighbour): neighbour for neighbour in new}
                held += map(_vocabulary, new)
                room -= cost
    stretches = {id_: stretch for stretch in _stretches(chosen, around.values()) for id_ in map(chunk_id, stretch)}
    wide: dict[str, Document] = {}
    for passage in passages:
        stretch = stretches.get(chunk_id(passage), [passage])
        core = max((part for part in stretch if chunk_id(part) in retrieved), key=_rank, default=passage)
        if len(stretch) == 1 or (joined := _joined(core, stretch, corpus)) is None:
            wide[chunk_id(passage)] = passage
        else:
            wide.setdefault(chunk_id(core), joined)
    return list(wide.values())


def _additions(core: str, near: Sequence[Document], retrieved: set[str], how: WidenName) -> list[list[Document]]:
    """What to add to a passage, each list whole or not at all: its section, or its two neighbours one by one."""
    place = [chunk_id(passage) for passage in near].index(core)
    section = _section(near, place)
    if how != "neighbours" and sum(chunk_id(passage) in retrieved for passage in section) > MOST * len(section) > MOST:
        return [section]
    return [] if how == "section" else [list(near[place + 1 : place + 2]), list(near[max(0, place - 1) : place])]


def _section(near: Sequence[Document], place: int) -> list[Document]:
    """The passages below the same heading, or of a document without headings; only this one where they are too many."""
    first = last = place
    while first and _heading(near[first - 1]) == _heading(near[place]):
        first -= 1
    while last + 1 < len(near) and _heading(near[last + 1]) == _heading(near[place]):
        last += 1
    return list(near[first : last + 1]) if last - first < LONGEST_SECTION else [near[place]]


def _repeated(new: Sequence[Document], held: Sequence[set[str]]) -> bool:
    """Whether one of them says no more than a passage that is there: a copy, or an edition with a few other words.

    `held` are the words of each passage that is there.
    """
    texts = map(_vocabulary, new)
    return any(len(text & other) >= SAME * len(text | other) for text in texts for other in held)


def _vocabulary(passage: Document) -> set[str]:
    return set(words(passage.page_content))


def _stretches(chosen: dict[str, Document], surroundings: Iterable[Sequence[Document]]) -> Iterator[list[Document]]:
    """The chosen passages in runs of which each follows the other in its document."""
    follows = {chunk_id(first): chunk_id(second) for near in surroundings for first, second in pairwise(near)}
    inner = {follows[id_] for id_ in chosen if id_ in follows}
    for first in chosen:
        if first not in inner:
            stretch = [first]
            while (following := follows.get(stretch[-1])) in chosen and following:
                stretch.append(following)
            yield [chosen[id_] for id_ in stretch]


def _joined(core: Document, stretch: Sequence[Document], corpus: Corpus) -> Document | None:
    """One passage of a stretch, with the metadata of its best one; None where the text is gone meanwhile."""
    parts = [[chunk_id(part), part.metadata["start"], part.metadata["end"], _heading(part)] for part in stretch]
    start, end = min(part[1] for part in parts), max(part[2] for part in parts)
    text = corpus.span(chunk_id(core), start, end)
    if len(text) != end - start:
        return None
    sections = [
        section
        for part in stretch
        for section in part.metadata.get("sections") or [[part.metadata["start"], _heading(part)]]
    ]
    return Document(text, metadata=core.metadata | {"start": start, "end": end, "parts": parts, "sections": sections})


def _rank(passage: Document) -> float:
    return float(passage.metadata.get("rank_score") or 0.0)


def _heading(passage: Document) -> str:
    return str(passage.metadata.get("heading", ""))
