"""Walking the indexed roots: which files are read, which are left out and why, and what could not be seen."""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.documents import Skipped
from local_rag.core.reasons import reason_of
from local_rag.index.parse.loaders import loader
from local_rag.index.store.schema import Root
from local_rag.index.sync.ignore_rules import Rules, UnusableIgnoreFileError
from local_rag.index.sync.markers import marked
from local_rag.index.sync.secrets import holds_key, is_secret_name, names
from local_rag.index.sync.walked import Walk

SECRET = "may hold secrets; index it with --include-secrets"
LEADS_OUT = "is a link out of the indexed folder; index what it leads to with --follow-links"

NOT_THERE = "does not exist, or its disk is not mounted"
"""Why a root cannot be looked into that was there before; it may have moved."""

_JUNCTION = 0xA0000003
"""IO_REPARSE_TAG_MOUNT_POINT (https://learn.microsoft.com/windows/win32/fileio/reparse-point-tags)."""

_FOLDERS = frozenset("node_modules __pycache__ __MACOSX".split())
_BACKUPS = names("*~ ~$* #*# *.swp *.swo *.bak *.orig")


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
        search = _Search(root, by_path, known, own)
        search.run(Path(root.path))
        for path in map(str, sorted(search.files)):
            if _printable(path) == path:
                walked.files.setdefault(path, root.path)
            else:
                walked.skipped.append(Skipped(_printable(path), "has a name that is not Unicode: rename it"))
        walked.skipped += [Skipped(_printable(path), reason) for path, reason in sorted(search.skipped.items())]
        for name in ("unseen", "marked", "left_out"):
            getattr(walked, name).update((_printable(path), why) for path, why in sorted(getattr(search, name).items()))
        walked.ignored_below[root.path] = search.ignored
        if search.leads_out:
            walked.links[root.path] = str(search.home)
        if not search.files and Path(root.path).is_dir():
            walked.empty.add(root.path)
    return walked


def folders_entered(roots: Iterable[Root], folder: Path) -> set[str]:
    """The names of the folders in this one that a walk of the roots looks into, without links; none outside of them."""
    by_path = {root.path: root for root in roots}
    around = [root for path, root in by_path.items() if folder.is_relative_to(path)]
    return {name for root in around for name in _Search(root, by_path, (), ()).entered(folder)}


def _printable(path: str) -> str:
    """A path as it can be stored and printed: POSIX file names are bytes, not all of them are text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to be looked at: by the way it was found, and where it really is."""

    path: Path
    real: Path
    rules: Rules


