"""Index: files and chosen pages of the web, searchable."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.core.documents import Catalog, LoadedDocument, SyncReport
from local_rag.core.errors import UsageError
from local_rag.core.narrowing import Narrowing
from local_rag.core.protocols import Embedder
from local_rag.index import narrowed, outline, passages, recipes, status
from local_rag.index import search as searches
from local_rag.index.candidates import Mode
from local_rag.index.exact_words import ExactWords
from local_rag.index.passage_turns import passages_in_turns
from local_rag.index.path_labels import PathLabels
from local_rag.index.preference import Preferences
from local_rag.index.status import IndexStatus
from local_rag.index.store import folder, forgetting, reads, writes
from local_rag.index.store.errors import translated_errors
from local_rag.index.store.removal import destroy
from local_rag.index.store.schema import IndexedFile, Passage, Recipe, Root, Stored
from local_rag.index.store.store import Store
from local_rag.index.store.verification import verify

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from local_rag.core.protocols import Vectors
    from local_rag.index.parse.loaders import Loader
    from local_rag.index.parse.passwords import Passwords
    from local_rag.index.sync.pages import ReadPage
    from local_rag.index.sync.report import Progress

CHUNK_SIZE = 250
"""Tokens of a passage in a new index."""


class Index:
    """One index and the embedder that it was made with. Any thread may search while another one syncs."""

    def __init__(self, store: Store, embedder: Embedder, recipe: Recipe) -> None:
        self.embedder = embedder
        self._store, self._recipe = store, recipe
        self._catalog: tuple[str, Catalog] | None = None
        self._content: tuple[str, str] | None = None
        self._narrowed = narrowed.Narrowed(store)
        self._preferences = Preferences(store, embedder)

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

    # --- changing it

    def sync(
        self,
        paths: Sequence[Path] | None = None,
        *,
        prune: bool = False,
        excludes: Sequence[str] = (),
        no_excludes: Sequence[str] = (),
        clear_excludes: bool = False,
        secrets: bool = False,
        follow_links: bool | None = None,
        retry: bool = False,
        passwords: Passwords | None = None,
        loaders: Mapping[str, Loader] | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> SyncReport:
        """Take in what is new or changed below `paths`, and forget what is gone from there.

        `paths` are remembered with these options; without them all remembered ones are synced, with the options on top
        of their own. `excludes` (patterns of .gitignore) add up; `no_excludes` takes single ones back, `clear_excludes`
        all. `secrets` holds for `paths` until they are named again, `follow_links` (out of a path) until it is given
        again. What could not be seen is kept, unless `prune`. `retry` reads again what could not be read, which
        otherwise waits until its content or the parser changes; `passwords` open encrypted PDFs; `loaders`, functions
        at the top of a module, read a suffix. One process syncs at a time: another waits `BUSY_SECONDS`, then raises
        IndexBusy. Raises UsageError for a path or a pattern that says nothing, DiskFull, and Stopped.
        """
        from local_rag.index.sync.sync import Sync

        with self._locked():
            known = self._store.read(reads.roots)
            roots = self._asked(paths or (), known, excludes, no_excludes, clear_excludes, secrets, follow_links)
            if not roots and not self._store.read(reads.page_count):
                raise UsageError("nothing has been indexed yet: name files or folders", hint="local-rag index PATH…")
            if roots != known:
                with self._store.writing() as db:
                    writes.set_roots(db, roots)
            work = Sync(
                self._store, self.embedder, self._recipe, progress, retry=retry, passwords=passwords, loaders=loaders
            )
            report = work.run(roots, prune=prune)
            if prune:
                with self._store.writing() as db:
                    writes.forget_roots(db, [root.path for root in roots if not Path(root.path).exists()])
                self._store.refresh()
            self._settle()
            return report

    def locked_files(
        self,
        paths: Sequence[Path] | None = None,
        *,
        excludes: Sequence[str] = (),
        no_excludes: Sequence[str] = (),
        clear_excludes: bool = False,
        secrets: bool = False,
        follow_links: bool | None = None,
    ) -> list[str]:
        """The PDFs that `sync` would take in if it had their passwords; nothing is changed. Raises as `sync` does."""
        from local_rag.index.sync.locked_files import locked_files

        with self._locked():
            known = self._store.read(reads.roots)
            roots = self._asked(paths or (), known, excludes, no_excludes, clear_excludes, secrets, follow_links)
            return list(locked_files(self._store, roots))

    def _asked(
        self,
        paths: Sequence[Path],
        known: Sequence[Root],
        excludes: Sequence[str],
        no_excludes: Sequence[str],
        clear_excludes: bool,
        secrets: bool,
        follow_links: bool | None,
    ) -> list[Root]:
        """The roots that a person means."""
        from local_rag.index.sync.roots import WalkOptions, asked_roots, named_path

        named = [named_path(path, known) for path in paths]
        taken = True if secrets else False if named else None
        options = WalkOptions(excludes, no_excludes, clear_excludes, taken, follow_links)
        return asked_roots(named, known, self._store.read(reads.excluded), options)

    def sync_pages(self, urls: Iterable[str], read: ReadPage, *, prune: bool = False) -> SyncReport:
        """Take in pages of the web that are new or changed; `read` gets each of them, and nothing else does.

        A page is stored under the URL it was found at in the end. One that `read` raises FileSkipped for is reported,
        and kept if it is in the index, unless `prune`. Raises IndexBusy, DiskFull, and Stopped; each page is written
        in one step.
        """
        from local_rag.index.sync.pages import PageSync

        self._check()
        return PageSync(self._store, self.embedder, self._recipe, self._locked, self._settle).run(
            urls, read, prune=prune
        )

    def sync_texts(
        self,
        texts: Sequence[tuple[str, LoadedDocument]],
        *,
        whole: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> SyncReport:
        """Take in texts that are no files, each under a name (its `source`); what is not among them stays.

        `whole` makes one passage of each, whose vector is that of its beginning: how test collections are measured.
        Raises IndexBusy, DiskFull, and Stopped; what was committed stays.
        """
        from local_rag.index.sync.texts import TextSync

        with self._locked():
            report = TextSync(self._store, self.embedder, self._recipe, whole, progress).run(texts)
            self._settle()
            return report

    def remove(self, paths: Sequence[Path | str], *, missing_ok: bool = False) -> tuple[str, ...]:
        """Forget files, whole folders with their roots, and pages (URLs); gives what of it was in the index.

        Files below a root that stays come back with its next sync. Raises UsageError for a path that is not indexed,
        unless `missing_ok`.
        """
        from local_rag.index.sync import removal

        with self._store.locked():
            removed = removal.remove(self._store, paths, missing_ok=missing_ok)
            self._settle()
            return removed

    def keep_out(self, paths: Sequence[Path]) -> list[str]:
        """Exclude files and folders from the indexed folders above them, until `no_excludes`; the new patterns.

        What is indexed of them goes with the next sync, or with `remove`.
        """
        from local_rag.index.sync import removal

        with self._store.locked():
            return removal.keep_out(self._store, paths)

    def reembed(self, progress: Callable[[Progress], None] | None = None) -> int:
        """Give every passage a vector of this embedder; the number of passages embedded.

        The old vectors answer until all new ones are there; what an interrupted run embedded is taken over.
        Raises IndexMismatch if the chunking differs, or if a passage is longer than this embedder reads.
        """
        with self._store.locked():
            made = self._store.read(reads.recipe)
            if (made.size, made.overlap) != (self._recipe.size, self._recipe.overlap):
                self._check()
            count = recipes.reembed(self._store, self.embedder, self._recipe, progress)
            self._settle()
            return count

    def set_about(self, about: str) -> None:
        """Keep what a person says of the index, or "" for nothing. Raises UsageError for a long text, and IndexBusy."""
        with self._store.locked():
            outline.set_about(self._store, about)

    def _settle(self) -> None:
        """What a change leaves to do: topics of what is there now, and no byte of what was removed."""
        outline.renew_topics(self._store, self._recipe.dimension)
        self._store.forget()

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
            self._store, query, vector, k, self.embedder,
            mode=mode, chosen=chosen, wanted=wanted, exclude=exclude, repeats=repeats, prefer=prefer,
        )  # fmt: skip

    def unknown(self, narrowing: Narrowing) -> list[str]:
        """What this index cannot know of a narrowing's conditions, in a line each."""
        return list(narrowed.unknown(self._store, narrowing))

    def upgrade_note(self) -> str:
        """That an earlier version made the index, and what brings it up to date; "" where none did."""
        return status.upgrade_note(self._store)

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

    def files(self) -> list[IndexedFile]:
        return self._store.read(reads.indexed_files)

    def passages(self, seed: int = 0) -> Iterator[Passage]:
        """Every passage once in an order that the seed decides: the files take turns, each with its next one."""
        return passages_in_turns(self._store, seed)

    def as_retriever(self, k: int = 4, within: Sequence[str] = ()) -> BaseRetriever:
        """The same search as a LangChain retriever."""
        from local_rag.index.retriever import IndexRetriever

        return IndexRetriever(index=self, k=k, within=tuple(within))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._store.locked():
            self._check()
            yield

    def _check(self) -> None:
        """Raises IndexMismatch unless this embedder and this chunking made the index."""
        recipes.check_same(self._store, self._recipe)
