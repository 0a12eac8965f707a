"""How an index changes: its files, pages, texts and vectors brought up to date, taken out, made anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument, SyncReport
from local_rag.core.errors import IndexBusy, UsageError
from local_rag.core.protocols import Embedder
from local_rag.index import outline, recipes
from local_rag.index.store import embedded, reads, writes
from local_rag.index.store.schema import Recipe, Root
from local_rag.index.store.store import Store

if TYPE_CHECKING:
    from local_rag.index.parse.loaders import Loader
    from local_rag.index.parse.passwords import Passwords
    from local_rag.index.sync.pages import ReadPage
    from local_rag.index.sync.report import Progress


class Changes:
    """The methods of `Index` that change it; one process and thread at a time does."""

    def __init__(self, store: Store, embedder: Embedder, recipe: Recipe) -> None:
        self.embedder = embedder
        self._store, self._recipe = store, recipe

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
        embed: bool = True,
    ) -> SyncReport:
        """Take in what is new or changed below `paths`, and forget what is gone from there.

        Texts come first: from then on they are searched by their words. Then every passage without a vector gets one,
        unless `embed` is False: see `embed`.

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
            return self._concluded(report, progress, embed)

    def embed(self, progress: Callable[[Progress], None] | None = None) -> int:
        """Give a vector to every passage that has none, and to every header; how many of the passages had none.

        Passages that questions matched by their words come first, then the newest files. Each batch of some seconds is
        committed; any process may search meanwhile. Raises IndexBusy, IndexMismatch for another embedder, DiskFull, and
        Stopped; what was committed stays.
        """
        with self._locked():
            return self._embedded(progress)

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
        and kept if it is in the index, unless `prune`. Raises IndexBusy, DiskFull, and Stopped; each page is written
        in one step. `embed` as for `sync`.
        """
        from local_rag.index.sync.pages import PageSync

        self._check()
        report = PageSync(self._store, self.embedder, self._recipe, self._locked).run(urls, read, prune=prune)
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
        Raises IndexBusy, DiskFull, and Stopped; what was committed stays.
        """
        from local_rag.index.sync.texts import TextSync

        with self._locked():
            report = TextSync(self._store, self.embedder, self._recipe, whole, progress).run(texts)
            return self._concluded(report, progress, embed)

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

    def move(self, old: Path, new: Path) -> SyncReport:
        """Let what is indexed at and below a path go on at another one, with its roots and what they exclude.

        No file is read, and no passage is embedded: only headers that are new by it wait for their vectors. Raises
        UsageError where nothing of it is indexed, or nothing of it lies at the new place, and IndexBusy.
        """
        from local_rag.index.sync import relocating

        with self._locked():
            moved = relocating.move(self._store, old, new)
            self._settle()
            with_vector, chunks = self.embedded_count()
            return SyncReport(moved=moved, not_embedded=chunks - with_vector)

    def keep_out(self, paths: Sequence[Path]) -> list[str]:
        """Exclude files and folders from the indexed folders above them, until `no_excludes`; the new patterns.

        What is indexed of them goes with the next sync, or with `remove`.
        """
        from local_rag.index.sync import removal

        with self._store.locked():
            return removal.keep_out(self._store, paths)

    def reembed(self, progress: Callable[[Progress], None] | None = None) -> int:
        """Give every passage a vector of this embedder; the number of passages embedded.

        Where another embedder made the index, its vectors answer until all new ones are there; what an interrupted run
        embedded is taken over. Where this one did, the full text is made anew, then the vectors that are none, and
        those that are missing as `embed` does.
        Raises IndexMismatch if the chunking differs, or if a passage is longer than this embedder reads.
        """
        with self._store.locked():
            made = self._store.read(reads.recipe)
            if (made.size, made.overlap) != (self._recipe.size, self._recipe.overlap):
                self._check()
            if made == self._recipe:
                recipes.mend(self._store)
                count = self._embedded(progress)
            else:
                count = recipes.reembed(self._store, self.embedder, self._recipe, progress)
            self._settle()
            return count

    def set_about(self, about: str) -> None:
        """Keep what a person says of the index, or "" for nothing. Raises UsageError for a long text, and IndexBusy."""
        with self._store.locked():
            outline.set_about(self._store, about)

    def _concluded(self, report: SyncReport, progress: Callable[[Progress], None] | None, embed: bool) -> SyncReport:
        """The report once no byte of what was removed is left, and the second phase has ended."""
        from local_rag.index.sync.upgrade import finish

        began = time.monotonic()
        upgraded = report.upgraded + finish(self._store)
        self._store.forget()
        new = 0
        if embed:
            new = self._embedded(progress)
        else:
            self._store.refresh()
        with_vector, chunks = self.embedded_count()
        seconds = report.seconds + time.monotonic() - began
        rest = chunks - with_vector
        return replace(report, upgraded=upgraded, embedded=new, not_embedded=rest, seconds=seconds)

    def _embedded(self, progress: Callable[[Progress], None] | None) -> int:
        from local_rag.index.sync.embedding import Embedding

        try:
            count = Embedding(self._store, self.embedder, progress).run()
        finally:
            if not cancel.current().stopped:  # the next search does without
                self._store.refresh()
        outline.renew_topics(self._store, self._recipe.dimension)
        return count

    def _settle(self) -> None:
        """What a change leaves to do: topics of what is there now, and no byte of what was removed."""
        outline.renew_topics(self._store, self._store.read(reads.recipe).dimension)
        self._store.forget()

    def embedded_count(self) -> tuple[int, int]:
        """How many passages have a vector, and how many there are; the others are matched by their words only."""
        return self._store.read(embedded.counts)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._store.locked():
            self._check()
            yield

    def _check(self) -> None:
        """Raises IndexMismatch unless this embedder and this chunking made the index."""
        recipes.check_same(self._store, self._recipe)
