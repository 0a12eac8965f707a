"""Which of the files that are gone lie somewhere else now, by their contents; and folders that have moved with them.

A file that its folder no longer holds has moved if a new file has its SHA-256. A root that is gone as a whole may be a
disk that is not mounted: it counts as moved only if nearly all of its files are at another place with the same content,
so whatever it held still answers, from there.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.documents import Moved
from local_rag.core.errors import FileSkipped
from local_rag.index.store.schema import FileRow
from local_rag.index.sync.read_files import fingerprinted
from local_rag.index.sync.walked import Walk
from local_rag.text.urls import is_page

NEARLY_ALL = 0.9
"""The share of a vanished root's files that must be at another place: one that was edited on the way is another."""


@dataclass(frozen=True)
class Moves:
    """`files` are the rows of files that have moved, by their old paths, as they are at their new ones.

    `roots` are roots of which nothing is left in their place, each with where nearly all of it is now.
    """

    files: Mapping[str, FileRow] = field(default_factory=dict)
    roots: Mapping[str, str] = field(default_factory=dict)


def moves(walked: Walk, known: Mapping[str, FileRow]) -> Moves:
    """What has moved among the files that were walked and those that are known. Raises Stopped.

    New files are read as far as a file of their size is gone.
    """
    missing = [file for path, file in known.items() if path not in walked.files and not is_page(path)]
    new = {path: root for path, root in walked.files.items() if path not in known} if missing else {}
    sizes = {path: size for path in new if (size := _size(path))}
    known_sizes = set(sizes.values())
    gone = [file for file in missing if file.size in known_sizes and is_gone(file.path)]
    if not gone:
        return Moves()
    by_content = _by_content(new, sizes, {file.size for file in gone})
    pairs = dict(paired(gone, by_content))
    vanished = _vanished(known, pairs)
    kept = {old: row for old, row in pairs.items() if vanished.get(known[old].root, True)}
    roots = {root: place for root, moved in vanished.items() if moved and (place := _place(root, kept))}
    return Moves(kept, roots)


def is_gone(path: str) -> bool:
    """Whether there is certainly nothing under a path; what may not be looked at may still be there."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0


def _by_content(new: Mapping[str, str], sizes: Mapping[str, int], wanted: Collection[int]) -> dict[str, list[FileRow]]:
    """The new files of one of these sizes, by their SHA-256."""
    rows: dict[str, list[FileRow]] = defaultdict(list)
    for path, size in sizes.items():
        if size in wanted:
            cancel.check()
            try:
                row = fingerprinted(path, new[path])
            except (OSError, FileSkipped):  # whoever takes it in says so
                continue
            rows[row.sha256].append(row)
    return rows


def paired(gone: Iterable[FileRow], by_content: Mapping[str, list[FileRow]]) -> Iterator[tuple[str, FileRow]]:
    """Each file with the new one that it is now."""
    equal: dict[str, list[str]] = defaultdict(list)
    for file in gone:
        equal[file.sha256].append(file.path)
    for content, paths in equal.items():
        yield from _matched(paths, by_content.get(content, ()))


def _matched(old: Iterable[str], new: Iterable[FileRow]) -> Iterator[tuple[str, FileRow]]:
    """Equal files, each with that whose path has the longest end in common with its own, the others in their order."""
    left = {path: Path(path).parts for path in old}
    rows = {row.path: (row, Path(row.path).parts) for row in new}
    for length in range(max(map(len, left.values()), default=0), 0, -1):
        cancel.check()
        ends: dict[tuple[str, ...], list[FileRow]] = defaultdict(list)
        for row, parts in reversed(rows.values()):
            if len(parts) >= length:
                ends[parts[-length:]].append(row)
        for path, parts in list(left.items()):
            if len(parts) >= length and (candidates := ends.get(parts[-length:])):
                row = candidates.pop()
                del left[path], rows[row.path]
                yield path, row
    yield from zip(left, [row for row, _ in rows.values()], strict=False)


def _vanished(known: Mapping[str, FileRow], pairs: Mapping[str, FileRow]) -> dict[str, bool]:
    """The roots of these files of which nothing is there any more, and whether nearly all of each is elsewhere."""
    files: dict[str, list[str]] = defaultdict(list)
    concerned = {known[old].root for old in pairs}
    for path, file in known.items():
        if file.root in concerned:
            files[file.root].append(path)
    vanished = {}
    for root, paths in files.items():
        if is_gone(root) or all(map(is_gone, paths)):
            vanished[root] = sum(path in pairs for path in paths) >= NEARLY_ALL * len(paths)
    return vanished


def _place(root: str, pairs: Mapping[str, FileRow]) -> str:
    """Where a root is now: the place at which most of its files lie as they lay below it, "" if there is none."""
    places: Counter[str] = Counter()
    below = 0
    for old, row in pairs.items():
        if old == root or Path(old).is_relative_to(root):
            below += 1
            if place := without_end(row.path, str(Path(old).relative_to(root))):
                places[place] += 1
    place, count = places.most_common(1)[0] if places else ("", 0)
    return place if 2 * count > below else ""


def without_end(path: str, end: str) -> str:
    """A path without the parts at its end, "" if it ends otherwise; with "." for no parts it stays whole."""
    ending = Path(end).parts
    parts = Path(path).parts
    if len(parts) <= len(ending) or parts[len(parts) - len(ending) :] != ending:
        return ""
    return str(Path(*parts[: len(parts) - len(ending)]))


def named(files: Mapping[str, FileRow], roots: Collection[str]) -> tuple[Moved, ...]:
    """Files that have moved, by the folders that went with them: (notes -> archive/notes, 120 files).

    A folder of which nothing is left in its place is named even for one file; one that is still there, for several
    files that went the same way. A file that went alone is named itself.
    """
    gone = cache(is_gone)
    ways: dict[tuple[str, str], list[str]] = defaultdict(list)
    for old, row in files.items():
        ways[_way(old, row, roots, gone)].append(old)
    out: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for old, new in [way for way in ways if way[0] in files]:
        if Path(old).name == Path(new).name:
            out[str(Path(old).parent), str(Path(new).parent)].append((old, new))
    for folders, alone in out.items():
        if len(alone) > 1:
            ways[folders] += [old for way in alone for old in ways.pop(way)]
    return tuple(Moved(*way, len(paths)) for way, paths in sorted(ways.items()))


def _way(old: str, row: FileRow, roots: Collection[str], gone: Callable[[str], bool]) -> tuple[str, str]:
    """The highest folder that is gone, with this file below it as it is below another one now; else the file.

    Both folders lie in roots: what is above them was never asked for.
    """
    before, after = Path(old), Path(row.path)
    top = next((str(above) for above in reversed((before, *before.parents)) if str(above) in roots), old)
    while (
        before.name == after.name
        and before.parent.is_relative_to(top)
        and after.parent.is_relative_to(row.root)
        and gone(str(before.parent))
    ):
        before, after = before.parent, after.parent
    return str(before), str(after)
