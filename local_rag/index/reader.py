"""The side of an index that only reads: it searches passages, and lists what the index holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from local_rag.config.server_index import IndexAddress
from local_rag.core.documents import Catalog, FileChange, Narrowing
from local_rag.core.errors import EarlierIndex, IndexMissing, UsageError
from local_rag.core.outline import FileHit, OutlineLine
from local_rag.core.protocols import Embedder
from local_rag.index import catalog as catalogs
from local_rag.index.catalog import IndexStatus
from local_rag.index.filters import Within, conditions
from local_rag.index.path_labels import PathLabels
from local_rag.index.prepare import digest
from local_rag.index.search import Mode, Request, document, search
from local_rag.index.store.cache import Cache
from local_rag.index.store.matrices import matrix_of
from local_rag.index.store.opening import check_settings, check_sizes, kind_of, opened
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import Filter, IndexedFile, IndexSettings, Passage, Stored
from local_rag.text.answer_language import texts_in
from local_rag.text.display import waiting_line
from local_rag.text.metadata import chunk_id

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from local_rag.core.protocols import Vectors

CHUNK_SIZE = 250
"""Tokens of a passage in a new index."""

_READ_AT_ONCE = 50


class Reader:
    """One index, and the embedder that it was made with; without an embedder it is only listed.

    Any thread may search while another one syncs. Every method raises IndexDamaged.
    """

    narrows = True

    def __init__(self, store: Store, settings: IndexSettings, embedder: Embedder | None) -> None:
        self.store, self._settings, self._embedder = store, settings, embedder
        self._cache = Cache()

    @classmethod
    def open(
        cls,
        path: IndexAddress,
        embedder: Embedder | None = None,
        *,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        create: bool = False,
        reembed: bool = False,
    ) -> Self:
        """Open the index in a folder; sizes are in tokens of the embedder. `create` makes it if there is none.

        None for a size is that of the index, in a new one CHUNK_SIZE and 0. `reembed` opens an index of another
        embedder, for that method. Raises IndexMissing, IndexDamaged, IndexMismatch for another embedder, chunking or an
        earlier version, UsageError for passages longer than the embedder reads.
        """
        path = path.absolute() if isinstance(path, Path) else path
        store: Store | None = None
        try:
            store = opened(path)
        except (IndexMissing, EarlierIndex):
            if not create:
                raise
        made = store.settings() if store else None
        if store and made and embedder is None:
            return cls(store, made, None)
        assert embedder is not None, "a new index needs an embedder"
        size = chunk_size if chunk_size is not None else made.size if made else CHUNK_SIZE
        overlap = chunk_overlap if chunk_overlap is not None else made.overlap if made else 0
        check_sizes(embedder, size, overlap)
        settings = IndexSettings(embedder.name, embedder.fingerprint, embedder.dimension, size, overlap)
        index = cls(store or kind_of(path).create(path, settings), settings, embedder)
        if not reembed:
            index._check()
        return index

    @classmethod
    def inspect(cls, path: IndexAddress, *, outlined: bool = False) -> IndexStatus:
        """Return the status of the index in a folder, whatever embedder made it. Raises as `open` does."""
        with cls.open(path) as index:
            return index.status(outlined=outlined)

    @staticmethod
    def destroy(path: IndexAddress) -> None:
        """Delete an index, damaged or not, and nothing else. Raises IndexMissing, and IndexBusy during a sync."""
        kind_of(path).destroy(path)

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def path(self) -> IndexAddress:
        return self.store.address

    @property
    def embedder(self) -> Embedder:
        assert self._embedder is not None, "this index was opened without an embedder"
        return self._embedder

    # --- searching

    def search(
        self,
        query: str,
        k: int,
        *,
        within: Within = (),
        exclude: Collection[str] = (),
        mode: Mode = "hybrid",
        repeats: bool = False,
    ) -> list[Document]:
        """Return the k best passages, best first, each text once, with the metadata that `protocols.Corpus` lists.

        `within` are files, folders or globs (see `filters.matching`), or a `Narrowing`; `exclude` are `chunk_id`s;
        `score` is the cosine in every mode. Documents that the query names are preferred. Raises UsageError if `within`
        leaves nothing or the index was opened without an embedder, IndexMismatch after a re-embedding.
        """
        if self._embedder is None:
            raise UsageError(
                f"the index at {self.path} was opened without an embedder, which a search needs for the query",
                hint="Index.open(path, embedder), or Rag.open(), which opens the embedder of the index",
            )
        if k < 1 or not query.strip():
            return []
        query = query.encode("utf-8", "replace").decode()  # a terminal may hand over bytes that are no text
        vector = self._embedder.embed_queries([query])[0]
        request = Request(query, vector, k, Narrowing.of(within), exclude, mode, repeats)
        return search(self.store, self._settings, self._embedder, self._cache, request)

    def also_in(self, passages: Sequence[Document], within: Within = ()) -> dict[str, list[str]]:
        """Return by `chunk_id` the other files with the text of a passage, white space aside, of those left by
        `within`.
        """
        wanted = Narrowing.of(within).of_documents
        filter = Filter(conditions(self.store, wanted) if wanted else None)
        found: dict[str, list[str]] = {}
        for passage in passages:
            copies = self.store.copies(digest(passage.page_content))
            left = set(self.store.passing(filter, [chunk for chunk, _ in copies]))
            paths = dict.fromkeys(path for chunk, path in copies if chunk in left)
            paths.pop(passage.metadata["source"], None)
            found[passage.metadata["chunk_id"]] = [*paths]
        return found

    def as_retriever(self, k: int = 4, within: Within = (), **options: Any) -> BaseRetriever:
        """Return the same search as a LangChain retriever; `options` are `filter` and `search_kwargs` (see
        `retriever_of`).
        """
        from local_rag.index.langchain import retriever_of

        return retriever_of(self, k, within, **options)

    def vectors(self, documents: Sequence[Document]) -> list[Vectors | None]:
        """Return the stored vector (d,) of each document whose text is that of a passage, None for any other."""
        stored = self.store.vectors([digest(document.page_content) for document in documents])
        known = iter(matrix_of([blob for blob in stored if blob], self._settings.dimension))
        return [next(known) if blob else None for blob in stored]

    def tables(self, documents: Sequence[Document]) -> list[bytes]:
        """Return the tables of the document of each passage, as `tables.table.opened` reads them; empty for none."""
        keys = [chunk_id(document) for document in documents]
        known = self.store.snapshot(lambda: self.store.tables(keys))
        return [known.get(key, b"") for key in keys]

    def files_with(self, wanted: str, within: Within = (), kind: str = "") -> list[FileHit]:
        """All files that hold something, or come near it in meaning; `kind` is a stem in their names, if in any."""
        from local_rag.index.mentions import files_with

        return files_with(partial(self.search, within=within, repeats=True), self.count(), wanted, kind)

    def whole_files(self, name: str, within: Within = ()) -> list[str]:
        """Return the files that a name means in a question for a whole document; "this" means the only one left.

        Of several that are named alike the longest comes first: beside a report may lie the mail that brought it.
        """
        from local_rag.index.named_documents import files_called, says_no_name

        narrowed, left = Narrowing.of(within).of_documents, list[IndexedFile]()
        if narrowed or self.store.counts().files == 1:
            left = self.files(within)
        if says_no_name(name):  # one file, with what is attached to it
            return [each.path for each in left[:1] if all(file.path.startswith(each.path) for file in left)]
        named = self.store.snapshot(lambda: self.store.indexed_files(files_called(self.store, name)))
        meant = [file for file in named if not narrowed or file in left]
        return [file.path for file in sorted(meant, key=lambda file: -file.chunks)]

    def outline(self, source: str, language: str = "en") -> list[OutlineLine]:
        """Return the lines of the outline of a file, or none if it has no text."""
        from local_rag.index.outline import outlined

        return self.store.snapshot(lambda: [*outlined(self.store, source, texts_in(language))])

    def passages_of(self, source: str) -> list[Document]:
        """All passages of a file in the order of its text."""
        spans = self.store.spans(source)
        return [document(passage) for passage in self.store.passages([chunk for chunk, *_ in spans])]

    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """Count the chunks in which each term occurs, as a word or as a stem; a term of several words counts as its
        rarest word.
        """
        return self.store.document_frequency(terms)

    def spelled_like(self, word: str) -> list[str]:
        """Return words of the passages that are spelled nearly like a word, in lower case; none on a server."""
        return self.store.spelled_like(word)

    # --- what it holds

    def generation(self) -> str:
        """Return the generation, which changes with every commit."""
        return self.store.generation()

    def catalog(self) -> Catalog:
        """Return counts, titles and frequent words; computed once per change of the index."""
        make = partial(self.store.snapshot, lambda: catalogs.catalog(self.store))
        return self._cache.get("catalog", self.generation(), make)

    def content(self) -> str:
        """Return 16 hex digits that change when any passage does, and not otherwise."""
        return self._cache.get("content", self.generation(), self.store.content)

    def status(self, *, outlined: bool = False) -> IndexStatus:
        """Return the status of the index, with its summary only where it is `outlined`."""
        return self.store.snapshot(lambda: catalogs.inspect(self.store, outlined))

    def count(self) -> int:
        """Return the number of passages."""
        return self.store.counts().chunks

    def embedded_count(self) -> tuple[int, int]:
        """Return how many passages have a vector, and how many there are; the others are matched by their words
        only.
        """
        counts = self.store.counts()
        return counts.embedded, counts.chunks

    def waiting_notes(self) -> list[str]:
        """Return a line on passages without a vector, and a line on why search is slower than it should be, where they
        apply.
        """
        return list(filter(None, [waiting_line(*self.embedded_count()), self.store.degraded()]))

    def path_labels(self, here: Path | None = None) -> PathLabels:
        """Return short names of the files, which --in understands; `here` is the current folder of a person at a
        terminal.
        """
        return PathLabels((root.path for root in self.store.roots()), here)

    def changed(self, sources: Collection[str] | None = None) -> dict[str, FileChange]:
        """Return those of these files, or of all, that are not on the disk as they were indexed, by size and time."""
        files = self.store.files() if sources is None else filter(None, map(self.store.file, sources))
        return {file.path: became for file in files if (became := file.became)}

    def files(self, within: Within = ()) -> list[IndexedFile]:
        """Return all files, or those of which `within` leaves something. Raises UsageError if there is none then."""
        wanted = Narrowing.of(within).of_documents
        return self.store.indexed_files(self.store.files_meeting(conditions(self.store, wanted)) if wanted else None)

    def stored(self, keys: Collection[str]) -> Stored:
        """Return what the index has now of passages that were retrieved before."""
        chunks = list(self.store.chunks_by_key(keys).values())
        kept = {passage.key: passage for passage in self.store.passages(chunks)}
        return Stored(self.content(), frozenset(self.store.paths()), kept)

    def passages(self, seed: int = 0) -> Iterator[Passage]:
        """Yield every passage once in an order that the seed decides: the files take turns, each with its next
        passage.
        """
        ordered = self.store.in_turns(seed)
        for first in range(0, len(ordered), _READ_AT_ONCE):
            yield from self.store.passages(ordered[first : first + _READ_AT_ONCE])

    def verify(self, *, deep: bool = False) -> bool:
        """Read all files of the index; return False if the file of vectors is not whole: the next sync makes it again.

        `deep` compares every row with what is stored of it: texts with their digests, vectors with length 1. Raises
        IndexDamaged.
        """
        return self.store.verify(deep=deep)

    def has_forgotten(self) -> bool:
        """Return whether no byte of what was removed is left in the files; else the next command that writes erases
        it.
        """
        return not self.store.must_forget()

    def _check(self) -> None:
        check_settings(self.store, self._settings)
