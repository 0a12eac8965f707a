"""The rules that hold in a folder: .gitignore, .ragignore, and what a person excluded."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from local_rag.core.reasons import reason_of
from local_rag.index.store.schema import Root
from local_rag.index.sync.gitignore import Patterns
from local_rag.index.sync.regular_file import read_start
from local_rag.text.display import format_bytes

IGNORE_FILES = (".gitignore", ".ragignore")

MAX_BYTES = 1_000_000
"""Of an ignore file; that of the Linux kernel has 2 kB."""

MAX_LINES = 10_000
MAX_LINE = 4096
"""Lines of an ignore file, and characters of one of them: no path is longer."""


class UnusableIgnoreFileError(Exception):
    """What an ignore file says cannot be known, so nothing below its folder may be taken in."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """Patterns that are relative to a folder, and where they come from."""

    folder: str
    patterns: Patterns
    origin: str

    @classmethod
    def of(cls, folder: Path, lines: Sequence[str], origin: str) -> _Rule:
        return cls(f"{folder.as_posix().rstrip('/')}/", Patterns(lines), origin)


@dataclass(frozen=True)
class Rules:
    """The rules that hold in a folder, each decided by those after it: of ignore files the outermost is the first.

    `excludes` are those of a person: what they say stands above all ignore files.
    """

    excludes: tuple[_Rule, ...] = ()
    files: tuple[_Rule, ...] = ()

    @classmethod
    def of(cls, roots: Iterable[Root]) -> Rules:
        """What a person excluded from a root, the first, and from roots around it, the outermost last."""
        rules = [_Rule.of(Path(root.path), root.excludes, "--exclude") for root in roots]
        return cls(excludes=tuple(reversed(rules)))

    def within(self, folder: Path, names: Container[str], home: Path | None) -> Rules:
        """The rules in a folder, those of its own ignore files added.

        A link in their place may lead to a regular file within `home`, or anywhere if that is None. Raises
        UnusableIgnoreFileError.
        """
        files = tuple(_rule(folder, name, home) for name in IGNORE_FILES if name in names)
        return Rules(self.excludes, (*self.files, *files)) if files else self

    def why_ignored(self, path: Path, is_folder: bool) -> str:
        """The rule that leaves a path out, "" if none does: of those that have a say the innermost decides."""
        return _why((*self.files, *self.excludes), path, is_folder)

    def why_excluded(self, path: Path, is_folder: bool) -> str:
        """The pattern of a person that leaves a path out, or a folder above it; "" if none does."""
        for above in reversed(path.parents):
            if reason := _why(self.excludes, above, True):
                return reason
        return _why(self.excludes, path, is_folder)


def _why(rules: Sequence[_Rule], path: Path, is_folder: bool) -> str:
    name = path.as_posix()
    for rule in reversed(rules):
        if name.startswith(rule.folder):
            decides = rule.patterns.deciding(name[len(rule.folder) :], is_folder)
            if decides is not None:
                return f"{rule.origin} {decides.line.strip()}" if decides.ignores else ""
    return ""


def _rule(folder: Path, name: str, home: Path | None) -> _Rule:
    """The rules of an ignore file, which is distrusted: whoever can write one can block or blind a sync."""
    try:
        lines = [line.removesuffix("\r") for line in _text(folder / name, home).split("\n")]
    except (OSError, RuntimeError) as error:  # RuntimeError: a link in a circle, before Python 3.13
        raise UnusableIgnoreFileError(
            f"{name} in it cannot be used ({reason_of(error)}): mend or delete that file"
        ) from error
    if len(lines) > MAX_LINES or max(map(len, lines)) > MAX_LINE:
        raise UnusableIgnoreFileError(
            f"{name} in it cannot be used (up to {MAX_LINES:,} lines of {MAX_LINE:,} characters are read):"
            " shorten or delete that file"
        )
    return _Rule.of(folder, lines, f"{name}:")


def _text(path: Path, home: Path | None) -> str:
    if path.is_symlink():
        path = path.resolve(strict=True)
        if home is not None and not path.is_relative_to(home):
            raise OSError("is a link to a file elsewhere")
    content = read_start(path, MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise OSError(f"is larger than {format_bytes(MAX_BYTES)}")
    return content.decode("utf-8-sig", "replace")
