"""Moves as an index takes them over: files and roots under new paths, with what was excluded and reported there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from local_rag.core.documents import Moved
from local_rag.core.errors import UsageError
from local_rag.index.store import reads, relocation, writes
from local_rag.index.store.schema import FileRow, Root
from local_rag.index.store.store import Store
from local_rag.index.sync.moves import Moves, is_gone, named
from local_rag.index.sync.roots import carried, nearest


def take_over(store: Store, found: Moves) -> tuple[Moved, ...]:
    """Let what has moved go on where it is now; what of it, in folders.

    A file that nearly all of its root has moved without stays, unless a file lies in its new place: that is the same
    one, edited on the way. A root of which no file is left is forgotten.
    """
    roots = store.read(reads.roots)
    by_path = {root.path for root in roots}
    known = {file.path: file for file in store.read(reads.files)}
    places = {old: new for old, new in found.roots.items() if nearest(new, by_path)}
    files = dict(found.files)
    for path, file in known.items():
        if file.root in places and path not in files and Path(path).is_relative_to(file.root):
            new = str(Path(places[file.root], Path(path).relative_to(file.root)))
            if new not in known and os.path.lexists(new):
                files[path] = replace(file, path=new, root=nearest(new, by_path), mtime_ns=0)  # it is read again
    moved = named(files)
    folders = places | {way.old: way.new for way in moved if way.files > 1 and way.old not in by_path}
    roots_left = {file.root for path, file in known.items() if path not in files}
    emptied = [root for root in {known[path].root for path in files} if root not in roots_left and is_gone(root)]
    _write(store, files, {old: new for old, new in folders.items() if is_gone(old)}, emptied)
    return moved


def move(store: Store, old: str, new: str) -> tuple[Moved, ...]:
    """Let everything that is indexed at and below an absolute path go on at another one; no file is read.

    Raises UsageError where nothing is indexed there, and where nothing of it lies at the new place.
    """
    roots = store.read(reads.roots)
    known = {file.path: file for file in store.read(reads.files)}
    below = {path: file for path, file in known.items() if Path(path).is_relative_to(old)}
    moved_roots = [root.path for root in roots if Path(root.path).is_relative_to(old)]
    if not (below or moved_roots):
        raise UsageError(f"{old} is not in the index", hint="local-rag files")
    if old == new or not Path(new).exists():
        raise UsageError(f"there is no file or folder {new}", hint=f"local-rag index --moved {shlex.quote(old)} NEW")
    places = {path: str(Path(new, Path(path).relative_to(old))) for path in below}
    if places and not any(map(os.path.lexists, places.values())):
        raise UsageError(
            f"none of the {len(places):,} files that are indexed from {old} lies in {new}",
            hint=f"local-rag index --moved {shlex.quote(old)} NEW, the folder that holds them now",
        )
    after = {root.path for root in roots} - {*moved_roots} | {root.path for root in carried(old, new, roots)}
    taken = known.keys() - below.keys()
    files = {
        path: replace(file, path=place, root=nearest(place, after) or new)
        for path, file in below.items()
        if (place := places[path]) not in taken
    }
    with store.writing() as db:  # two rows for one file: that of its new place is the later one
        writes.remove(db, [path for path in below if path not in files])
    _write(store, files, {old: new}, moved_roots)
    return (Moved(old, new, len(below)),)


def _write(store: Store, files: Mapping[str, FileRow], folders: Mapping[str, str], left: Sequence[str]) -> None:
    """Write the new rows of files, by their old paths, and the roots that change with folders; `left` are forgotten."""
    reported = {(_moved(path, folders), reason) for path, reason in store.read(reads.reported)}
    failures = [each for each in store.read(reads.failures).values() if nearest(each.path, folders)]
    roots = {root.path: root for root in store.read(reads.roots)}
    for old, new in folders.items():
        roots |= {root.path: root for root in carried(old, new, list(roots.values()))}
    with store.writing() as db:
        relocation.relocate(db, list(files.items()))
        writes.set_roots(db, [root for path, root in roots.items() if path not in left])
        writes.forget_roots(db, left)
        writes.set_reported(db, reported)
        writes.forget_failures(db, [failure.path for failure in failures])
        writes.set_failures(db, [replace(failure, path=_moved(failure.path, folders)) for failure in failures])


def _moved(path: str, folders: Mapping[str, str]) -> str:
    old = nearest(path, folders)
    return str(Path(folders[old], Path(path).relative_to(old))) if old else path


def as_remembered(roots: Sequence[Root], store: Store) -> list[Root]:
    """These roots as they are remembered now, without those that are forgotten."""
    known = {root.path: root for root in store.read(reads.roots)}
    return [known[root.path] for root in roots if root.path in known]
