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


def take_over(store: Store, observed: Moves) -> tuple[Moved, ...]:
    """Let what has moved go on where it is now; what of it, in folders.

    A file that nearly all of its root has moved without stays, unless a file lies in its new place: that is the same
    one, edited on the way. A root of which no file is left is forgotten.
    """
    roots = store.read(reads.roots)
    by_path = {root.path for root in roots}
    known = {file.path: file for file in store.read(reads.files)}
    places = {old: new for old, new in observed.roots.items() if nearest(new, by_path)}
    files = dict(observed.files)
    taken = known.keys() | {row.path for row in files.values()}
    for path, file in known.items():
        if file.root in places and path not in files and Path(path).is_relative_to(file.root):
            new = str(Path(places[file.root], Path(path).relative_to(file.root)))
            if new not in taken and os.path.lexists(new):
                files[path] = replace(file, path=new, root=nearest(new, by_path), mtime_ns=0)  # it is read again
                taken.add(new)
    moved = named(files, by_path)
    folders = [
        (way.old, way.new) for way in moved if way.old not in files and nearest(way.new, by_path) and is_gone(way.old)
    ]
    roots_left = {file.root for path, file in known.items() if path not in files}
    emptied = [root for root in {known[path].root for path in files} if root not in roots_left and is_gone(root)]
    _write(store, files, [*places.items(), *folders], emptied)
    return moved


def move(store: Store, old: Path, new: Path) -> tuple[Moved, ...]:
    """Let everything that is indexed at and below a path go on at another one; no file is read.

    A file that is moved to a folder lies in it under its name, as with mv. Where a file is indexed at its new place
    already, that one stays, and is what the other was. Raises UsageError where nothing is indexed there, where it is
    still there, and where nothing of it lies at the new place.
    """
    roots = store.read(reads.roots)
    known = {file.path: file for file in store.read(reads.files)}
    before, after = _indexed(old, [*known, *(root.path for root in roots)]), str(new.expanduser().resolve())
    if before in known and before != after and Path(after).is_dir():
        after = str(Path(after, Path(before).name))
    below = {path: file for path, file in known.items() if Path(path).is_relative_to(before)}
    moved_roots = [root.path for root in roots if Path(root.path).is_relative_to(before)]
    if not (below or moved_roots):
        raise UsageError(f"{before} is not in the index", hint="local-rag files")
    _must_be_another(before, after, is_file=before in known)
    places = {path: str(Path(after, Path(path).relative_to(before))) for path in below}
    if left := [path for path, place in places.items() if os.path.lexists(path) and not _are_same_file(path, place)]:
        raise UsageError(f"{left[0]} is still there", hint="local-rag index")
    if places and not any(map(os.path.lexists, places.values())):
        raise UsageError(
            f"none of the {len(places):,} files that are indexed from {before} lies in {after}",
            hint=f"{_hint(before)}, the folder that holds them now",
        )
    roots_then = {root.path for root in roots} - {*moved_roots} | {root.path for root in carried(before, after, roots)}
    taken = known.keys() - below.keys()
    files = {
        path: replace(file, path=place, root=nearest(place, roots_then) or after)
        for path, file in below.items()
        if (place := places[path]) not in taken
    }
    with store.writing() as db:
        relocation.merge(db, [(path, places[path]) for path in below if path not in files])
    _write(store, files, [(before, after)], moved_roots)
    return (Moved(before, after, len(below)),)


def _must_be_another(before: str, after: str, *, is_file: bool) -> None:
    """Raises UsageError unless something of the same kind, a file or a folder, lies at another path."""
    if before == after:
        raise UsageError(f"{before} is both the old and the new path", hint=_hint(before))
    if not Path(after).exists():
        raise UsageError(f"there is no file or folder {after}", hint=_hint(before))
    if Path(after).is_dir() == is_file:
        kinds = ("file", "folder") if is_file else ("folder", "file")
        raise UsageError(f"{before} is a {kinds[0]} of the index, and {after} a {kinds[1]}", hint=_hint(before))


def _are_same_file(path: str, other: str) -> bool:
    """Whether both paths lead to the same file."""
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)  # noqa: PTH110, PTH121


def _indexed(path: Path, indexed: Sequence[str]) -> str:
    """A path as it is indexed: links above it are followed, unless it is known by a link that was put there later."""
    absolute = path.expanduser().absolute()
    resolved = absolute.resolve() if absolute.name == ".." else absolute.parent.resolve() / absolute.name
    candidates = (resolved, Path(os.path.normpath(absolute)))
    matches = (each for each in candidates if any(Path(file).is_relative_to(each) for file in indexed))
    return str(next(matches, resolved))


def _hint(old: str) -> str:
    return f"local-rag index --moved {shlex.quote(old)} NEW"


def _write(store: Store, files: Mapping[str, FileRow], folders: Sequence[tuple[str, str]], left: Sequence[str]) -> None:
    """Write the new rows of files, by their old paths, and the roots that change with folders; `left` are forgotten.

    A folder may have gone to several places: what it excluded is excluded at each of them.
    """
    by_old = dict(reversed(folders))
    reported = {(_moved(path, by_old), reason) for path, reason in store.read(reads.reported)}
    failures = [each for each in store.read(reads.failures).values() if nearest(each.path, by_old)]
    roots = {root.path: root for root in store.read(reads.roots)}
    for old, new in dict.fromkeys(folders):
        roots |= {root.path: root for root in carried(old, new, list(roots.values()))}
    with store.writing() as db:
        relocation.relocate(db, list(files.items()))
        writes.set_roots(db, [root for path, root in roots.items() if path not in left])
        writes.forget_roots(db, left)
        writes.set_reported(db, reported)
        writes.forget_failures(db, [failure.path for failure in failures])
        writes.set_failures(db, [replace(failure, path=_moved(failure.path, by_old)) for failure in failures])


def _moved(path: str, folders: Mapping[str, str]) -> str:
    old = nearest(path, folders)
    return str(Path(folders[old], Path(path).relative_to(old))) if old else path


def as_remembered(roots: Sequence[Root], store: Store) -> list[Root]:
    """These roots as they are remembered now, without those that are forgotten."""
    known = {root.path: root for root in store.read(reads.roots)}
    return [known[root.path] for root in roots if root.path in known]
