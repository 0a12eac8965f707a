"""Index: files and chosen pages of the web, searchable."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core import cancel
from local_rag.core.documents import Catalog
from local_rag.core.narrowing import Narrowing
from local_rag.core.protocols import Embedder
from local_rag.index import narrowed, passages, recipes, status
from local_rag.index import search as searches
from local_rag.index.candidates import Mode
from local_rag.index.changes import Changes
from local_rag.index.exact_words import ExactWords
from local_rag.index.passage_turns import passages_in_turns
from local_rag.index.path_labels import PathLabels
from local_rag.index.preference import Preferences
from local_rag.index.status import IndexStatus
from local_rag.index.store import folder, forgetting, reads
from local_rag.index.store.errors import translated_errors
from local_rag.index.store.removal import destroy
from local_rag.index.store.schema import IndexedFile, Passage, Recipe, Stored
from local_rag.index.store.store import Store
from local_rag.index.store.verification import verify
from local_rag.index.unstored_vectors import UnstoredVectors
from local_rag.text.display import waiting_line

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from local_rag.core.protocols import Vectors

CHUNK_SIZE = 250
"""Tokens of a passage in a new index."""


class Index(Changes):
    """One index and the embedder that it was made with. Any thread may search while another one syncs."""

    narrows = True
    """That `within` of `search` may be a Narrowing with phrases."""

    def __init__(self, store: Store, embedder: Embedder, recipe: Recipe) -> None:
        super().__init__(store, embedder, recipe)
        self._catalog: tuple[str, Catalog] | None = None
        self._content: tuple[str, str] | None = None
        self._narrowed = narrowed.Narrowed(store)
        self._preferences = Preferences(store, embedder)
        self._unstored = UnstoredVectors(store, embedder)

    @classmethod
    def open(
        cls,
        path: Path,
        embedder: Embedder,
        *,
        chunk_size: int | None = CHUNK_SIZE,
        chunk_overlap: int | None = 0,
        create: bool = False,
        reembed: bool = False,
    ) -> Index:
        """Open the index in a folder; sizes are in tokens of the embedder. `create` makes it if there is none.

        None for a size is that of the index. `reembed` opens an index of another embedder too, for that method.
        Raises IndexMissing, IndexDamaged, IndexMismatch for another embedder, chunking or schema, UsageError for
        passages longer than the embedder reads.
        """
        path = path.absolute()
        with translated_errors(path):
            store = None if create and not folder.has_database(path) else Store(path)
        made = store.read(reads.recipe) if store else None
        if chunk_size is None:
            chunk_size = made.size if made else CHUNK_SIZE
        if chunk_overlap is None:
            chunk_overlap = made.overlap if made else 0
        recipes.check_sizes(embedder, chunk_size, chunk_overlap)
        recipe = Recipe(embedder.name, embedder.fingerprint, embedder.dimension, chunk_size, chunk_overlap)
        index = cls(store or Store.create(path, recipe), embedder, recipe)
        if not reembed:
            index._check()
        return index

    @staticmethod
    def inspect(path: Path, *, outlined: bool = False) -> IndexStatus:
        """The status of any index, whatever made it. Raises IndexMissing, IndexDamaged, IndexMismatch for a schema."""
        with closing(Store(path.absolute())) as store:
            return status.inspect(store, outlined=outlined)

    @staticmethod
    def listed(path: Path, within: Narrowing | Sequence[str] = ()) -> list[IndexedFile]:
        """The files of any index, whatever made it, or those of which `within` leaves something, by path.

        Raises UsageError if there is none, and what `inspect` raises.
        """
        with closing(Store(path.absolute())) as store:
            return status.listed(store, Narrowing.of(within))

    @staticmethod
    def stored(path: Path, keys: Collection[str]) -> Stored:
        """What the index in a folder has now of passages that were retrieved before, whatever made it.

        Raises what `inspect` raises.
        """
        with closing(Store(path.absolute())) as store:
            named = store.read(reads.chunks_by_key, keys)
            passages = {passage.id: passage for passage in store.read(reads.passages, list(named.values()))}
            files = frozenset(file.path for file in store.read(reads.files))
            return Stored(store.read(reads.content), files, {key: passages[chunk] for key, chunk in named.items()})

    @staticmethod
    def former_paths(path: Path, files: Sequence[Path]) -> list[str]:
        """Where files, and those in folders, were before they moved: what quotes them may name that.

        Raises what `inspect` raises.
        """
        places = [file.expanduser().resolve() for file in files]
        with closing(Store(path.absolute())) as store:
            below = [file for file in store.read(reads.paths) if any(map(Path(file).is_relative_to, places))]
            return store.read(reads.former_paths, below)

    @staticmethod
    def destroy(path: Path) -> None:
        """Delete an index, damaged or not, and nothing else. Raises IndexMissing, and IndexBusy during a sync."""
        destroy(path.absolute())

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        return self._store.folder

    # --- searching it

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
        """The k best passages, best first, each text once, with the metadata that `protocols.Corpus` lists.

        `within` are files, folders or globs (see `within.matching`), or a `Narrowing`; `exclude` are `chunk_id`s;
        `score` is the cosine in every mode. Documents that the query names are preferred. Raises UsageError if
        `within` leaves nothing, IndexMismatch after a re-embedding.
        """
        return self._searched(query, k, within, exclude, mode, repeats, self._unstored)

    def rank(
        self,
        query: str,
        k: int,
        *,
        within: Narrowing | Sequence[str] = (),
        exclude: Collection[str] = (),
        mode: Mode = "hybrid",
        repeats: bool = False,
    ) -> list[Document]:
        """As `search`, but no passage is embedded for it: `score` is None for one that has no vector yet."""
        return self._searched(query, k, within, exclude, mode, repeats, None)

    def scored(self, query: str, documents: Sequence[Document]) -> list[Document]:
        """What `rank` brought with the scores that it lacks."""
        lacking = [document.metadata["chunk_id"] for document in documents if document.metadata["score"] is None]
        if not lacking:
            return list(documents)
        passages = self._store.read(reads.passages, self._store.read(reads.chunks_named, lacking))
        vector = self.embedder.embed_queries([query.encode("utf-8", "replace").decode()])[0]
        cosines = self._unstored.cosines(vector, passages)
        scores = {passage.key: cosines[passage.id] for passage in passages}

        def with_score(document: Document) -> Document:
            metadata = document.metadata
            score = scores.get(metadata["chunk_id"], 0.0) if metadata["score"] is None else metadata["score"]
            return document.model_copy(update={"metadata": {**metadata, "score": score}})

        return list(map(with_score, documents))

    def _searched(
        self,
        query: str,
        k: int,
        within: Narrowing | Sequence[str],
        exclude: Collection[str],
        mode: Mode,
        repeats: bool,
        unstored: UnstoredVectors | None,
    ) -> list[Document]:
        cancel.check()
        self._check()
        if k < 1 or not query.strip() or self._store.read(reads.is_empty):
            return []
        narrowing = Narrowing.of(within)
        chosen, wanted = self._narrowed.selection(narrowing), ExactWords.of(narrowing)
        query = query.encode("utf-8", "replace").decode()  # a terminal may hand over bytes that are no text
        vector = self.embedder.embed_queries([query])[0]
        prefer = self._preferences.of(query, vector, chosen)
        return searches.search(
            self._store, query, vector, k, unstored,
            mode=mode, chosen=chosen, wanted=wanted, exclude=exclude, repeats=repeats, prefer=prefer,
        )  # fmt: skip

    def unknown(self, narrowing: Narrowing) -> list[str]:
        """What this index cannot know of a narrowing's conditions, in a line each."""
        return list(narrowed.unknown(self._store, narrowing))

    def upgrade_notes(self) -> list[str]:
        """That an earlier version made the index, and what brings it up to date, in a line; empty where none did."""
        return list(status.upgrade_notes(self._store))

    def waiting_notes(self) -> list[str]:
        """How many passages have no vector yet, in a line; empty where all have one."""
        line = waiting_line(*self.embedded_count())
        return [line] if line else []

    def catalog(self) -> Catalog:
        """Counts, titles and frequent words; computed once per change of the index."""
        generation = self._store.read(reads.meta)["generation"]
        if self._catalog is None or self._catalog[0] != generation:
            self._catalog = generation, status.catalog(self._store)
        return self._catalog[1]

    def count(self) -> int:
        """How many passages there are."""
        return self._store.read(reads.chunk_count)

    def vectors(self, documents: Sequence[Document]) -> list[Vectors | None]:
        """The stored vector (d,) of each document whose text is that of the passage it names, None for any other."""
        return passages.vectors(self._store, documents)

    def neighbours(self, documents: Sequence[Document], reach: int) -> list[list[Document]]:
        """As `protocols.Corpus` says; chunks may overlap, `start` and `end` say where each stands."""
        return passages.neighbours(self._store, documents, reach)

    def span(self, chunk_id: str, start: int, end: int) -> str:
        """Code points [start, end) of the document that this passage is of, cut at its borders; "" if it is gone."""
        return self._store.read(reads.span, chunk_id, start, end)

    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term occurs, as the index stems it."""
        return searches.document_frequency(self._store, terms)

    def addresses(self, paths: Collection[str]) -> dict[str, str]:
        """The URL that each of these files was saved from, as far as the file says so."""
        return self._store.read(reads.addresses, paths)

    def status(self, *, outlined: bool = False) -> IndexStatus:
        return status.inspect(self._store, outlined=outlined)

    def header_version(self) -> int:
        """The version of the headers of all passages: the smallest of any document, 0 where some have none."""
        return self._store.read(reads.header_version)

    def path_labels(self) -> PathLabels:
        """Short names of the files, which --in understands."""
        return PathLabels(root.path for root in self._store.read(reads.roots))

    def content(self) -> str:
        """16 hex digits that change when any passage does, and not otherwise: syncing again leaves them as they are."""
        generation = self._store.read(reads.meta)["generation"]
        if self._content is None or self._content[0] != generation:
            self._content = generation, self._store.read(reads.content)
        return self._content[1]

    def verify(self, *, deep: bool = False) -> bool:
        """Read all files of the index; False if the file of quantized vectors was not whole and is made anew.

        `deep` compares every row with what is stored of it: texts with their digests, vectors with length 1 and with
        their codes. Raises IndexDamaged.
        """
        return verify(self._store, deep=deep)

    def has_forgotten(self) -> bool:
        """Whether no byte of what was removed is left in the files; else the next command that writes sees to it."""
        return not self._store.read(forgetting.is_due)

    def files(self, within: Narrowing | Sequence[str] = ()) -> list[IndexedFile]:
        """All files, or those of which `within` leaves something. Raises UsageError if there is none then."""
        return status.listed(self._store, Narrowing.of(within))

    def passages(self, seed: int = 0) -> Iterator[Passage]:
        """Every passage once in an order that the seed decides: the files take turns, each with its next one."""
        return passages_in_turns(self._store, seed)

    def as_retriever(self, k: int = 4, within: Narrowing | Sequence[str] = (), **options: Any) -> BaseRetriever:
        """The same search as a LangChain retriever; `options` are `filter` and `search_kwargs` (see `retriever_of`)."""
        from local_rag.index.retriever import retriever_of

        return retriever_of(self, k, within, **options)
