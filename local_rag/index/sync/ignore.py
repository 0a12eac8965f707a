"""What is left out of a folder: what a rule says, secrets, hidden files, and what a program made for itself."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import cached_property
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from local_rag.core.documents import MEMBER
from local_rag.core.reasons import reason_of
from local_rag.index.store.schema import Root
from local_rag.index.sync.read import read_start
from local_rag.text.display import format_bytes

SECRET = "may hold secrets; index it with --include-secrets"

IGNORE_FILES = (".gitignore", ".ragignore")

MAX_BYTES = 1_000_000
"""Of an ignore file; that of the Linux kernel has 2 kB."""

MAX_LINES = 2_000
MAX_LINE = 4096
"""Lines of an ignore file, and characters of one of them: no path is longer."""

MAX_STARS = 3
"""Of a pattern, `**` counted as one: every way to share a path out among them is tried, in at most a second for 3."""


class UnusableIgnoreFileError(Exception):
    """What an ignore file says cannot be known, so nothing below its folder may be taken in."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A line of .gitignore. `whole`: it is compared with the path from the folder of its file on, else with a name."""

    line: str
    ignores: bool
    only_folders: bool
    whole: bool
    glob: GitIgnoreSpecPattern

    @classmethod
    def of(cls, line: str) -> Pattern | None:
        """None for a comment, an empty line, and what git takes for a pattern that never matches.

        Raises ValueError for too many stars. https://git-scm.com/docs/gitignore
        """
        line = line if line.endswith("\\ ") else line.rstrip()
        text = line.removeprefix("!")
        name = text.removesuffix("/")
        if line.startswith("#") or not name:
            return None
        unescaped = re.sub(r"\\.", "", name).removeprefix("**/").removesuffix("/**")
        if len(re.findall(r"\*+", unescaped)) > MAX_STARS:
            raise ValueError(f"up to {MAX_STARS} stars in a pattern are read, {line[:40]!r} has more")
        try:
            with warnings.catch_warnings(action="ignore"):  # Python's own, for [[
                glob = GitIgnoreSpecPattern(f"/{name.removeprefix('/')}")
        except (ValueError, re.error):
            return None
        return cls(line, text == line, name != text, "/" in name, glob) if glob.include else None

    def matches(self, path: str, is_folder: bool) -> bool:
        """Whether it has a say about a relative path itself, with / between its names."""
        found = self.glob.match_file(path if self.whole else path.rpartition("/")[2])
        above = found is not None and any(found.match.groups())  # a folder above the path matches, which is decided
        return found is not None and not above and (is_folder or not self.only_folders)


@dataclass(frozen=True, slots=True)
class _Source:
    """Patterns that are relative to a folder, and where they come from."""

    folder: str
    patterns: tuple[Pattern, ...]
    origin: str

    @classmethod
    def of(cls, folder: Path, lines: Sequence[str], origin: str) -> _Source:
        """The last line is the first pattern. Raises ValueError."""
        found = tuple(filter(None, map(Pattern.of, reversed(lines))))
        return cls(f"{folder.as_posix().rstrip('/')}/", found, origin)


