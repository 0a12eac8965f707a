"""The passages of the documents that a question names, as a further ranking for the fusion of a search.

What is named is preferred and nothing is left out: a document that was recognised wrongly must not hide the answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from local_rag.index.candidates import candidates
from local_rag.index.document_names import NamedDocument, Naming, documents_in
from local_rag.index.store import reads
from local_rag.index.store.selection import Selection
from local_rag.index.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_rag.core.protocols import Embedder, Vectors

HEAD = 2.5
"""Weight of the passages that say what a document is, where that is asked: more than the ranking of all passages (1)
and that inside of the document (1) together, so that they come first."""

FRONT = 3
"""Passages from the beginning of a document that answer what it is about; for author, date and title the first does."""

_OPENING = 30
"""Passages of a document among which its abstract is looked for."""

_ABSTRACTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:executive )?(?:abstract|summary)|(?:kurz)?zusammenfassung|kurzfassung|abstrakt|résumé",
        r"overview|introduction|preface|foreword|überblick|einleitung|einführung|vorwort|purpose|scope",
    )
)
_NUMBERED = re.compile(r"[\d.]+\s+")


@dataclass(frozen=True, slots=True)
class Preference:
    """Rankings of the chunks of named documents, best first, each with its weight.

    The ranking of all passages has the weight 1. `said` are the words that name a chunk's document.
    """

    rankings: tuple[tuple[float, tuple[int, ...]], ...] = ()
    said: dict[int, str] = field(default_factory=dict)


class Preferences:
    """What the searches of one index prefer. Any thread may ask."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store, self._embedder = store, embedder

    def of(self, query: str, vector: Vectors, chosen: Selection | None) -> Callable[[int, Collection[int]], Preference]:
        """What a search for a query, with its vector (d,), prefers among the chosen chunks.

        It is asked with the number of chunks to rank in each document, and those that are not wanted.
        """
        naming = documents_in(self._store, query)

        def prefer(deep: int, exclude: Collection[int]) -> Preference:
            return self._of(naming, query, vector, deep, chosen, exclude) if naming.documents else Preference()

        return prefer

    def _of(
        self,
        naming: Naming,
        query: str,
        vector: Vectors,
        deep: int,
        chosen: Selection | None,
        exclude: Collection[int],
    ) -> Preference:
        """Of each named document its head, where that is asked for, then what fits the question.

        What a document says of something is looked for by the words for that alone.
        """
        form, store = naming.form, self._store
        if form is not None and form.topic:
            query, vector = form.topic, self._embedder.embed_queries([form.topic])[0]
        sure = max(named.sure for named in naming.documents)
        ranked: list[tuple[float, list[list[int]]]] = []
        if form is not None and form.asks != "topic":
            fronts = [list(_front(store, named, form.asks == "content")) for named in naming.documents]
            ranked.append((HEAD * sure, fronts))
        ranked.append((sure, [_inside(store, named, query, vector, deep, exclude) for named in naming.documents]))

        def allowed(chunks: Sequence[int]) -> list[int]:
            held = store.read(chosen.holds, chunks) if chosen else [True] * len(chunks)
            return [chunk for chunk, holds in zip(chunks, held, strict=True) if holds and chunk not in exclude]

        said: dict[int, str] = {}
        rankings = []
        for weight, each in ranked:
            each = [allowed(chunks) for chunks in each]
            rankings.append((weight, tuple(_in_turns(each))))
            for named, chunks in zip(naming.documents, each, strict=True):
                said |= dict.fromkeys(chunks, named.said)
        return Preference(tuple(rankings), said)


def _in_turns(each: Sequence[Sequence[int]]) -> dict[int, None]:
    """The first of each, then the second of each, and so on; every chunk once."""
    return dict.fromkeys(chunk for row in zip_longest(*each) for chunk in row if chunk is not None)


def _inside(
    store: Store, named: NamedDocument, query: str, vector: Vectors, deep: int, exclude: Collection[int]
) -> list[int]:
    """The chunks of a document, best first."""
    where, values = ["d.file = ?"], [named.file, *([named.title] if named.title is not None else [])]
    own = Selection([*where, *(["d.title = ?"] if named.title is not None else [])], values)
    return candidates(store, query, vector, deep, "hybrid", own, exclude).ranked


def _front(store: Store, named: NamedDocument, content: bool) -> list[int]:
    """The passages that say what a document is: its first, and for its content the abstract, else what follows."""
    opening = store.read(reads.opening, named.file, named.title, _OPENING)
    first = [chunk for chunk, _ in opening]
    return list(dict.fromkeys([*first[:1], *_abstract(opening), *first[1:]]))[:FRONT] if content else first[:1]


def _abstract(opening: Sequence[tuple[int, str]]) -> list[int]:
    """The passages under the first heading such as Abstract or, where there is none, such as Introduction."""
    for pattern in _ABSTRACTS:
        for _, heading in opening:
            if pattern.match(_NUMBERED.sub("", heading.rpartition(" > ")[2])):
                return [chunk for chunk, other in opening if other == heading]
    return []
