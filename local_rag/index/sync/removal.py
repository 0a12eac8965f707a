"""Taking files, folders and pages out of an index, for now or for good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from local_rag.core.errors import UsageError
from local_rag.index.store import reads, writes
from local_rag.index.store.store import Store
from local_rag.index.sync.roots import keeping_out
from local_rag.text.urls import is_url, normal


def remove(store: Store, names: Sequence[Path | str], *, missing_ok: bool) -> tuple[str, ...]:
    """Forget files, whole folders with their roots, and pages; gives what of it was in the index.

    Raises UsageError for what is not indexed, unless `missing_ok`.
    """
    files = [file.path for file in store.read(reads.files)]
    roots = [root.path for root in store.read(reads.roots)]
    folders = {name: str(Path(name).expanduser().resolve()) for name in names if not _is_url(name)}
    below = _below([*files, *roots], folders.values())
    gone: set[str] = set()
    for name in names:
        pages = [page.path for page in store.read(reads.pages, (normal(str(name)),))] if _is_url(name) else []
        below_name = below[folders[name]] if name in folders else pages
        if not (below_name or missing_ok):
            raise UsageError(f"{name} is not in the index", hint="local-rag files")
        gone.update(below_name)
    reported = {path for path, _ in store.read(reads.reported)} | set(store.read(reads.failures))
    unread = {path for paths in _below(reported, folders.values()).values() for path in paths}
    if not (gone or unread):
        return ()
    with store.writing() as db:
        writes.remove(db, gone)
        writes.forget_failures(db, unread)
        writes.forget_roots(db, gone)
        writes.forget_reported(db, unread)
    store.refresh()
    return tuple(path for path in files if path in gone)


def keep_out(store: Store, paths: Sequence[Path]) -> list[str]:
    """Exclude files and folders from the indexed folders above them; the new patterns."""
    roots, patterns = keeping_out([path.expanduser().resolve() for path in paths], store.read(reads.roots))
    if roots:
        with store.writing() as db:
            writes.set_roots(db, roots)
    return patterns


def _is_url(name: Path | str) -> bool:
    return isinstance(name, str) and is_url(name)


def _below(paths: Iterable[str], folders: Iterable[str]) -> dict[str, list[str]]:
    """For each folder the paths that are the folder or lie below it."""
    below: dict[str, list[str]] = {folder: [] for folder in folders}
    for path in paths:
        for above in (path, *map(str, Path(path).parents)):
            if above in below:
                below[above].append(path)
    return below
