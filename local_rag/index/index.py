"""Index: files and chosen pages of the web, searchable. One door for those who search, list and change it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from local_rag.core.documents import Catalog, LoadedDocument, Narrowing, SyncReport
from local_rag.core.errors import IndexBusy
from local_rag.core.protocols import Embedder
from local_rag.index import catalog as catalogs
from local_rag.index import filters
from local_rag.index.catalog import IndexStatus
from local_rag.index.path_labels import PathLabels
from local_rag.index.search import Mode, Request, Searcher
from local_rag.index.store import checks, full_text, reads, vectors, writes
from local_rag.index.store.schema import IndexedFile, IndexSettings, Passage, Stored
from local_rag.index.store.store import Store, must_forget
from local_rag.index.stores import created, destroy, is_current, opened
from local_rag.text.display import waiting_line

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from local_rag.core.protocols import Vectors
    from local_rag.index.parse.loaders import Loader
    from local_rag.index.sync.pages import ReadPage
    from local_rag.index.sync.report import Progress

T = TypeVar("T")

CHUNK_SIZE = 250
"""Tokens of a passage in a new index."""

NOTHING_CHANGED = SyncReport()

_READ_AT_ONCE = 50


class Index:
    """One index, and the embedder that it was made with; without one it is listed, and a search finds nothing.

    Any thread may search while another one syncs. Every method raises IndexDamaged, and those that change the index
    IndexBusy, DiskFull and Stopped; what was committed by then stays.
    """

    narrows = True

    def __init__(self, store: Store, settings: IndexSettings, embedder: Embedder | None) -> None:
        self._store, self._settings, self._embedder = store, settings, embedder
        self._searcher = Searcher(store, settings, embedder) if embedder else None
        self._known: dict[str, tuple[str, Any]] = {}

    @classmethod
    def open(
        cls,
        path: Path,
        embedder: Embedder | None = None,
        *,
        chunk_size: int | None = CHUNK_SIZE,
        chunk_overlap: int | None = 0,
        create: bool = False,
        reembed: bool = False,
    ) -> Index:
        """Open the index in a folder; sizes are in tokens of the embedder. `create` makes it if there is none.

        None for a size is that of the index. `reembed` opens an index of another embedder too, for that method. Raises
        IndexMissing, IndexDamaged, IndexMismatch for another embedder, chunking or an earlier version, UsageError for
        passages longer than the embedder reads.
        """
        path = path.absolute()
        made = None
        if not create or is_current(path):
            store = opened(path)
            made = store.read(reads.settings)
            if embedder is None:
                return cls(store, made, None)
        assert embedder is not None, "a new index needs an embedder"
        size = chunk_size if chunk_size is not None else made.size if made else CHUNK_SIZE
        overlap = chunk_overlap if chunk_overlap is not None else made.overlap if made else 0
        checks.check_sizes(embedder, size, overlap)
        settings = IndexSettings(embedder.name, embedder.fingerprint, embedder.dimension, size, overlap)
        index = cls(store if made else created(path, settings), settings, embedder)
        if not reembed:
            index._check()
        return index

    @staticmethod
    def inspect(path: Path, *, outlined: bool = False) -> IndexStatus:
        """The status of the index in a folder, whatever embedder made it. Raises as `open` does."""
        with Index.open(path) as index:
            return index.status(outlined=outlined)

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
        within: Narrowing | Sequence[str] = (),
        exclude: Collection[str] = (),
        mode: Mode = "hybrid",
        repeats: bool = False,
    ) -> list[Document]:
        """The k best passages, best first, each text once, with the metadata that `protocols.Corpus` lists.

        `within` are files, folders or globs (see `filters.matching`), or a `Narrowing`; `exclude` are `chunk_id`s;
        `score` is the cosine in every mode. Documents that the query names are preferred. Raises UsageError if
        `within` leaves nothing, IndexMismatch after a re-embedding.
        """
        if k < 1 or not query.strip() or self._searcher is None:
            return []
        query = query.encode("utf-8", "replace").decode()  # a terminal may hand over bytes that are no text
        vector = self.embedder.embed_queries([query])[0]
        return self._searcher.search(Request(query, vector, k, Narrowing.of(within), exclude, mode, repeats))

    def as_retriever(self, k: int = 4, within: Narrowing | Sequence[str] = (), **options: Any) -> BaseRetriever:
        """The same search as a LangChain retriever; `options` are `filter` and `search_kwargs` (see `retriever_of`)."""
        from local_rag.index.langchain import retriever_of

        return retriever_of(self, k, within, **options)

    def vectors(self, documents: Sequence[Document]) -> list[Vectors | None]:
        """The stored vector (d,) of each document whose text is that of a passage, None for any other."""
        digests = [full_text.digest(document.page_content) for document in documents]
        stored = self._store.read(reads.vectors_of, digests)
        known = iter(vectors.matrix_of([blob for blob in stored if blob], self._settings.dimension))
        return [next(known) if blob else None for blob in stored]

    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term occurs, as a word or as a stem; one of several words counts as its rarest."""
        return self._store.read(full_text.document_frequency, terms)

    # --- what it holds

    def read(self, lookup: Callable[..., T], *arguments: Any) -> T:
        """Do one lookup of `store.reads`: what lists and shows files reads them in this way."""
        return self._store.read(lookup, *arguments)

    def generation(self) -> str:
        """What changes with every commit."""
        return self._store.read(reads.meta)["generation"]

    def catalog(self) -> Catalog:
        """Counts, titles and frequent words; computed once per change of the index."""
        return cast(Catalog, self._once("catalog", catalogs.catalog))

    def content(self) -> str:
        """16 hex digits that change when any passage does, and not otherwise."""
        return str(self._once("content", reads.content))

    def _once(self, name: str, lookup: Callable[..., Any]) -> Any:
        generation = self.generation()
        if self._known.get(name, ("",))[0] != generation:
            self._known[name] = generation, self._store.read(lookup)
        return self._known[name][1]

    def status(self, *, outlined: bool = False) -> IndexStatus:
        """What it says of itself; the summary only where it is `outlined`."""
        return self._store.read(catalogs.inspect, self.path, outlined)

    def count(self) -> int:
        """How many passages there are."""
        return self._store.read(reads.counts).chunks

    def embedded_count(self) -> tuple[int, int]:
        """How many passages have a vector, and how many there are; the others are matched by their words only."""
        counts = self._store.read(reads.counts)
        return counts.embedded, counts.chunks

    def waiting_notes(self) -> list[str]:
        """How many passages have no vector yet, in a line; empty where all have one."""
        return list(filter(None, [waiting_line(*self.embedded_count())]))

    def path_labels(self, here: Path | None = None) -> PathLabels:
        """Short names of the files, which --in understands; `here` is the current folder of a person at a terminal."""
        return PathLabels((root.path for root in self._store.read(reads.roots)), here)

    def files(self, within: Narrowing | Sequence[str] = ()) -> list[IndexedFile]:
        """All files, or those of which `within` leaves something. Raises UsageError if there is none then."""
        wanted = Narrowing.of(within).of_documents
        chosen = self._store.read(filters.selected_files, self.path, wanted) if wanted else None
        return self._store.read(reads.indexed_files, chosen)

    def stored(self, keys: Collection[str]) -> Stored:
        """What the index has now of passages that were retrieved before."""
        chunks = list(self._store.read(reads.chunks_by_key, keys).values())
        kept = {passage.key: passage for passage in self._store.read(reads.passages, chunks)}
        return Stored(self.content(), frozenset(self._store.read(reads.paths)), kept)

    def passages(self, seed: int = 0) -> Iterator[Passage]:
        """Every passage once in an order that the seed decides: the files take turns, each with its next one."""
        ordered = self._store.read(reads.in_turns, seed)
        for first in range(0, len(ordered), _READ_AT_ONCE):
            yield from self._store.read(reads.passages, ordered[first : first + _READ_AT_ONCE])

    def verify(self, *, deep: bool = False) -> bool:
        """Read all files of the index; False if the file of vectors was not whole and is made anew.

        `deep` compares every row with what is stored of it: texts with their digests, vectors with length 1. Raises
        IndexDamaged.
        """
        return self._store.verify(deep=deep)

    def has_forgotten(self) -> bool:
        """Whether no byte of what was removed is left in the files; else the next command that writes sees to it."""
        return not self._store.read(must_forget)

    # --- changing it

    def sync(
        self,
        paths: Sequence[Path] | None = None,
        *,
        prune: bool = False,
        excludes: Sequence[str] = (),
        no_excludes: Sequence[str] = (),
        secrets: bool = False,
        follow_links: bool | None = None,
        retry: bool = False,
        loaders: Mapping[str, Loader] | None = None,
        progress: Callable[[Progress], None] | None = None,
        embed: bool = True,
    ) -> SyncReport:
        """Take in what is new or changed below `paths`, and forget what is gone from there.

        Texts come first: from then on they are searched by their words. Then every passage without a vector gets one,
        unless `embed` is False: see `embed`.

        `paths` are remembered with these options; without them all remembered ones are synced, with the options on top
        of their own. `excludes` (patterns of .gitignore) add up; `no_excludes` takes them back.
        `secrets` holds for `paths` until they are named again, `follow_links` (out of a path) until it is given
        again. What could not be seen is kept, unless `prune`. `retry` reads again what could not be read, which
        otherwise waits until its content or the parser changes; `loaders`, functions at the top of a module, read a
        suffix; `parse.ocr.READERS` take images in, which wait for `read_scans` as pages without a text layer do.
        Raises UsageError for a path or a pattern that says nothing.
        """
        from local_rag.index.sync.roots import WalkOptions, real_path, remember_roots
        from local_rag.index.sync.text import TextSync

        named = (
            [str(real_path(path)) for path in paths] if paths else [root.path for root in self._store.read(reads.roots)]
        )
        with self._locked(named):
            taken = secrets or (False if paths else None)
            options = WalkOptions(excludes, no_excludes, taken, follow_links)
            roots = remember_roots(self._store, paths or (), options)
            sync = TextSync(self._store, self.embedder, self._settings, progress, retry=retry, loaders=loaders)
            report = sync.run(roots, prune=prune)
            if prune:
                with self._store.writing() as db:
                    writes.forget_roots(db, [root.path for root in roots if not Path(root.path).exists()])
            return self._concluded(report, progress, embed)

    def sync_pages(
        self,
        urls: Iterable[str],
        read: ReadPage,
        *,
        prune: bool = False,
        progress: Callable[[Progress], None] | None = None,
        embed: bool = True,
    ) -> SyncReport:
        """Take in pages of the web that are new or changed; `read` gets each of them, and nothing else does.

        A page is stored under the URL it was found at in the end. One that `read` raises FileSkipped for is reported,
        and kept if it is in the index, unless `prune`. Each page is written in one step. `embed` as for `sync`.
        """
        from local_rag.index.sync.pages import PageSync

        self._check()
        report = PageSync(self._store, self.embedder, self._settings, self._locked).run(urls, read, prune=prune)
        with suppress(IndexBusy), self._locked():  # the pages are stored; the process that writes now does the rest
            report = self._concluded(report, progress, embed)
        return report

    def sync_texts(
        self,
        texts: Sequence[tuple[str, LoadedDocument]],
        *,
        whole: bool = False,
        progress: Callable[[Progress], None] | None = None,
        embed: bool = True,
    ) -> SyncReport:
        """Take in texts that are no files, each under a name (its `source`); what is not among them stays.

        `whole` makes one passage of each, whose vector is that of its beginning: how test collections are measured.
        `embed` as for `sync`.
        """
        from local_rag.index.sync.pages import sync_texts

        with self._locked():
            report = sync_texts(self._store, self.embedder, self._settings, texts, whole, progress)
            return self._concluded(report, progress, embed)

    def embed(self, progress: Callable[[Progress], None] | None = None) -> int:
        """Give a vector to every passage that has none; how many got one.

        Those of the newest files come first. Each batch of some seconds is committed; any process may search meanwhile.
        Raises IndexMismatch for another embedder.
        """
        with self._locked():
            return self._embedded(progress)

    def read_scans(
        self,
        report: SyncReport = NOTHING_CHANGED,
        languages: Sequence[str] = (),
        progress: Callable[[Progress], None] = lambda told: None,
    ) -> SyncReport:
        """Read the pages that wait for OCR, each in one step; the report of the sync before it, with what came of them.

        `languages` are those of tesseract, none for rapidocr. Their passages have no vector until `embed`.
        """
        from local_rag.index.sync.scans import read_scans

        with self._locked():
            return read_scans(self._store, self.embedder, self._settings, report, languages, progress)

    def reembed(self, progress: Callable[[Progress], None] | None = None) -> int:
        """Make the full text anew, and every vector with this embedder; the number of passages embedded.

        Where this embedder made the index, only vectors that are none, or are missing, are made. Until a passage has
        its new vector it is found by its words; an interrupted run goes on with `embed`. Raises IndexMismatch if the
        chunking differs, or if a passage is longer than this embedder reads.
        """
        from local_rag.index.sync.embed import prepare_reembedding

        with self._store.locked(alone=True):
            made = self._store.read(reads.settings)
            if (made.size, made.overlap) != (self._settings.size, self._settings.overlap):
                self._check()
            prepare_reembedding(self._store, self.embedder, made, self._settings)
            return self._embedded(progress)

    def remove(self, paths: Sequence[Path | str], *, missing_ok: bool = False) -> tuple[str, ...]:
        """Forget files, whole folders with their roots, and pages (URLs); gives what of it was in the index.

        Files below a root that stays come back with its next sync. Raises UsageError for a path that is not indexed,
        unless `missing_ok`.
        """
        from local_rag.index.sync.roots import remove

        with self._store.locked():
            removed = remove(self._store, paths, missing_ok=missing_ok)
            self._store.forget()
            return removed

    def keep_out(self, paths: Sequence[Path]) -> list[str]:
        """Exclude files and folders from the indexed folders above them, until `no_excludes`; the new patterns.

        What is indexed of them goes with the next sync, or with `remove`.
        """
        from local_rag.index.sync.roots import keep_out

        with self._store.locked():
            return keep_out(self._store, paths)

    def set_about(self, about: str) -> None:
        """Keep what a person says of the index, or "" for nothing. Raises UsageError for a long text."""
        with self._store.locked():
            catalogs.set_about(self._store, about)

    def _concluded(self, report: SyncReport, progress: Callable[[Progress], None] | None, embed: bool) -> SyncReport:
        """The report once no byte of what was removed is left, and the second phase has ended."""
        began = time.monotonic()
        self._store.forget()
        new = self._embedded(progress) if embed else 0
        if not embed:
            self._store.refresh()
        embedded, chunks = self.embedded_count()
        seconds = report.seconds + time.monotonic() - began
        scans = sum(len(file.scans) for file in self._store.read(reads.scanned))
        return replace(report, embedded=new, not_embedded=chunks - embedded, seconds=seconds, scans=scans)

    def _embedded(self, progress: Callable[[Progress], None] | None) -> int:
        from local_rag.index.sync.embed import Embedding

        count = Embedding(self._store, self.embedder, progress).run()
        self._store.replaced_earlier()
        return count

    @contextmanager
    def _locked(self, roots: Collection[str] = ()) -> Iterator[None]:
        with self._store.locked(roots):
            self._check()
            yield

    def _check(self) -> None:
        self._store.read(checks.check_settings, self.path, self._settings)
