"""Several indexes of one embedder searched as one, each passage with the name of its index."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from local_rag.config.server_index import IndexAddress
from local_rag.core.documents import Catalog, FileChange
from local_rag.core.outline import FileHit, OutlineLine
from local_rag.index.catalog import IndexStatus
from local_rag.index.filters import NothingLeft, Within
from local_rag.index.index import Index
from local_rag.index.path_labels import PathLabels
from local_rag.index.store.values import IndexedFile, Stored

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from local_rag.core.protocols import Vectors

T = TypeVar("T")

_STATUS_SUMS = ("files", "documents", "dated", "chunks", "embedded", "bytes", "pages", "roots", "root_options")
"""Fields of a status that add up."""

_CATALOG_SUMS = ("documents", "chunks", "files")
_CATALOG_LISTS = {"titles": 20, "headings": 20, "folders": 20, "topics": 20, "terms": 30}
"""Lists of catalogs, and how many entries of each the catalog of all has."""


class JointIndex:
    """Indexes by name, searched as one; it has what a graph needs of an index, with the same meaning, and closes them.

    A passage has the name of its index as `index` in its metadata. One that two of them hold, of the same file and with
    the same `chunk_id`, is one passage.
    """

    narrows = True

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        self._named = dict(indexes)
        self._indexes = list(indexes.values())

    @property
    def path(self) -> IndexAddress:
        """Return the address of the first index."""
        return self._indexes[0].path

    def close(self) -> None:
        for index in self._indexes:
            index.close()

    def __enter__(self) -> JointIndex:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def search(self, query: str, k: int, *, repeats: bool = False, **options: Any) -> list[Document]:
        """Return the k best passages of all, by their scores, which can be compared: cosines of one embedder, and BM25
        as a share of what the query could reach.

        `options` are those of `Index.search`. Raises UsageError if `within` leaves nothing in any index.
        """

        def ranked(name: str, index: Index) -> list[Document]:
            found = index.search(query, k, repeats=repeats, **options)
            return [_named(one, name) for one in found]

        best: dict[str, Document] = {}
        for passage in sorted(self._filtered(ranked), key=lambda passage: -float(passage.metadata["rank_score"])):
            same = passage.metadata["chunk_id"] if repeats else " ".join(passage.page_content.split())
            best.setdefault(same, passage)
        return list(best.values())[: max(0, k)]

    def also_in(self, passages: Sequence[Document], within: Within = ()) -> dict[str, list[str]]:
        found = self._filtered(lambda _, index: [*index.also_in(passages, within).items()])
        every: dict[str, dict[str, None]] = {}
        for key, paths in found:
            every.setdefault(key, {}).update(dict.fromkeys(paths))
        return {key: [*paths] for key, paths in every.items()}

    def as_retriever(self, k: int = 4, within: Within = (), **options: Any) -> BaseRetriever:
        from local_rag.index.langchain import retriever_of

        return retriever_of(self, k, within, **options)

    def vectors(self, documents: Sequence[Document]) -> list[Vectors | None]:
        answers = zip(*(index.vectors(documents) for index in self._indexes), strict=True)
        return [next((vector for vector in row if vector is not None), None) for row in answers]

    def tables(self, documents: Sequence[Document]) -> list[bytes]:
        return [max(each) for each in zip(*(index.tables(documents) for index in self._indexes), strict=True)]

    def files_with(self, wanted: str, within: Within = (), kind: str = "") -> list[FileHit]:
        found = self._filtered(lambda name, index: [(name, hit) for hit in index.files_with(wanted, within, kind)])
        hits = {hit.passage.metadata["source"]: hit._replace(passage=_named(hit.passage, name)) for name, hit in found}
        return sorted(hits.values(), key=lambda hit: hit.near)

    def outline(self, source: str, language: str = "en") -> list[OutlineLine]:
        return next(filter(None, (index.outline(source, language) for index in self._indexes)), [])

    def passages_of(self, source: str) -> list[Document]:
        each = ((name, index.passages_of(source)) for name, index in self._named.items())
        return next(([_named(passage, name) for passage in found] for name, found in each if found), [])

    def whole_files(self, name: str, within: Within = ()) -> list[str]:
        return list(dict.fromkeys(self._filtered(lambda _, index: index.whole_files(name, within))))

    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        each = [index.document_frequency(terms) for index in self._indexes]
        return {term: sum(counts[term] for counts in each) for term in terms}

    def spelled_like(self, word: str) -> list[str]:
        return [near for index in self._indexes for near in index.spelled_like(word)]

    def catalog(self) -> Catalog:
        """Return what the catalogs of all say, each index in turn; kinds of files are left out."""
        catalogs = [index.catalog() for index in self._indexes]
        merged: dict[str, Any] = {name: sum(getattr(each, name) for each in catalogs) for name in _CATALOG_SUMS}
        for name, most in _CATALOG_LISTS.items():
            in_turn = chain(*zip_longest(*(getattr(each, name) for each in catalogs)))
            merged[name] = tuple(dict.fromkeys(filter(None, in_turn)))[:most]
        about = " ".join(each.about for each in catalogs if each.about)
        return Catalog(about=about, **merged)

    def status(self, *, outlined: bool = False) -> IndexStatus:
        """Return the sums of all counts; what is no count is that of the first index."""
        joint, *others = [index.status(outlined=outlined) for index in self._indexes]
        for status in others:
            joint = replace(joint, **{name: getattr(joint, name) + getattr(status, name) for name in _STATUS_SUMS})
        return joint

    def count(self) -> int:
        return sum(index.count() for index in self._indexes)

    def waiting_notes(self) -> list[str]:
        """Return the notes of `Index.waiting_notes`, with the name of the index."""
        return [f"{name}: {line}" for name, index in self._named.items() for line in index.waiting_notes()]

    def changed(self, sources: Collection[str] | None = None) -> dict[str, FileChange]:
        return {path: became for index in self._indexes for path, became in index.changed(sources).items()}

    def files(self, within: Within = ()) -> list[IndexedFile]:
        return self._filtered(lambda _, index: index.files(within))

    def path_labels(self, here: Path | None = None) -> PathLabels:
        return PathLabels((root for index in self._indexes for root in index.status().roots), here)

    def content(self) -> str:
        return _content(index.content() for index in self._indexes)

    def stored(self, keys: Collection[str]) -> Stored:
        each = [index.stored(keys) for index in self._indexes]
        files = frozenset(path for stored in each for path in stored.files)
        passages = {key: known for stored in each for key, known in stored.passages.items()}
        return Stored(_content(stored.content for stored in each), files, passages)

    def _filtered(self, ask: Callable[[str, Index], list[T]]) -> list[T]:
        """Return the answers of all indexes in which a filter leaves something. Raises NothingLeft if it does in none
        of them.
        """
        answers: list[T] = []
        nothing: list[NothingLeft] = []
        for name, index in self._named.items():
            try:
                answers += ask(name, index)
            except NothingLeft as error:
                nothing.append(error)
        if len(nothing) < len(self._indexes):
            return answers
        messages, hints = dict.fromkeys(map(str, nothing)), dict.fromkeys(error.hint for error in nothing)
        raise NothingLeft("; ".join(messages), hint="   or   ".join(hints))


def _content(contents: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(contents).encode()).hexdigest()[:16]


def _named(passage: Document, name: str) -> Document:
    """Return a passage with the name of its index."""
    return passage.model_copy(update={"metadata": {**passage.metadata, "index": name}})
