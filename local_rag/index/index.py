"""The index: files and chosen pages of the web, searchable; the one class for those who search, list and change it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.documents import LoadedDocument, SyncReport
from local_rag.core.errors import IndexBusy
from local_rag.index import catalog as catalogs
from local_rag.index.prepare import chunks_of
from local_rag.index.reader import Reader
from local_rag.index.sync.report import Tell, silent

if TYPE_CHECKING:
    from local_rag.index.parse.loaders import Loader
    from local_rag.index.sync.pages import ReadPage
    from local_rag.text.chunking import Chunk

NOTHING_CHANGED = SyncReport()


class Index(Reader):
    """One index that is searched and changed. Methods that change it raise IndexBusy, DiskFull and Stopped; what was
    committed by then stays.
    """

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
        progress: Tell = silent,
        embed: bool = True,
    ) -> SyncReport:
        """Index what is new or changed below `paths`, and forget what is gone from there.

        Texts come first: from then on they are searched by their words. Then every passage without a vector gets one,
        unless `embed` is False: see `embed`.

        `paths` are remembered with these options; without them all remembered ones are synced, with the options on top
        of their own. `excludes` (patterns of .gitignore) add up; `no_excludes` takes them back. `secrets` holds for
        `paths` until they are named again, `follow_links` (out of a path) until it is given again. What could not be
        seen is kept, unless `prune`. `retry` reads again what could not be read, which otherwise waits until its
        content or the parser changes; `loaders`, functions at the top of a module, read a suffix; `parse.ocr.READERS`
        take images in, which wait for `read_scans` as pages without a text layer do. Raises UsageError for a path or a
        pattern that says nothing.
        """
        from local_rag.index.sync.roots import WalkOptions, real_path, remember_roots
        from local_rag.index.sync.text import TextSync

        named = [str(real_path(path)) for path in paths] if paths else [root.path for root in self.store.roots()]
        with self._locked(named):
            taken = secrets or (False if paths else None)
            options = WalkOptions(excludes, no_excludes, taken, follow_links)
            roots = remember_roots(self.store, paths or (), options)
            sync = TextSync(self.store, self._chunks_of, progress, retry=retry, loaders=loaders)
            report = sync.run(roots, prune=prune)
            if prune:
                with self.store.writing():
                    self.store.forget_roots([root.path for root in roots if not Path(root.path).exists()])
            return self._concluded(report, progress, embed)

    def sync_pages(
        self,
        urls: Iterable[str],
        read: ReadPage,
        *,
        prune: bool = False,
        embed: bool = True,
    ) -> SyncReport:
        """Index pages of the web that are new or changed; `read` fetches each of them, and nothing else does.

        A page is stored under the URL it was found at in the end. One that `read` raises FileSkipped for is reported,
        and kept if it is in the index, unless `prune`. Each page is written in one step. `embed` as for `sync`.
        """
        from local_rag.index.sync.pages import PageSync

        self._check()
        report = PageSync(self.store, self._chunks_of, self._locked).run(urls, read, prune=prune)
        with suppress(IndexBusy), self._locked():  # the pages are stored; the process that writes now does the rest
            report = self._concluded(report, silent, embed)
        return report

    def sync_texts(
        self,
        texts: Sequence[tuple[str, LoadedDocument]],
        *,
        whole: bool = False,
        progress: Tell = silent,
        embed: bool = True,
    ) -> SyncReport:
        """Index texts that are no files, each under a name (its `source`); texts that are not given stay as they are.

        `whole` makes one passage of each, whose vector is that of its beginning, as test collections are measured.
        `embed` as for `sync`.
        """
        from local_rag.index.sync.pages import one_chunk, sync_texts

        with self._locked():
            report = sync_texts(self.store, one_chunk if whole else self._chunks_of, texts, progress)
            return self._concluded(report, progress, embed)

    def embed(self, progress: Tell = silent) -> int:
        """Embed every passage without a vector, and return how many got one.

        Those of the newest files come first. Each batch of some seconds is committed; any process may search meanwhile.
        Raises IndexMismatch for another embedder.
        """
        with self._locked():
            return self._embedded(progress)

    def read_scans(
        self,
        report: SyncReport = NOTHING_CHANGED,
        languages: Sequence[str] = (),
        progress: Tell = silent,
    ) -> SyncReport:
        """Read the pages that wait for OCR, each in one step, and return the report of the sync before it with what
        came of them.

        `languages` are those of tesseract, none for rapidocr. Their passages have no vector until `embed`.
        """
        from local_rag.index.sync.scans import read_scans

        with self._locked():
            return read_scans(self.store, self._chunks_of, report, languages, progress)

    def reembed(self, progress: Tell = silent) -> int:
        """Make the full text again, and every vector with this embedder; return the number of passages embedded.

        Where this embedder made the index, only vectors that are unusable or missing are made. Until a passage has its
        new vector it is found by its words; an interrupted run goes on with `embed`. Raises IndexMismatch if the
        chunking differs, or if a passage is longer than this embedder reads.
        """
        from local_rag.index.sync.embed import prepare_reembedding

        with self.store.locked(alone=True):
            made = self.store.settings()
            if (made.size, made.overlap) != (self._settings.size, self._settings.overlap):
                self._check()
            prepare_reembedding(self.store, self.embedder, made, self._settings)
            return self._embedded(progress)

    def remove(self, paths: Sequence[Path | str], *, missing_ok: bool = False) -> tuple[str, ...]:
        """Forget files, whole folders with their roots, and pages (URLs), and return the files of them that were
        indexed.

        Files below a root that stays come back with its next sync. Raises UsageError for a path that is not indexed,
        unless `missing_ok`.
        """
        from local_rag.index.sync.roots import remove

        with self.store.locked():
            removed = remove(self.store, paths, missing_ok=missing_ok)
            self.store.forget()
            return removed

    def keep_out(self, paths: Sequence[Path]) -> list[str]:
        """Exclude files and folders from the indexed folders above them, until `no_excludes`, and return the new
        patterns.

        Their indexed files go with the next sync, or with `remove`.
        """
        from local_rag.index.sync.roots import keep_out

        with self.store.locked():
            return keep_out(self.store, paths)

    def unread_language(self, reads: Callable[[str], bool]) -> str:
        """Return the code of the language of most documents that the embedder does not read; once, and "" from then
        on.
        """
        with self.store.locked():
            return catalogs.unread_language(self.store, reads, self._settings.embedder)

    def set_about(self, about: str) -> None:
        """Store a person's description of the index, "" for none. Raises UsageError for a long text."""
        with self.store.locked():
            catalogs.set_about(self.store, about)

    def _concluded(self, report: SyncReport, progress: Tell, embed: bool) -> SyncReport:
        """Erase what was removed, run the second phase where `embed` is set, and return the report with what came of
        it.
        """
        began = time.monotonic()
        self.store.forget()
        new = self._embedded(progress) if embed else 0
        if not embed:
            self.store.refresh()
        counts = self.store.counts()
        seconds = report.seconds + time.monotonic() - began
        scans = sum(len(file.scans) for file in self.store.scanned())
        report = replace(report, documents=counts.documents, dated=counts.dated, scans=scans, seconds=seconds)
        return replace(report, embedded=new, not_embedded=counts.chunks - counts.embedded)

    def _chunks_of(self, document: LoadedDocument) -> list[Chunk]:
        return chunks_of(document, self.embedder, self._settings)

    def _embedded(self, progress: Tell) -> int:
        from local_rag.index.sync.embed import embed_pending

        return embed_pending(self.store, self.embedder.embed_documents, progress)

    @contextmanager
    def _locked(self, roots: Collection[str] = ()) -> Iterator[None]:
        with self.store.locked(roots):
            self._check()
            yield
