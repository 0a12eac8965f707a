"""Walking the indexed roots: which files are read, which are left out and why, and what could not be seen."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.reasons import reason_of
from local_rag.index.parse.loaders import loader
from local_rag.index.store.schema import FileRow, Root
from local_rag.index.sync.ignore import (
    SECRET,
    Rules,
    UnusableIgnoreFileError,
    begins,
    is_hidden,
    is_secret_name,
    marked,
)

CONTAINERS = (".zip", ".eml", ".msg", ".mbox")
"""Suffixes of files that hold others, for which rules hold, too."""

LEADS_OUT = "is a link out of the indexed folder; index what it leads to with --follow-links"

_JUNCTION = 0xA0000003
"""IO_REPARSE_TAG_MOUNT_POINT (https://learn.microsoft.com/windows/win32/fileio/reparse-point-tags)."""


@dataclass
class Walk:
    """What walking some roots showed. `files` are real paths, each with the path of the root that it was found from.

    `rules` are those that hold for what lies inside of a file. `skipped` are files left out, each with the reason.
    `unseen` are roots, folders and links that could not be looked into, each with the reason: nothing may be concluded
    about what they hold. `empty` are roots that are folders without a file to index. `marked` are folders that a file
    in them calls a program's own. `left_out` are folders and known files that a rule leaves out, and secrets, each with
    the rule. `ignored` counts the files of each root that nothing reads, by suffix.
    """

    files: dict[str, str] = field(default_factory=dict)
    rules: dict[str, Rules] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    unseen: dict[str, str] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    marked: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, Counter[str]] = field(default_factory=dict)

    def why_unseen(self, file: FileRow) -> tuple[str, str] | None:
        """(path, reason) if the file may still be there, unseen."""
        for unseen in (self.unseen, self.marked):
            if found := _nearest(file.path, unseen) or _nearest(file.root, unseen):
                return found
        if file.root in self.empty and not self.why_left_out(file):
            return file.root, "suddenly contains no file to index"
        return None

    def why_left_out(self, file: FileRow) -> str:
        """The rule that leaves the file out, "" if none does."""
        return (_nearest(file.path, self.left_out) or ("", ""))[1]

    def stamp(self, path: str) -> str:
        """What stands behind the SHA-256 of a file that holds others: that of the rules for them."""
        return self.rules[path].stamp if path.lower().endswith(CONTAINERS) else ""

    def leave_out_inside(self, path: str, name: str, start: str) -> str | None:
        """What `Rules.leave_out_inside` says of a file inside of the file at `path`."""
        return self.rules[path].leave_out_inside(Path(path), name, start)


def _nearest(path: str, reasons: Mapping[str, str]) -> tuple[str, str] | None:
    above = (path, *map(str, Path(path).parents))
    return next(((each, reasons[each]) for each in above if each in reasons), None)


def walk(
    roots: Iterable[Root], around: Collection[Root] = (), known: Collection[str] = (), own: Collection[str] = ()
) -> Walk:
    """The files below some roots that can be read; a root that is a file is taken whatever its suffix.

    Left out: what a root's `excludes` (in the syntax of .gitignore, relative to it), those of roots `around` it,
    .gitignore or .ragignore in the folders themselves match, hidden files, packages, caches, backups, indexes, and
    secrets unless the root has them. Files behind links count where they really are; a link out of the root is followed
    only if the root says so, a folder behind a link is entered once, and never one that holds the root. Ignore files
    above a root have no say. `known` are the indexed files, `own` further suffixes that are read. Raises Stopped.
    """
    walked = Walk()
    by_path = {root.path: root for root in around}
    for root in roots:
        _Search(walked, root, by_path, known, own).run()
    walked.files = dict(sorted(walked.files.items()))
    walked.skipped = dict(sorted(walked.skipped.items()))
    return walked


