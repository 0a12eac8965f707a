"""The walk of the indexed roots: the files that are read, those left out and why, and those that could not be seen."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from local_rag.core import cancel
from local_rag.core.errors import reason_of
from local_rag.index.parse.loaders import HOLDERS, loader, version_mark
from local_rag.index.parse.pdf_page import IMAGES
from local_rag.index.store.values import FileRow, Root
from local_rag.index.sync.ignore import SECRET, Rules, begins, is_hidden, is_secret_name, marked
from local_rag.index.sync.roots import is_below

LEADS_OUT = "is a link out of the indexed folder; index what it leads to with --follow-links"


class Missing(NamedTuple):
    """The reason why the files at a path, or below it, are not among those of a walk; `unseen` ones may exist all the
    same.
    """

    reason: str
    unseen: bool = False


class Found(NamedTuple):
    """A file that can be read: the path of its root, and the rules for the files inside of it.

    `stamp` stands behind the SHA-256 of a file: its content counts as another one with a later version of its loader,
    and that of a file that holds others with other rules.
    """

    root: str
    rules: Rules
    stamp: str


@dataclass
class Walk:
    """The result of walking some roots. `files` are real paths.

    `skipped` are files that are left out and named, each with the reason. `empty` are roots that are folders without a
    file to index. `ignored` counts the files of each root that nothing reads, by suffix; OCR would read `images`, which
    are among them.
    """

    files: dict[str, Found] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    missing: dict[str, Missing] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    ignored: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    images: list[str] = field(default_factory=list)

    def why_missing(self, file: FileRow) -> tuple[str, Missing]:
        """Return why a file that was indexed is missing, with the path of which this is said; the reason is "" if it is
        gone.
        """
        for start in (file.path, file.root):
            for path in (start, *map(str, Path(start).parents)):
                if path in self.missing:
                    return path, self.missing[path]
        is_empty = file.root in self.empty
        return file.root, Missing("suddenly contains no file to index" if is_empty else "", is_empty)


def walk(
    roots: Iterable[Root],
    around: Collection[Root] = (),
    known: Collection[str] = (),
    own: Collection[str] = (),
    walked: Walk | None = None,
) -> Walk:
    """Find the files below some roots that can be read; a root that is a file is taken whatever its suffix.

    Left out are what a root's `excludes` (in the syntax of .gitignore, relative to it), those of roots `around` it, or
    .gitignore and .ragignore in the folders themselves match, hidden files, packages, caches, backups, and secrets
    unless the root has them. Files behind links count where they really are; a link out of the root is followed only if
    the root says so, a folder behind a link is entered once, and never one that holds the root. Ignore files above a
    root have no say. `known` are the indexed files, `own` further suffixes that are read. `walked` has what was found
    until it is stopped. Raises Stopped.
    """
    walked = walked or Walk()
    by_path = {root.path: root for root in around}
    for root in roots:
        _Search(walked, root, by_path, known, own).run()
    walked.files = dict(sorted(walked.files.items()))
    return walked


def folders_entered(roots: Iterable[Root], folder: Path) -> set[str]:
    """Return the names of the folders in this one that a walk of the roots enters, without links; none outside of the
    roots.
    """
    by_path = {root.path: root for root in roots}
    names = set[str]()
    for path, root in by_path.items():
        if folder.is_relative_to(path):
            search = _Search(Walk(), root, by_path)
            inside = search.folders(search.first)
            for name in folder.relative_to(path).parts:
                inside = search.folders(inside[name]) if name in inside else {}
            names |= inside.keys()
    return names


class _Place(NamedTuple):
    """A file or folder: the path by which it was found, its real path, and the rules that hold there."""

    path: Path
    real: Path
    rules: Rules


class _Search:
    """The walk below one root."""

    def __init__(
        self,
        walked: Walk,
        root: Root,
        around: Mapping[str, Root],
        known: Collection[str] = (),
        own: Collection[str] = (),
    ) -> None:
        self._walked, self._root, self._around, self._known, self._own = walked, root, around, known, own
        self._home = Path(root.path)
        above = [around[path] for path in map(str, self._home.parents) if path in around]
        self.first = _Place(self._home, self._home, Rules.of(root, above))
        self._found = False

    def run(self) -> None:
        if os.path.isfile(self._home):  # noqa: PTH113 - it raises nothing
            self._take(self._home, self.first.rules)
            return
        self._walk_folders()
        if not self._found and self._root.path not in self._walked.missing:
            self._walked.empty.append(self._root.path)

    def folders(self, folder: _Place) -> dict[str, _Place]:
        return {entry.name: place for entry, place in self._entries(folder) if entry.is_dir(follow_symlinks=False)}

    def _walk_folders(self) -> None:
        """Walk depth first; folders behind links wait until the real ones were entered, under whose rules they
        belong.
        """
        waiting, links, entered = [self.first], list[_Place](), set[Path]()
        while waiting or links:
            cancel.check()
            folder = (waiting or links).pop()
            if folder.real in entered:
                continue
            entered.add(folder.real)
            for entry, place in self._entries(folder):
                if _is_link(entry):
                    links += self._link(place.path, place.rules)
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(place)
                else:
                    self._file(place)

    def _entries(self, folder: _Place) -> Iterator[tuple[os.DirEntry[str], _Place]]:
        """Yield the entries of a folder that may be looked at; none of a folder that cannot be read or that a program
        made.
        """
        try:
            with os.scandir(folder.path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
            names = {entry.name for entry in entries}
            rules = folder.rules.within(folder.path, names)
            why = "" if folder is self.first else marked(folder.real, names)
        except FileNotFoundError:
            why = "does not exist, or its disk is not mounted"
        except OSError as error:
            why = f"cannot be read ({reason_of(error)})"
        if why:
            self._walked.missing[_printable(folder.real)] = Missing(why, unseen=True)
            return
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            cloud, name = ("", entry.name) if is_folder else _placeholder(entry)
            place = _Place(folder.path / name, folder.real / name, rules)
            if rule := rules.why_ignored(place.path, is_folder):
                self._leave_out(place.real, rule)
            elif not is_hidden(name, is_folder) and not cloud:
                yield entry, place
            elif cloud and self._is_wanted(place):
                why = f"is a placeholder of {cloud}, its content is not on this disk: download it, and index again"
                self._walked.missing[_printable(place.real)] = Missing(why, unseen=True)

    def _leave_out(self, path: Path, reason: str) -> None:
        """Note the reason, so that it is reported when an indexed file goes."""
        self._walked.missing.setdefault(_printable(path), Missing(reason))

    def _link(self, path: Path, rules: Rules) -> list[_Place]:
        """Return the folder that a link leads to, to be entered later; take the file that a link leads to at once.

        A link out of the root is left out and named, unless another root decides about what it leads to.
        """
        real = path
        with suppress(OSError):  # it has gone meanwhile
            real = Path(os.path.realpath(path))
        place, printed = _Place(path, real, rules), _printable(path)
        is_folder, is_file = os.path.isdir(real), os.path.isfile(real)  # noqa: PTH112, PTH113 - they raise nothing
        if self._home.is_relative_to(real):
            return []
        if is_file and not self._is_wanted(place):
            self._file(place)
        elif not (self._root.follow_links or real.is_relative_to(self._home)):
            if not is_below(str(real), self._around):
                self._walked.skipped[printed] = LEADS_OUT
                self._leave_out(real, LEADS_OUT)
        elif not (is_folder or is_file):
            self._walked.missing[_printable(real)] = Missing(f"cannot be seen, but {printed} links to it", unseen=True)
        elif not rules.ignore_anywhere(real, is_folder):
            if is_folder:
                return [place]
            self._file(place)
        return []

    def _is_wanted(self, place: _Place) -> bool:
        """Return whether a file is read; images only by an own loader. What one read before stays without it, too."""
        suffix = place.real.suffix.lower()
        own = suffix in self._own or str(place.real) in self._known
        return own or (
            suffix not in IMAGES and any(loader(path) or is_secret_name(path.name) for path in (place.path, place.real))
        )

    def _file(self, place: _Place) -> None:
        if self._is_wanted(place):
            self._take(place.real, place.rules)
        else:
            suffix = place.real.suffix.lower()
            self._walked.ignored[self._root.path][suffix or "(none)"] += 1
            self._walked.images += [str(place.real)] if suffix in IMAGES else []

    def _take(self, real: Path, rules: Rules) -> None:
        cancel.check()
        path = _printable(real)
        if path != str(real):
            self._walked.skipped[path] = "has a name that is not Unicode: rename it"
        elif not rules.secrets and (is_secret_name(real.name) or begins(real)):
            self._walked.skipped[path] = SECRET
            self._leave_out(real, SECRET)
        else:
            self._found = True
            stamp = rules.stamp if path.lower().endswith(HOLDERS) else ""
            self._walked.files.setdefault(path, Found(self._root.path, rules, stamp + version_mark(real)))


def _printable(path: Path | str) -> str:
    """Return a path as it can be stored and printed: POSIX file names are bytes, not all of them are text."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


