"""Let a program change the index of a Rag: bring it up to date, add and remove documents."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.core.progress import Display, Silent
from local_rag.runtime.indexing import Request, index_files
from local_rag.runtime.opening import PYTHON_DOCS, open_index

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.documents import SyncReport
    from local_rag.core.protocols import Corpus, OwnEmbedder
    from local_rag.index.index import Index
    from local_rag.index.joint import JointIndex


class IndexUpdates:
    """Change the index of a Rag; questions go on meanwhile, and the next one uses the changed index.

    Every method raises UsageError for a Rag of several indexes or of a corpus, IndexBusy while another process writes,
    and DiskFull.
    """

    settings: Settings
    corpus: Corpus
    folders: tuple[str, ...]
    embedder: OwnEmbedder | None

    @property
    def index(self) -> Index | JointIndex:
        """Return the index of the Rag, or several as one; raise UsageError for a corpus of a program."""
        from local_rag.index.index import Index
        from local_rag.index.joint import JointIndex

        if isinstance(self.corpus, Index | JointIndex):
            return self.corpus
        raise UsageError("a corpus of a program is asked, and no index", hint="rag.corpus is what was given")

    def sync(self, *paths: str | Path, display: Display | None = None) -> SyncReport:
        """Update the index with new and changed files of the indexed folders, or of `paths`.

        `paths` are indexed from now on. Documents of `add` stay. Raise UsageError for a path that does not exist.
        """
        self._check_own()
        return index_files(self.settings, Request([*map(Path, paths)]), display or Silent())[0]

    def add(self, documents: Iterable[Document]) -> SyncReport:
        """Add LangChain documents; each replaces the document that was added under its `id` before.

        A document is cited as `document://ID`, or as its id if that is a URL. `title`, `author`, `date` and `keywords`
        of its metadata are used. Raise UsageError for a document without an id or without text.
        """
        from local_rag.index.langchain import text_of

        texts = dict(map(text_of, documents))
        with self._writing() as index:
            return index.sync_texts([*texts.items()])

    def remove(self, *names: str | Path) -> tuple[str, ...]:
        """Remove documents by id, and files and folders, which no later `sync` adds again; return the removed ones.

        An indexed folder that is named in `sync` is indexed again. Raise UsageError for something that is not in the
        index.
        """
        from local_rag.index.langchain import source_of
        from local_rag.index.sync.roots import real_path

        with self._writing() as index:
            known = {*index.store.paths()}
            roots = {root.path for root in index.store.roots()}
            chosen = [source if (source := source_of(str(name))) in known else Path(name) for name in names]
            removed = index.remove(chosen)
            index.keep_out([path for path in chosen if isinstance(path, Path) and str(real_path(path)) not in roots])
            return removed

    def _writing(self) -> Index:
        self._check_own()
        return open_index(self.settings, self.embedder)

    def _check_own(self) -> None:
        if self.folders != (*self.settings.folders[:1],):
            raise UsageError(
                "only a Rag of one index can change it, not one of several or of a corpus", hint=PYTHON_DOCS
            )