class _Search:
    """The walk below one root."""

    def __init__(self, root: Root, around: Mapping[str, Root], known: Collection[str], own: Collection[str]) -> None:
        self._root, self._around, self._known, self._own = root, around, known, own
        self.home = Path(root.path)
        self.files: set[Path] = set()
        self.skipped: dict[str, str] = {}
        self.unseen: dict[str, str] = {}
        self.marked: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self.leads_out = False
        self.ignored: Counter[str] = Counter()
        self._counted: set[Path] = set()

    def run(self, named: Path) -> None:
        try:
            self.home = named.expanduser().resolve(strict=True)
            mode = self.home.stat().st_mode
        except (OSError, RuntimeError) as error:  # RuntimeError: a link in a circle, before Python 3.13
            missing = isinstance(error, FileNotFoundError)
            reason = NOT_THERE if missing else _why(error)
            self.unseen[str(named.expanduser().absolute())] = reason
            return
        if stat.S_ISDIR(mode):
            self._folders()
        elif stat.S_ISREG(mode):
            self._take(self.home)
        else:
            self.skipped[str(self.home)] = "is not a regular file"

    def _folders(self) -> None:
        """Depth first; folders behind links wait until the real ones were entered, under whose rules they belong."""
        waiting = [self._first()]
        links: deque[_Folder] = deque()
        entered: set[Path] = set()
        while waiting or links:
            cancel.check()
            folder = waiting.pop() if waiting else links.popleft()
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
                    self._file(path, folder.real / entry.name)
                elif loader(path):
                    self.skipped[str(path)] = "is not a regular file"

    def _first(self) -> _Folder:
        """The root itself, with what a person excluded from it and from roots around it."""
        above = [self._around[path] for path in map(str, self.home.parents) if path in self._around]
        return _Folder(self.home, self.home, Rules.of([replace(self._root, path=str(self.home)), *above]))

    def entered(self, folder: Path) -> Iterator[str]:
        """The names of the folders in a folder below the root that are looked into, if that one is."""
        below = self._first()
        for name in folder.relative_to(self.home).parts:
            inside = {entry.name: rules for entry, rules in self._entries(below) if entry.is_dir(follow_symlinks=False)}
            if name not in inside:
                return
            below = _Folder(below.path / name, below.path / name, inside[name])
        yield from (entry.name for entry, _ in self._entries(below) if entry.is_dir(follow_symlinks=False))

    def _entries(self, folder: _Folder) -> Iterator[tuple[os.DirEntry[str], Rules]]:
        """What of a folder may be looked at; nothing of a folder that cannot be read or is somebody's cache."""
        try:
            with os.scandir(folder.path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
            names = {entry.name for entry in entries}
            if folder.real != self.home and (marker := marked(folder.real, names)):
                self.marked[str(folder.real)] = marker
                return
            rules = folder.rules.within(folder.path, names, None if self._root.follow_links else self.home)
            kept = [entry for entry in entries if not self._left_out(entry, folder, rules)]
        except (OSError, UnusableIgnoreFileError) as error:
            self.unseen[str(folder.real)] = _why(error)
            return
        for entry in kept:
            yield entry, rules

    def _left_out(self, entry: os.DirEntry[str], folder: _Folder, rules: Rules) -> bool:
        name, is_folder = entry.name, _is_folder(entry)
        if rule := rules.why_ignored(folder.path / name, is_folder):
            self._note_left_out(entry, folder.real / name, is_folder, rule)
            return True
        if is_folder:
            return name.startswith(".") or name in _FOLDERS
        if is_secret_name(name):
            return False
        return name.startswith(".") or bool(_BACKUPS.match(name))

    def _note_left_out(self, entry: os.DirEntry[str], path: Path, is_folder: bool, rule: str) -> None:
        """So that a file that goes is named with the rule; what a link leads to has a place of its own in the root."""
        real = os.path.realpath(path) if _is_link(entry) else str(path)
        if (is_folder or real in self._known) and not (_is_link(entry) and Path(real).is_relative_to(self.home)):
            self.left_out[real] = rule

    def _link(self, path: Path, rules: Rules) -> list[_Folder]:
        """A link to a folder, to be entered later; a link to a file is taken at once."""
        try:
            real = path.resolve(strict=True)
            mode = real.stat().st_mode
        except (OSError, RuntimeError) as error:
            self._dead_link(path, error)
            return []
        is_folder = stat.S_ISDIR(mode)
        if not (is_folder or stat.S_ISREG(mode)) or self.home.is_relative_to(real):
            return []
        if not (is_folder or _is_wanted(path, real)):
            self._count(real)
        elif not self._may_follow(real):
            self._leave_link(path, real)
        elif rules.why_excluded(real, is_folder):
            return []
        elif is_folder:
            return [_Folder(path, real, rules)]
        else:
            self._take(real)
        return []

    def _dead_link(self, path: Path, error: Exception) -> None:
        real = Path(os.path.realpath(path))
        if isinstance(error, FileNotFoundError) and self._may_follow(real):
            self.unseen[str(real)] = f"is not there, but {path} links to it"
        elif isinstance(error, FileNotFoundError):
            self._leave_link(path, real)
        elif isinstance(error, PermissionError):
            self.unseen[str(path)] = _why(error)
        else:
            self.skipped[str(path)] = "is a link that leads in a circle"

    def _may_follow(self, real: Path) -> bool:
        return self._root.follow_links or real.is_relative_to(self.home)

    def _leave_link(self, path: Path, real: Path) -> None:
        """Left out and named, unless another root decides about what it leads to."""
        self.leads_out = True
        if not any(str(above) in self._around for above in (real, *real.parents)):
            self.skipped[str(path)] = LEADS_OUT

    def _file(self, path: Path, real: Path) -> None:
        # a file that one's own loader read stays when the loader is not given
        own = real.suffix.lower() in self._own or str(real) in self._known
        if own or _is_wanted(path, real):
            self._take(real)
        else:
            self._count(real)

    def _count(self, real: Path) -> None:
        if real not in self._counted:
            self._counted.add(real)
            self.ignored[real.suffix.lower() or "(none)"] += 1

    def _take(self, real: Path) -> None:
        cancel.check()
        if not self._root.secrets and (is_secret_name(real.name) or holds_key(real)):
            self.skipped[str(real)] = SECRET
            self.left_out[str(real)] = SECRET
        else:
            self.files.add(real)


def _is_wanted(path: Path, real: Path) -> bool:
    return bool(loader(real) or loader(path)) or is_secret_name(path.name) or is_secret_name(real.name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle
        return False


def _is_link(entry: os.DirEntry[str]) -> bool:
    """A symbolic link, or a junction of Windows, which Python 3.11 takes for a folder."""
    if entry.is_symlink() or os.name != "nt":
        return entry.is_symlink()
    return getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0) == _JUNCTION


def _why(error: Exception) -> str:
    if isinstance(error, UnusableIgnoreFileError):
        return str(error)
    return f"cannot be read ({reason_of(error)})"
