"""Open the fallback corpus of the settings, which is an index, or a folder that gets an index in the data folder.

The index of a folder is brought up to date whenever it is opened, and contains only what is in the folder now.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config.server_index import IndexAddress
from local_rag.config.settings import Settings, is_same, name_of
from local_rag.core.errors import IndexMismatch, UsageError
from local_rag.index.store.opening import has_index
from local_rag.runtime.watching import changes
from local_rag.text.display import home_path

if TYPE_CHECKING:
    from local_rag.core.documents import SyncReport
    from local_rag.core.progress import Display
    from local_rag.core.protocols import Embedder
    from local_rag.web.search import FallbackCorpus

FOLDER = "fallback-corpora"
"""The folder below the data folder with an index for each folder that was ever a fallback corpus."""


def open_fallback_corpus(settings: Settings, embedder: Embedder, display: Display) -> FallbackCorpus:
    """Open the corpus of `web.source`; a folder is first indexed as far as needed, and progress is shown.

    Raise UsageError for a source that is neither a folder nor an index, is empty, or is the index that the question
    searches, IndexMismatch for an index of another embedder, IndexBusy, DiskFull and KeyboardInterrupt. What is indexed
    by then is kept.
    """
    path, is_index = place(settings)
    if is_index or not isinstance(path, Path):
        return _of_index(settings, path, embedder)
    return _of_folder(settings, path, embedder, display)


def place(settings: Settings) -> tuple[IndexAddress, bool]:
    """Return the address of the source, and whether it is an index; a name without a path is an index if there is one.

    Raise UsageError for a source that is neither an index nor a folder.
    """
    source = settings.values.web.source
    folder = Path(source).expanduser().absolute()
    try:
        index = settings.path_of(source)
    except UsageError:  # not the name of an index, so it can only be a folder
        index = folder
    if has_index(index):
        return index, True
    if folder.is_dir():
        return folder, False
    what = "is a file" if folder.exists() else "is neither a folder nor an index"
    raise UsageError(
        f"the fallback corpus {source} {what} ({settings.origin['web.source']})",
        hint='local-rag ask … --web-from ""   asks without it; it takes a folder, or the NAME of an index',
    )


def _of_index(settings: Settings, path: IndexAddress, embedder: Embedder) -> FallbackCorpus:
    from local_rag.index.index import Index
    from local_rag.web.search import FallbackCorpus

    if any(is_same(path, asked) for asked in settings.index_paths.values()):
        raise UsageError(
            f"the fallback corpus is the index that is asked, {home_path(path)}",
            hint="another index or a folder: local-rag ask … --web-from FOLDER|INDEX",
        )
    try:
        index = Index.open(path, embedder, chunk_size=None, chunk_overlap=None)
    except IndexMismatch as error:
        raise IndexMismatch(f"the fallback corpus cannot be searched: {error}", hint=error.hint) from error
    if not index.count():
        index.close()
        hint = f"local-rag index FOLDER --index {shlex.quote(settings.values.web.source)}"
        raise UsageError(f"the fallback corpus {home_path(path)} is an empty index", hint=hint)
    return FallbackCorpus(index, name_of(path, settings.data_folder))


def _of_folder(settings: Settings, folder: Path, embedder: Embedder, display: Display) -> FallbackCorpus:
    from local_rag.index.index import Index
    from local_rag.index.parse.loaders import READABLE
    from local_rag.runtime.indexing import stoppable, sync_progress
    from local_rag.web.search import FallbackCorpus

    def work() -> SyncReport:
        with sync_progress(display) as progress:
            return index.sync([folder], prune=True, progress=progress)  # prune, so that deleted pages leave the index

    folder = folder.resolve()
    index = Index.open(index_of_folder(settings, folder, embedder), embedder, create=True)
    try:
        if changed := changes(stoppable(work, display)):
            display.say(f"fallback corpus {home_path(folder)}: {changed}")
    except BaseException:
        index.close()
        raise
    if not index.count():
        index.close()
        Index.destroy(index.path)
        raise UsageError(f"nothing in the fallback corpus {home_path(folder)} can be read", hint=f"it reads {READABLE}")
    return FallbackCorpus(index, str(folder))


def index_of_folder(settings: Settings, folder: Path, embedder: Embedder) -> Path:
    """Return the address of a folder's index, which depends on the embedder."""
    key = hashlib.sha256(f"{folder}\0{embedder.fingerprint}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return settings.data_folder / FOLDER / key
