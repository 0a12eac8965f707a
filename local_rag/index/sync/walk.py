"""The files below the indexed roots: which are read, which are left out and why, and what could not be seen."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.documents import Skipped
from local_rag.index.parse.loaders import loader
from local_rag.index.store.schema import FileRow, Root

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ragignore")
INDEX_FILE = "index.sqlite"
SECRET = "may hold secrets; index it with --include-secrets"

_JUNCTION = 0xA0000003
"""IO_REPARSE_TAG_MOUNT_POINT (https://learn.microsoft.com/windows/win32/fileio/reparse-point-tags)."""

_FOLDERS = frozenset("node_modules __pycache__ __MACOSX".split())
_MARKED = ("pyvenv.cfg", INDEX_FILE, "CACHEDIR.TAG")
"""A folder that holds one of these is a virtual environment, an index, or a cache (https://bford.info/cachedir/)."""


def _names(patterns: str) -> re.Pattern[str]:
    """File names in the syntax of a shell, matched at once."""
    return re.compile("|".join(translate(pattern) for pattern in patterns.split()))


_BACKUPS = _names("*~ ~$* #*# *.swp *.swo *.bak *.orig")
_SECRETS = _names(
    """.env .env.* id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk *.pem *.key *.p12 *.pfx *.jks *.keystore
    *.kdbx *.ppk .netrc _netrc .pgpass .htpasswd .pypirc .npmrc .git-credentials credentials credentials.json
    client_secret*.json secrets.json secrets.yaml secrets.yml secrets.toml"""
)
_TEMPLATES = (".env.example", ".env.sample", ".env.template", ".env.dist")
_PRIVATE_KEY = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:Bag Attributes.*?)?"
    rb"(?:-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-)",
    re.DOTALL,
)


