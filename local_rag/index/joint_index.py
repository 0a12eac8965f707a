"""Several indexes asked as one: all of one embedder, each passage with the name of its index."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from local_rag.core.documents import Catalog
from local_rag.core.narrowing import Narrowing
from local_rag.index import joint_ranking
from local_rag.index.candidates import Mode
from local_rag.index.header import MIXED
from local_rag.index.index import Index
from local_rag.index.narrowed import NothingLeft
from local_rag.index.path_labels import PathLabels
from local_rag.index.status import IndexStatus
from local_rag.index.store.folder import index_name
from local_rag.index.store.schema import IndexedFile, Passage, Stored
from local_rag.text.words import content_stems

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from local_rag.core.protocols import Vectors

T = TypeVar("T")

WIDER, LEAST = 4, 20
"""How many times more passages each index is asked for than are wanted, and at least: their ranks make the fusion."""

_COUNTED = ("files", "documents", "chunks", "embedded", "bytes", "pages", "roots", "root_options")
"""What of a status adds up."""

_TITLES, _TERMS = 20, 30
"""Titles (headings, folders, topics), terms and kinds in the catalog of all."""


class JointIndex:
    """Indexes by name, asked as one; what a graph may ask of an index. It closes them.

    A passage has the name of its index as `index` in its metadata, and in front of its `chunk_id`: the same file may
    be in two of them.
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
        """As `Index.search`: the k best passages of all. Raises UsageError if `within` leaves nothing in any index."""
        left_out = _keys(exclude)
        wider = max(LEAST, WIDER * k)

        def ranked(name: str, index: Index) -> list[Document]:
            passages = index.rank(query, wider, within=within, exclude=left_out[name], mode=mode, repeats=repeats)
            return [_named(passage, name) for passage in passages]

        brought = self._narrowed(ranked)
        terms = content_stems(query) if mode != "dense" else []
        ranking = joint_ranking.ranked(brought, query, mode, self.document_frequency(terms), self.count())
        kept: dict[str, Document] = {}
        for passage, score in ranking:
            same = passage.metadata["chunk_id"] if repeats else " ".join(passage.page_content.split())
            metadata = {**passage.metadata, "rank_score": score}
            kept.setdefault(same, passage.model_copy(update={"metadata": metadata}))
        best = list(kept.values())[: max(0, k)]

        def scored(index: Index, own: Sequence[Document]) -> list[float]:
            return [passage.metadata["score"] for passage in index.scored(query, own)]

        scores = self._of_each(best, scored, 0.0)
        return [
            passage.model_copy(update={"metadata": {**passage.metadata, "score": score}})
            for passage, score in zip(best, scores, strict=True)
        ]

    def catalog(self) -> Catalog:
        """What the catalogs of all say, each index in turn."""
        catalogs = [index.catalog() for index in self._indexes.values()]
        kinds: Counter[str] = Counter()
        for kind, _, count in (line.rpartition(" ") for catalog in catalogs for line in catalog.kinds):
            kinds[kind] += int(count.replace(",", ""))
        return Catalog(
            documents=sum(catalog.documents for catalog in catalogs),
            chunks=sum(catalog.chunks for catalog in catalogs),
            titles=_in_turn(catalog.titles for catalog in catalogs)[:_TITLES],
            terms=_in_turn(catalog.terms for catalog in catalogs)[:_TERMS],
            headings=_in_turn(catalog.headings for catalog in catalogs)[:_TITLES],
            files=sum(catalog.files for catalog in catalogs),
            about=" ".join(catalog.about for catalog in catalogs if catalog.about),
            folders=_in_turn(catalog.folders for catalog in catalogs)[:_TITLES],
            kinds=tuple(f"{kind} {count:,}" for kind, count in kinds.most_common()),
            topics=_in_turn(catalog.topics for catalog in catalogs)[:_TITLES],
        )

    def count(self) -> int:
        """How many passages there are in all."""
        return sum(index.count() for index in self._indexes.values())

    def vectors(self, documents: Sequence[Document]) -> list[Vectors | None]:
        """As `protocols.Corpus` says."""
        return self._of_each(documents, lambda index, own: index.vectors(own), None)

    def neighbours(self, documents: Sequence[Document], reach: int) -> list[list[Document]]:
        """As `protocols.Corpus` says."""

        def near(index: Index, own: Sequence[Document]) -> list[list[Document]]:
            name = next(name for name, known in self._indexes.items() if known is index)
            return [[_named(passage, name) for passage in passages] for passages in index.neighbours(own, reach)]

        return self._of_each(documents, near, [])

    def span(self, chunk_id: str, start: int, end: int) -> str:
        """As `protocols.Corpus` says."""
        name, key = _parted(chunk_id)
        return self._indexes[name].span(key, start, end) if name in self._indexes else ""

    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks of all each term occurs."""
        total: Counter[str] = Counter(dict.fromkeys(terms, 0))
        for index in self._indexes.values():
            total.update(index.document_frequency(terms))
        return dict(total)

    def unknown(self, narrowing: Narrowing) -> list[str]:
        """As `Index.unknown`, with the name of the index."""
        return [f"{name}: {line}" for name, index in self._indexes.items() for line in index.unknown(narrowing)]

    def upgrade_notes(self) -> list[str]:
        """As `Index.upgrade_notes`, with the name of the index."""
        return [f"{name}: {line}" for name, index in self._indexes.items() for line in index.upgrade_notes()]

    def waiting_notes(self) -> list[str]:
        """As `Index.waiting_notes`, with the name of the index and the command that embeds the rest."""
        return [
            f"{name}: {line}: local-rag index --index {index_name(index.path)}"
            for name, index in self._indexes.items()
            for line in index.waiting_notes()
        ]

    def files(self, within: Narrowing | Sequence[str] = ()) -> list[IndexedFile]:
        """The files of all, or those of which `within` leaves something. Raises UsageError if there is none then."""
        return [file for files in self._narrowed(lambda _, index: index.files(within)) for file in files]

    def addresses(self, paths: Collection[str]) -> dict[str, str]:
        """The URL that each of these files was saved from, as far as the file says so."""
        return {path: url for index in self._indexes.values() for path, url in index.addresses(paths).items()}

    def path_labels(self) -> PathLabels:
        """Short names of the files, which --in understands."""
        return PathLabels(root for index in self._indexes.values() for root in index.status().roots)

    def content(self) -> str:
        """16 hex digits that change when any passage of any of them does."""
        return _content(index.content() for index in self._indexes.values())

    def status(self, *, outlined: bool = False) -> IndexStatus:
        """The counts of all; what is no count is that of the first."""
        joint, *others = [index.status(outlined=outlined) for index in self._indexes.values()]
        for status in others:
            joint = replace(joint, **{name: getattr(joint, name) + getattr(status, name) for name in _COUNTED})
        return joint

    def embedded_count(self) -> tuple[int, int]:
        """How many passages of all have a vector, and how many there are."""
        with_vector, passages = zip(*(index.embedded_count() for index in self._indexes.values()), strict=True)
        return sum(with_vector), sum(passages)

    def header_version(self) -> int:
        """The version of the headers of all; MIXED where the indexes differ."""
        versions = {index.header_version() for index in self._indexes.values()}
        return versions.pop() if len(versions) == 1 else MIXED

    def as_retriever(self, k: int = 4, within: Narrowing | Sequence[str] = (), **options: Any) -> BaseRetriever:
        """As `Index.as_retriever`."""
        from local_rag.index.retriever import retriever_of

        return retriever_of(self, k, within, **options)

    def _narrowed(self, ask: Callable[[str, Index], list[T]]) -> list[list[T]]:
        """What each index brings of a narrowing that leaves something in it. Raises NothingLeft if it does in none."""
        answers: list[list[T]] = []
        nothing: list[NothingLeft] = []
        for name, index in self._indexes.items():
            try:
                answers.append(ask(name, index))
            except NothingLeft as error:
                nothing.append(error)
        if not answers:
            raise self._nothing_left(nothing)
        return answers

    def _nothing_left(self, errors: Sequence[NothingLeft]) -> NothingLeft:
        """What each index says of it; what all say stands once."""
        lines = list(dict.fromkeys(map(str, errors)))
        if len(lines) > 1:
            lines = [f"{name}: {error}" for name, error in zip(self._indexes, errors, strict=True)]
        return NothingLeft("; ".join(lines), hint="   or   ".join(dict.fromkeys(error.hint for error in errors)))

    def _of_each(
        self, documents: Sequence[Document], ask: Callable[[Index, Sequence[Document]], list[T]], nothing: T
    ) -> list[T]:
        """What each index says of its own passages, in their order; `nothing` for any other document."""
        answers = [nothing] * len(documents)
        for name, index in self._indexes.items():
            places = [place for place, document in enumerate(documents) if _parted(_id(document))[0] == name]
            own = [_unnamed(documents[place]) for place in places]
            for place, answer in zip(places, ask(index, own) if own else [], strict=True):
                answers[place] = answer
        return answers


def stored_in(folders: Sequence[Path], chunk_ids: Collection[str]) -> Stored:
    """What the indexes in these folders have now of passages that were retrieved from all as one.

    Raises what `Index.stored` raises.
    """
    keys = _keys(chunk_ids)
    passages: dict[str, Passage] = {}
    each: list[Stored] = []
    for folder in folders:
        name = str(folder) if str(folder) in keys else folder.name
        each.append(Index.stored(folder, keys[name]))
        passages |= {f"{name}:{key}": passage for key, passage in each[-1].passages.items()}
    files = frozenset(path for stored in each for path in stored.files)
    return Stored(_content(stored.content for stored in each), files, passages)


def _content(contents: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(contents).encode()).hexdigest()[:16]


def _keys(chunk_ids: Iterable[str]) -> dict[str, list[str]]:
    """The keys of passages by the name of their index."""
    keys: dict[str, list[str]] = defaultdict(list)
    for name, key in map(_parted, chunk_ids):
        keys[name].append(key)
    return keys


def _id(document: Document) -> str:
    return str(document.metadata.get("chunk_id", ""))


def _parted(chunk_id: str) -> tuple[str, str]:
    """The name of an index, which may be a path, and the key of a passage in it."""
    name, _, key = chunk_id.rpartition(":")
    return name, key


def _named(passage: Document, name: str) -> Document:
    metadata = {**passage.metadata, "index": name, "chunk_id": f"{name}:{_id(passage)}"}
    return passage.model_copy(update={"metadata": metadata})


def _unnamed(document: Document) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, "chunk_id": _parted(_id(document))[1]}})


def _in_turn(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The first of each, then the second of each, each text once."""
    return tuple(dict.fromkeys(text for row in zip_longest(*lists) for text in row if text))