@dataclass(frozen=True)
class Rules:
    """The rules that hold in a folder, each decided by those after it: of ignore files the outermost is the first.

    `excludes` are those of a person: what they say stands above all ignore files. `secrets` are taken if it is set.
    """

    excludes: tuple[_Source, ...] = ()
    files: tuple[_Source, ...] = ()
    secrets: bool = False

    @classmethod
    def of(cls, root: Root, around: Sequence[Root]) -> Rules:
        """What a person excluded from a root, and from roots around it, the outermost last."""
        sources = (_Source.of(Path(each.path), each.excludes, "--exclude") for each in (root, *around))
        return cls(excludes=tuple(reversed([*sources])), secrets=root.secrets)

    def within(self, folder: Path, names: Container[str]) -> Rules:
        """The rules in a folder, those of its own ignore files added. Raises UnusableIgnoreFileError."""
        files = [_read(folder, name) for name in IGNORE_FILES if name in names]
        return replace(self, files=(*self.files, *files)) if files else self

    def why_ignored(self, path: Path, is_folder: bool) -> str:
        """The rule that leaves a path out, "" if none does: of those that have a say the innermost decides."""
        name = path.as_posix()
        for source in reversed((*self.files, *self.excludes)):
            if name.startswith(source.folder):
                below = name[len(source.folder) :]
                decides = next((pattern for pattern in source.patterns if pattern.matches(below, is_folder)), None)
                if decides is not None:
                    return f"{source.origin} {decides.line}" if decides.ignores else ""
        return ""

    def why_ignored_anywhere(self, path: Path, is_folder: bool) -> str:
        """The rule that leaves a path out, or a folder above it; "" if none does."""
        above = ((folder, True) for folder in reversed(path.parents))
        return next(filter(None, (self.why_ignored(*each) for each in (*above, (path, is_folder)))), "")

    @cached_property
    def stamp(self) -> str:
        """16 hex digits that change with the rules: where they do, other files inside of a file are taken."""
        return hashlib.blake2b(repr(self).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def leave_out_inside(self, container: Path, name: str, start: str) -> str | None:
        """None where a file inside of another is taken, else the warning that is due, "" for none.

        The other file counts as a folder. A secret is told by its name, or by how its text starts.
        """
        *folders, last = name.replace(MEMBER, "/").split("/")
        path = container
        for step, is_folder in (*((folder, True) for folder in folders), (last, False)):
            path /= step
            if is_hidden(step, is_folder) or self.why_ignored(path, is_folder):
                return ""
        secret = is_secret_name(_NUMBER.sub("", last)) or _PRIVATE_KEY.match(start.encode())
        return SECRET if secret and not self.secrets else None


_NUMBER = re.compile(r" \(\d+\)(?=\.|$)")
"""What tells a file inside of another from one of the same name there."""


def _read(folder: Path, name: str) -> _Source:
    """The rules of an ignore file, which is distrusted: whoever can write one can block or blind a sync."""
    try:
        content = read_start(folder / name, MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise OSError(f"is larger than {format_bytes(MAX_BYTES)}")
        lines = content.decode("utf-8-sig", "replace").split("\n")
        if len(lines) > MAX_LINES or max(map(len, lines)) > MAX_LINE:
            raise OSError(f"up to {MAX_LINES:,} lines of {MAX_LINE:,} characters are read")
        return _Source.of(folder, lines, f"{name}:")
    except (OSError, ValueError) as error:
        raise UnusableIgnoreFileError(
            f"{name} in it cannot be used ({reason_of(error)}): mend or delete that file"
        ) from error


# --- secrets and hidden files


def _names(patterns: str) -> re.Pattern[str]:
    """File names in the syntax of a shell, matched at once."""
    return re.compile("|".join(translate(pattern) for pattern in patterns.split()))


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
_FOLDERS = frozenset("node_modules __pycache__ __MACOSX".split())
_BACKUPS = _names("*~ ~$* #*# *.swp *.swo *.bak *.orig")


def is_secret_name(name: str) -> bool:
    """Whether files of that name hold keys or passwords, whatever is in this one."""
    name = name.lower()
    return name not in _TEMPLATES and bool(_SECRETS.match(name))


def begins(file: Path, start: re.Pattern[bytes] = _PRIVATE_KEY) -> bool:
    """Whether a file begins so, else as a private key does; one that cannot be opened is left to the parser."""
    try:
        return bool(start.match(read_start(file, 8192)))
    except OSError:
        return False


def is_hidden(name: str, is_folder: bool) -> bool:
    """Whether a name is that of a hidden file or folder, of a backup or of packages; a secret is no hidden file."""
    if is_folder:
        return name.startswith(".") or name in _FOLDERS
    return not is_secret_name(name) and (name.startswith(".") or bool(_BACKUPS.match(name)))


# --- folders that a program made for itself

_MARKERS = {
    "CACHEDIR.TAG": ("a cache", re.compile(rb"Signature: 8a477f597d28d172789f06886806bc55")),
    "pyvenv.cfg": ("a virtual environment of Python", re.compile(rb"(?:.*\n)*?[ \t]*home[ \t]*=")),
    "index.sqlite": ("an index", re.compile(rb"SQLite format 3\0")),
}
"""Name: what its folder is, and how such a file begins: whoever can write one could make a folder vanish by its name.

https://bford.info/cachedir/, https://docs.python.org/3/library/site.html, https://sqlite.org/fileformat.html
"""


def marked(folder: Path, names: Container[str]) -> str:
    """What a folder is if one of its files says so, and which one does; "" for any other."""
    for name, (kind, start) in _MARKERS.items():
        if name in names and begins(folder / name, start):
            return f"looks like {kind} ({name})"
    return ""