def folders_entered(roots: Iterable[Root], folder: Path) -> set[str]:
    """The names of the folders in this one that a walk of the roots looks into, without links; none outside of them."""
    by_path = {root.path: root for root in roots}
    around = [root for path, root in by_path.items() if folder.is_relative_to(path)]
    return {name for root in around for name in _Search(Walk(), root, by_path, (), ()).entered(folder)}


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to be looked at: by the way it was found, and where it really is."""

    path: Path
    real: Path
    rules: Rules


class _Search:
    """The walk below one root."""

    def __init__(
        self, walked: Walk, root: Root, around: Mapping[str, Root], known: Collection[str], own: Collection[str]
    ) -> None:
        self._walked, self._root, self._around, self._known, self._own = walked, root, around, known, own
        self._home = Path(root.path)
        self._kinds = walked.ignored[root.path] = Counter()
        self._found = False

    def run(self) -> None:
        try:
            mode = self._home.stat().st_mode
        except OSError as error:
            self._walked.unseen[self._root.path] = _why(error)
            return
        if stat.S_ISREG(mode):
            self._take(self._home, self._first().rules)
        elif not stat.S_ISDIR(mode):
            self._walked.skipped[self._root.path] = "is not a regular file"
        else:
            self._walk_folders()
            if not self._found:
                self._walked.empty.add(self._root.path)

    def entered(self, folder: Path) -> Collection[str]:
        """The names of the folders in a folder below the root that are looked into, if that one is."""
        below = self._first()
        inside = self._folders(below)
        for name in folder.relative_to(self._home).parts:
            if name not in inside:
                return ()
            below = _Folder(below.path / name, below.path / name, inside[name])
            inside = self._folders(below)
        return inside

    def _folders(self, folder: _Folder) -> dict[str, Rules]:
        return {entry.name: rules for entry, rules in self._entries(folder) if entry.is_dir(follow_symlinks=False)}

    def _walk_folders(self) -> None:
        """Depth first; folders behind links wait until the real ones were entered, under whose rules they belong."""
        waiting = [self._first()]
        links = list[_Folder]()
        entered: set[Path] = set()
        while waiting or links:
            cancel.check()
            folder = (waiting or links).pop()
            if folder.real in entered:
                continue
            entered.add(folder.real)
            for entry, rules in self._entries(folder):
                path = folder.path / entry.name
                if _is_link(entry):
                    links += self._link(path, rules)
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(_Folder(path, folder.real / entry.name, rules))
                elif entry.is_file(follow_symlinks=False):
                    self._file(path, folder.real / entry.name, rules)
                elif loader(path):
                    self._walked.skipped[_printable(path)] = "is not a regular file"

    def _first(self) -> _Folder:
        """The root itself, with what a person excluded from it and from roots around it."""
        above = [self._around[path] for path in map(str, self._home.parents) if path in self._around]
        return _Folder(self._home, self._home, Rules.of(self._root, above))

    def _entries(self, folder: _Folder) -> Iterator[tuple[os.DirEntry[str], Rules]]:
        """What of a folder may be looked at; nothing of a folder that cannot be read or is somebody's cache."""
        try:
            with os.scandir(folder.path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
            names = {entry.name for entry in entries}
            if folder.real != self._home and (marker := marked(folder.real, names)):
                self._walked.marked[_printable(folder.real)] = marker
                return
            rules = folder.rules.within(folder.path, names)
            kept = [entry for entry in entries if not self._left_out(entry, folder, rules)]
        except (OSError, UnusableIgnoreFileError) as error:
            self._walked.unseen[_printable(folder.real)] = _why(error)
            return
        for entry in kept:
            yield entry, rules

    def _left_out(self, entry: os.DirEntry[str], folder: _Folder, rules: Rules) -> bool:
        """Whether a rule leaves it out, which is noted, so that a file that goes is named with the rule."""
        is_folder = _is_folder(entry)
        rule = rules.why_ignored(folder.path / entry.name, is_folder)
        path = str(folder.real / entry.name)
        if rule and not _is_link(entry) and (is_folder or path in self._known):
            self._walked.left_out[_printable(path)] = rule
        return bool(rule) or is_hidden(entry.name, is_folder)

    def _link(self, path: Path, rules: Rules) -> list[_Folder]:
        """A link to a folder, to be entered later; a link to a file is taken at once.

        A link out of the root is left out and named, unless another root decides about what it leads to.
        """
        real = Path(os.path.realpath(path))
        try:
            mode = real.stat().st_mode
        except FileNotFoundError:
            mode = 0
        except OSError as error:  # a link in a circle, too
            self._walked.unseen[_printable(path)] = _why(error)
            return []
        is_folder = stat.S_ISDIR(mode)
        if (mode and not (is_folder or stat.S_ISREG(mode))) or self._home.is_relative_to(real):
            return []
        if stat.S_ISREG(mode) and not _is_wanted(path, real):
            self._kinds[real.suffix.lower() or "(none)"] += 1
        elif not (self._root.follow_links or real.is_relative_to(self._home)):
            if not any(str(above) in self._around for above in (real, *real.parents)):
                self._walked.skipped[_printable(path)] = LEADS_OUT
        elif not mode:
            self._walked.unseen[_printable(real)] = _printable(f"is not there, but {path} links to it")
        elif not rules.why_ignored_anywhere(real, is_folder):
            if is_folder:
                return [_Folder(path, real, rules)]
            self._take(real, rules)
        return []

    def _file(self, path: Path, real: Path, rules: Rules) -> None:
        # a file that one's own loader read stays when the loader is not given
        own = real.suffix.lower() in self._own or str(real) in self._known
        if own or _is_wanted(path, real):
            self._take(real, rules)
        else:
            self._kinds[real.suffix.lower() or "(none)"] += 1

    def _take(self, real: Path, rules: Rules) -> None:
        cancel.check()
        path = _printable(real)
        if path != str(real):
            self._walked.skipped[path] = "has a name that is not Unicode: rename it"
        elif not rules.secrets and (is_secret_name(real.name) or begins(real)):
            self._walked.skipped[path] = self._walked.left_out[path] = SECRET
        else:
            self._found = True
            self._walked.files.setdefault(path, self._root.path)
            self._walked.rules.setdefault(path, rules)


def _printable(path: Path | str) -> str:
    """A path as it can be stored and printed: POSIX file names are bytes, not all of them are text."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _is_wanted(path: Path, real: Path) -> bool:
    return bool(loader(real) or loader(path)) or is_secret_name(path.name) or is_secret_name(real.name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle
        return False


def _is_link(entry: os.DirEntry[str]) -> bool:
    """A symbolic link, or a junction of Windows, which Python 3.11 takes for a folder."""
    if os.name == "nt" and getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0) == _JUNCTION:
        return True
    return entry.is_symlink()


def _why(error: Exception) -> str:
    if isinstance(error, UnusableIgnoreFileError):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return "does not exist, or its disk is not mounted"
    return f"cannot be read ({reason_of(error)})"
