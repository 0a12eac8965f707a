"""Several indexes asked as one: all of one embedder, each passage with the name of its index."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from local_rag.core.documents import Catalog
from local_rag.core.narrowing import Narrowing
from local_rag.index.catalog import IndexStatus
from local_rag.index.filters import NothingLeft
from local_rag.index.index import Index
from local_rag.index.path_labels import PathLabels
from local_rag.index.search import Mode
from local_rag.index.store.folder import index_name
from local_rag.index.store.schema import IndexedFile, Stored

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from local_rag.core.protocols import Vectors

T = TypeVar("T")

_COUNTED = ("files", "documents", "chunks", "embedded", "bytes", "pages", "roots", "root_options")
"""What of a status adds up."""

_TITLES, _TERMS = 20, 30
"""Titles (headings, folders, topics), and terms, in the catalog of all."""


class JointIndex:
    """Indexes by name, asked as one; what a graph may ask of an index. It closes them.

    A passage has the name of its index as `index` in its metadata. One that two of them hold, of the same file and with
    the same `chunk_id`, is one passage.
    """

    narrows = True

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        self._indexes = dict(indexes)

    @property
    def path(self) -> Path:
        """The folder of the first."""
        return next(iter(self._indexes.values())).path

    def close(self) -> None:
        for index in self._indexes.values():
            index.close()

    def __enter__(self) -> JointIndex:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def search(
        self,
        query: str,
        k: int,
        *,
        within: Narrowing | Sequence[str] = (),
        exclude: Collection[str] = (),
        mode: Mode = "hybrid",
        repeats: bool = False,
    ) -> list[Document]:
        """As `Index.search`: the k best passages of all, by their scores, which can be compared: cosines of one
        embedder, and BM25 as a share of what the query could reach. Raises UsageError if `within` leaves nothing in any
        index.
        """

        def ranked(name: str, index: Index) -> list[Document]:
            passages = index.search(query, k, within=within, exclude=exclude, mode=mode, repeats=repeats)
            return [_named(passage, name) for passage in passages]

        every = [passage for passages in self._filtered(ranked) for passage in passages]
        best: dict[str, Document] = {}
        for passage in sorted(every, key=lambda passage: -float(passage.metadata["rank_score"])):
            same = passage.metadata["chunk_id"] if repeats else " ".join(passage.page_content.split())
            best.setdefault(same, passage)
        return list(best.values())[: max(0, k)]

    def as_retriever(self, k: int = 4, within: Narrowing | Sequence[str] = (), **options: Any) -> BaseRetriever:
        """As `Index.as_retriever`."""
        from local_rag.index.langchain import retriever_of

        return retriever_of(self, k, within, **options)

    def vectors(self, documents: Sequence[Document]) -> list[Vectors | None]:
        """As `protocols.Corpus` says."""
        answers = zip(*(index.vectors(documents) for index in self._indexes.values()), strict=True)
        return [next((vector for vector in row if vector is not None), None) for row in answers]

    def neighbours(self, documents: Sequence[Document], reach: int) -> list[list[Document]]:
        """As `protocols.Corpus` says."""
        near: list[list[Document]] = [[] for _ in documents]
        for name, index in self._indexes.items():
            for place, passages in enumerate(index.neighbours(documents, reach)):
                near[place] = near[place] or [_named(passage, name) for passage in passages]
        return near

    def span(self, chunk_id: str, start: int, end: int) -> str:
        """As `protocols.Corpus` says."""
        return next(filter(None, (index.span(chunk_id, start, end) for index in self._indexes.values())), "")

    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks of all each term occurs."""
        total: Counter[str] = Counter(dict.fromkeys(terms, 0))
        for index in self._indexes.values():
            total.update(index.document_frequency(terms))
        return dict(total)

    def catalog(self) -> Catalog:
        """What the catalogs of all say, each index in turn."""
        catalogs = [index.catalog() for index in self._indexes.values()]
        kinds: Counter[str] = Counter()
        for kind, _, count in (line.rpartition(" ") for catalog in catalogs for line in catalog.kinds):
            kinds[kind] += int(count.replace(",", ""))

        def in_turn(name: str, most: int) -> tuple[str, ...]:
            rows = zip_longest(*(getattr(catalog, name) for catalog in catalogs))
            return tuple(dict.fromkeys(text for row in rows for text in row if text))[:most]

        return Catalog(
            documents=sum(catalog.documents for catalog in catalogs),
            chunks=sum(catalog.chunks for catalog in catalogs),
            files=sum(catalog.files for catalog in catalogs),
            about=" ".join(catalog.about for catalog in catalogs if catalog.about),
            kinds=tuple(f"{kind} {count:,}" for kind, count in kinds.most_common()),
            terms=in_turn("terms", _TERMS),
            titles=in_turn("titles", _TITLES),
            headings=in_turn("headings", _TITLES),
            folders=in_turn("folders", _TITLES),
            topics=in_turn("topics", _TITLES),
        )

    def status(self, *, outlined: bool = False) -> IndexStatus:
        """The counts of all; what is no count is that of the first."""
        joint, *others = [index.status(outlined=outlined) for index in self._indexes.values()]
        for status in others:
            joint = replace(joint, **{name: getattr(joint, name) + getattr(status, name) for name in _COUNTED})
        return joint

    def count(self) -> int:
        """How many passages there are in all."""
        return sum(index.count() for index in self._indexes.values())

    def waiting_notes(self) -> list[str]:
        """As `Index.waiting_notes`, with the name of the index and the command that embeds the rest."""
        return [
            f"{name}: {line}: local-rag index --index {index_name(index.path)}"
            for name, index in self._indexes.items()
            for line in index.waiting_notes()
        ]

    def files(self, within: Narrowing | Sequence[str] = ()) -> list[IndexedFile]:
        """The files of all, or those of which `within` leaves something. Raises UsageError if there is none then."""
        return [file for files in self._filtered(lambda _, index: index.files(within)) for file in files]

    def path_labels(self) -> PathLabels:
        """Short names of the files, which --in understands."""
        return PathLabels(root for index in self._indexes.values() for root in index.status().roots)

    def content(self) -> str:
        """16 hex digits that change when any passage of any of them does."""
        return _content(index.content() for index in self._indexes.values())

    def stored(self, keys: Collection[str]) -> Stored:
        """As `Index.stored`, of passages that were retrieved from all."""
        each = [index.stored(keys) for index in self._indexes.values()]
        files = frozenset(path for stored in each for path in stored.files)
        passages = {key: known for stored in each for key, known in stored.passages.items()}
        return Stored(_content(stored.content for stored in each), files, passages)

    def _filtered(self, ask: Callable[[str, Index], list[T]]) -> list[list[T]]:
        """What each index brings of a filter that leaves something in it. Raises NothingLeft if it does in none."""
        answers: list[list[T]] = []
        nothing: dict[str, NothingLeft] = {}
        for name, index in self._indexes.items():
            try:
                answers.append(ask(name, index))
            except NothingLeft as error:
                nothing[name] = error
        if answers:
            return answers
        said = {str(error) for error in nothing.values()}
        lines = said if len(said) == 1 else [f"{name}: {error}" for name, error in nothing.items()]
        hints = dict.fromkeys(error.hint for error in nothing.values())
        raise NothingLeft("; ".join(lines), hint="   or   ".join(hints))


def _content(contents: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(contents).encode()).hexdigest()[:16]


def _named(passage: Document, name: str) -> Document:
    return passage.model_copy(update={"metadata": {**passage.metadata, "index": name}})
