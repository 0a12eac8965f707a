"""The rules by which files and folders are left out: patterns, secrets, hidden files, and folders that programs
made.
"""

from __future__ import annotations

import codecs
import hashlib
import re
import warnings
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import cached_property
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from local_rag.core.documents import MEMBER
from local_rag.core.errors import reason_of
from local_rag.index.store.values import Root
from local_rag.index.sync.read import read_start
from local_rag.text.display import composed

SECRET = "may hold secrets; index it with --include-secrets"

IGNORE_FILES = (".ragignore", ".gitignore")
"""The names of ignore files; where both are in a folder, the first decides."""

MAX_LINES = 2_000
MAX_LINE = 4096
"""The most lines of an ignore file, and the most bytes of one: no path is longer. That of the Linux kernel has 200
lines.
"""

MAX_STARS = 3
"""The most stars of a pattern, `**` counted as one: every way to share a path out among them is tried, in at most a
second for 3.
"""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A line of .gitignore, relative to a folder (with / behind it), and `origin`, the file or option that it comes
    from.

    A `whole` pattern is compared with the path from the folder on, any other with a name.
    """

    line: str
    ignores: bool
    only_folders: bool
    whole: bool
    glob: GitIgnoreSpecPattern
    folder: str
    origin: str

    @classmethod
    def of(cls, line: str, folder: str = "", origin: str = "") -> Pattern | None:
        """Return the pattern of a line, None for a comment, an empty line, and a pattern that git says never matches.

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
                glob = GitIgnoreSpecPattern(composed(f"/{name.removeprefix('/')}"))
        except (ValueError, re.error):
            return None
        return cls(line, text == line, name != text, "/" in name, glob, folder, origin) if glob.include else None

    def matches(self, path: str, is_folder: bool) -> bool:
        """Return whether the pattern matches a path itself, given in NFC and with / between its names."""
        if not path.startswith(self.folder) or (self.only_folders and not is_folder):
            return False
        below = path[len(self.folder) :]
        found = self.glob.match_file(below if self.whole else below.rpartition("/")[2])
        return found is not None and not any(found.match.groups())  # else a folder above matches, which is decided


def _patterns(folder: Path, lines: Sequence[str], origin: str) -> Iterator[Pattern]:
    """Yield the patterns of some lines, the last line first. Raises ValueError."""
    below = composed(f"{folder.as_posix().rstrip('/')}/")
    yield from filter(None, (Pattern.of(line, below, origin) for line in reversed(lines)))


@dataclass(frozen=True)
class Rules:
    """The patterns that hold in a folder, each stronger than those after it; of ignore files the innermost come first.

    `excludes` are those of a person, which are stronger than all ignore files. Secrets are indexed if `secrets` is set.
    """

    excludes: tuple[Pattern, ...] = ()
    files: tuple[Pattern, ...] = ()
    secrets: bool = False

    @classmethod
    def of(cls, root: Root, around: Sequence[Root]) -> Rules:
        """Return the rules of what a person excluded from a root, and from roots `around` it, the outermost last."""
        found = [
            pattern for each in (root, *around) for pattern in _patterns(Path(each.path), each.excludes, "--exclude")
        ]
        return cls(tuple(found), secrets=root.secrets)

    def within(self, folder: Path, names: Container[str]) -> Rules:
        """Return the rules in a folder, those of its own ignore files added. Raises OSError if one cannot be used."""
        found = [pattern for name in IGNORE_FILES if name in names for pattern in _read(folder, name)]
        return replace(self, files=(*found, *self.files)) if found else self

    def why_ignored(self, path: Path, is_folder: bool) -> str:
        """Return the rule that leaves a path out, "" if none does: the first that matches decides."""
        name = composed(path.as_posix())
        for pattern in (*self.excludes, *self.files):
            if pattern.matches(name, is_folder):
                return f"{pattern.origin} {pattern.line}" if pattern.ignores else ""
        return ""

    def ignore_anywhere(self, path: Path, is_folder: bool) -> bool:
        """Return whether a rule leaves out a path or a folder above it."""
        return any(self.why_ignored(folder, True) for folder in path.parents) or bool(self.why_ignored(path, is_folder))

    @cached_property
    def stamp(self) -> str:
        """Return 16 hex digits that change with the rules: where they do, other files inside of a file are indexed."""
        return hashlib.blake2b(repr(self).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def leave_out_inside(self, container: Path, name: str, start: str) -> str | None:
        """Return None where a file inside of another is indexed, else the warning that is due, "" for none.

        The other file counts as a folder. A secret is recognised by its name, or by the start of its text.
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
"""The number that distinguishes a file inside of another from one of the same name there."""


def _read(folder: Path, name: str) -> list[Pattern]:
    """Return the patterns of an ignore file, which is distrusted: whoever can write one can block or blind a sync.

    Raises OSError: what it says cannot be known, so nothing below its folder may be indexed.
    """
    try:
        content = read_start(folder / name, MAX_LINES * (MAX_LINE + 1))  # one that is longer has too many, or too long
        lines = content.removeprefix(codecs.BOM_UTF8).split(b"\n")
        if len(lines) > MAX_LINES or max(map(len, lines)) > MAX_LINE:
            raise OSError(f"up to {MAX_LINES:,} lines of {MAX_LINE:,} bytes are read")
        return list(_patterns(folder, [line.decode("utf-8", "replace") for line in lines], f"{name}:"))
    except (OSError, ValueError) as error:
        raise OSError(f"{name} in it: {reason_of(error)}; mend or delete that file") from error


# --- secrets and hidden files


def _names(patterns: str) -> re.Pattern[str]:
    """Return an expression that matches file names by patterns of a shell."""
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
_HIDDEN = _names(".* node_modules __pycache__ __MACOSX *~ ~$* #*# *.swp *.swo *.bak *.orig")


def is_secret_name(name: str) -> bool:
    """Return whether files of that name hold keys or passwords, whatever is in this one."""
    name = name.lower()
    return name not in _TEMPLATES and bool(_SECRETS.match(name))


def begins(file: Path, start: re.Pattern[bytes] = _PRIVATE_KEY) -> bool:
    """Return whether a file begins as `start` says, by default as a private key; one that cannot be opened is left to
    the parser.
    """
    try:
        return bool(start.match(read_start(file, 8192)))
    except OSError:
        return False


def is_hidden(name: str, is_folder: bool) -> bool:
    """Return whether a name is that of a hidden file or folder, of a backup or of packages; a secret is no hidden
    file.
    """
    return bool(_HIDDEN.match(name)) and (is_folder or not is_secret_name(name))


# --- folders that a program made for itself

_MARKERS = {
    "CACHEDIR.TAG": ("a cache", re.compile(rb"Signature: 8a477f597d28d172789f06886806bc55")),
    "pyvenv.cfg": ("a virtual environment of Python", re.compile(rb"(?:.*\n)*?[ \t]*home[ \t]*=")),
    "index.sqlite": ("an index", re.compile(rb"SQLite format 3\0")),
}
"""The kind of a folder that a file of this name marks, and the beginning that the file must have: a mere name must not
make a folder vanish.

https://bford.info/cachedir/, https://docs.python.org/3/library/site.html, https://sqlite.org/fileformat.html
"""


def marked(folder: Path, names: Container[str]) -> str:
    """Return what a folder is if one of its files marks it as made by a program, with the name of that file; "" for any
    other.
    """
    for name, (kind, start) in _MARKERS.items():
        if name in names and begins(folder / name, start):
            return f"looks like {kind} ({name})"
    return ""