@dataclass
class Walk:
    """What walking some roots showed. `files` are real paths, each with the path of the root that it was found from.

    `skipped` are files left out with a reason. `unseen` are roots, folders and links that could not be looked into,
    each with the reason: nothing may be concluded about what they hold. `empty` are roots that are folders without a
    file to index. `ignored` counts the files that nothing reads, by suffix.
    """

    files: dict[str, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    unseen: dict[str, str] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    ignored: Counter[str] = field(default_factory=Counter)

    def why_unseen(self, file: FileRow) -> tuple[str, str] | None:
        """(path, reason) if the file may still be there, unseen."""
        if file.root in self.empty:
            return file.root, "suddenly contains no file to index"
        paths = [file.path, *map(str, Path(file.path).parents), file.root]
        return next(((path, self.unseen[path]) for path in paths if path in self.unseen), None)


def walk(roots: Iterable[Root]) -> Walk:
    """The files below some roots that can be read; a root that is a file is taken whatever its suffix.

    Left out: what a root's `excludes` (in the syntax of .gitignore, relative to it), .gitignore or .ragignore in the
    folders themselves match, hidden files, packages, caches, backups, indexes, and secrets unless the root has them.
    Files behind links count where they really are; a folder behind a link is entered once, and never one that holds
    the root. Ignore files above a root have no say.
    """
    walked = Walk()
    for root in roots:
        search = _Search(root)
        search.run(Path(root.path))
        for path in map(str, sorted(search.files)):
            if _printable(path) == path:
                walked.files.setdefault(path, root.path)
            else:
                walked.skipped.append(Skipped(_printable(path), "has a name that is not Unicode: rename it"))
        walked.skipped += [Skipped(_printable(path), reason) for path, reason in sorted(search.skipped.items())]
        walked.unseen |= {_printable(path): reason for path, reason in sorted(search.unseen.items())}
        walked.ignored.update(dict(sorted(search.ignored.items())))
        if not search.files and Path(root.path).is_dir():
            walked.empty.add(root.path)
    return walked


def _printable(path: str) -> str:
    """A path as it can be stored and printed: POSIX file names are bytes, not all of them are text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@dataclass(frozen=True)
class _Rules:
    """The ignore rules that hold in a folder: (folder, patterns), outermost first; `excludes` come last and decide."""

    excludes: tuple[Path, GitIgnoreSpec]
    specs: tuple[tuple[Path, GitIgnoreSpec], ...] = ()

    def within(self, folder: Path, names: Iterable[str]) -> _Rules:
        """The rules one folder deeper, its own ignore files added."""
        from pathspec import GitIgnoreSpec

        lines: list[str] = []
        for name in IGNORE_FILES:
            if name in names:
                lines += (folder / name).read_text("utf-8", "replace").splitlines()
        return _Rules(self.excludes, (*self.specs, (folder, GitIgnoreSpec.from_lines(lines)))) if lines else self

    def ignore(self, path: Path, is_folder: bool) -> bool:
        """Whether the innermost rule that has a say ignores it (https://git-scm.com/docs/gitignore)."""
        for folder, spec in (self.excludes, *reversed(self.specs)):
            name = path.relative_to(folder).as_posix() + ("/" if is_folder else "")
            if (verdict := spec.check_file(name).include) is not None:
                return verdict
        return False


class _Search:
    """The walk below one root."""

    def __init__(self, root: Root) -> None:
        from pathspec import GitIgnoreSpec

        self._excludes, self._secrets = GitIgnoreSpec.from_lines(root.excludes), root.secrets
        self.files: set[Path] = set()
        self.skipped: dict[str, str] = {}
        self.unseen: dict[str, str] = {}
        self.ignored: Counter[str] = Counter()
        self._counted: set[Path] = set()

    def run(self, named: Path) -> None:
        try:
            root = named.expanduser().resolve(strict=True)
            mode = root.stat().st_mode
        except (OSError, RuntimeError) as error:  # RuntimeError: a link in a circle, before Python 3.13
            missing = isinstance(error, FileNotFoundError)
            reason = "does not exist, or its disk is not mounted" if missing else _why(error)
            self.unseen[str(named.expanduser().absolute())] = reason
            return
        if stat.S_ISDIR(mode):
            self._folders(root)
        elif stat.S_ISREG(mode):
            self._take(root)
        else:
            self.skipped[str(root)] = "is not a regular file"

    def _folders(self, root: Path) -> None:
        """Depth first; folders behind links wait until the real ones were entered, under whose rules they belong."""
        waiting = [(root, root, _Rules((root, self._excludes)))]
        links: list[tuple[Path, Path, _Rules]] = []
        entered: set[Path] = set()
        while waiting or links:
            folder, real, rules = waiting.pop() if waiting else links.pop(0)
            if real in entered:
                continue
            entered.add(real)
            for entry, within in self._entries(folder, folder == root, rules):
                path = folder / entry.name
                if _is_link(entry):
                    links += self._link(path, root, within)
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append((path, real / entry.name, within))
                elif entry.is_file(follow_symlinks=False):
                    self._file(path, real / entry.name)
                elif loader(path):
                    self.skipped[str(path)] = "is not a regular file"

    def _entries(self, folder: Path, is_root: bool, rules: _Rules) -> Iterator[tuple[os.DirEntry[str], _Rules]]:
        """What of a folder may be looked at; nothing of a folder that cannot be read or is somebody's cache."""
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
            names = {entry.name for entry in entries}
            if not is_root and any(mark in names for mark in _MARKED):
                return
            within = rules.within(folder, names)
            kept = [entry for entry in entries if not self._left_out(entry, folder, within)]
        except OSError as error:
            self.unseen[str(folder)] = _why(error)
            return
        for entry in kept:
            yield entry, within

    def _left_out(self, entry: os.DirEntry[str], folder: Path, rules: _Rules) -> bool:
        name, is_folder = entry.name, _is_folder(entry)
        if rules.ignore(folder / name, is_folder):
            return True
        if is_folder:
            return name.startswith(".") or name in _FOLDERS
        if is_secret_name(name):
            return False
        return name.startswith(".") or bool(_BACKUPS.match(name))

    def _link(self, path: Path, root: Path, rules: _Rules) -> list[tuple[Path, Path, _Rules]]:
        """A link to a folder, to be entered later; a link to a file is taken at once."""
        try:
            real = path.resolve(strict=True)
            mode = real.stat().st_mode
        except (OSError, RuntimeError) as error:
            if isinstance(error, FileNotFoundError):
                self.unseen[os.path.realpath(path)] = f"is not there, but {path} links to it"
            elif isinstance(error, PermissionError):
                self.unseen[str(path)] = _why(error)
            else:
                self.skipped[str(path)] = "is a link that leads in a circle"
            return []
        if stat.S_ISREG(mode):
            self._file(path, real)
        return [(path, real, rules)] if stat.S_ISDIR(mode) and not root.is_relative_to(real) else []

    def _file(self, path: Path, real: Path) -> None:
        if loader(real) or loader(path) or is_secret_name(path.name) or is_secret_name(real.name):
            self._take(real)
        elif real not in self._counted:
            self._counted.add(real)
            self.ignored[real.suffix.lower() or "(none)"] += 1

    def _take(self, real: Path) -> None:
        if not self._secrets and (is_secret_name(real.name) or _holds_key(real)):
            self.skipped[str(real)] = SECRET
        else:
            self.files.add(real)


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


def is_secret_name(name: str) -> bool:
    """Whether files of that name hold keys or passwords, whatever is in this one."""
    name = name.lower()
    return name not in _TEMPLATES and bool(_SECRETS.match(name))


def _holds_key(path: Path) -> bool:
    """Whether a file begins as a private key does; one that cannot be opened is left to the parser to report."""
    try:
        with path.open("rb") as file:
            return bool(_PRIVATE_KEY.match(file.read(2048)))
    except OSError:
        return False


def _why(error: Exception) -> str:
    return f"cannot be read ({error.strerror or error})" if isinstance(error, OSError) else f"cannot be read ({error})"