_PLACEHOLDERS = re.compile(r"\.(.+)\.icloud|(.+)\.(?:nextcloud|owncloud)")
_ELSEWHERE = 0x1000 | 0x40000 | 0x400000
"""FILE_ATTRIBUTE_OFFLINE, _RECALL_ON_OPEN and _RECALL_ON_DATA_ACCESS of Windows."""
_DATALESS = 0x40000000
"""SF_DATALESS of macOS."""


def _placeholder(entry: os.DirEntry[str]) -> tuple[str, str]:
    """Return the cloud that has the content of a file, "" where it is on this disk, and the name of the file itself.

    Opening such a file would fetch it over the network.
    """
    if match := _PLACEHOLDERS.fullmatch(entry.name):
        return ("iCloud", match[1]) if match[1] else ("Nextcloud", match[2])
    status = None if sys.platform == "linux" else entry.stat(follow_symlinks=False)
    attributes, flags = getattr(status, "st_file_attributes", 0), getattr(status, "st_flags", 0)
    return "OneDrive, Dropbox or iCloud" * bool(attributes & _ELSEWHERE or flags & _DATALESS), entry.name


def _is_link(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a symbolic link, or a junction of Windows, which Python 3.11 takes for a folder.

    https://learn.microsoft.com/windows/win32/fileio/reparse-point-tags (IO_REPARSE_TAG_MOUNT_POINT)
    """
    tag = getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0) if os.name == "nt" else 0
    return entry.is_symlink() or tag == 0xA0000003
