"""How folders are walked: what a person asked for, with what was asked before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from local_rag.core.errors import UsageError
from local_rag.index.store.schema import Root
from local_rag.index.sync.ignore import Pattern
from local_rag.text.display import joined


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """What a person says of the folders of one sync; None leaves it as it was.

    `excludes` are patterns of .gitignore, which stay until they are taken back: single ones by `no_excludes`, all by
    `clear_excludes`.
    """

    excludes: Sequence[str] = ()
    no_excludes: Sequence[str] = ()
    clear_excludes: bool = False
    secrets: bool | None = None
    follow_links: bool | None = None


def asked_roots(
    paths: Sequence[str], known: Sequence[Root], excluded: Mapping[str, tuple[str, ...]], options: WalkOptions
) -> list[Root]:
    """The roots at these absolute paths, or all that are known, with the options on top of what is remembered.

    `excluded` is what was excluded from roots that are not known any more.

    Raises UsageError for a pattern that says nothing, and for one to be taken back that is not remembered.
    """
    remembered = {root.path: root for root in known}
    roots = (
        [remembered.get(path) or Root(path, excluded.get(path, ())) for path in dict.fromkeys(paths)]
        if paths
        else list(known)
    )
    check_patterns(options.excludes)
    for pattern in options.no_excludes:
        if not any(pattern in root.excludes for root in roots):
            others = joined(sorted({repr(each) for root in roots for each in root.excludes})) or "nothing"
            raise UsageError(f"{pattern!r} is not excluded; excluded is {others}", hint="local-rag status")
    return [_with_options(root, options) for root in roots]


def named_path(path: Path, known: Sequence[Root]) -> str:
    """The path of a root as it is stored. Raises UsageError for one that is not there and was not indexed either."""
    resolved = real_path(path)
    if not resolved.exists() and str(resolved) not in {root.path for root in known}:
        raise UsageError(f"there is no file or folder {path}", hint="local-rag index PATH…")
    return str(resolved)


def real_path(path: Path) -> Path:
    """The absolute path without links. Raises UsageError for ~ of an unknown user, a NUL and a circle of links."""
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"{str(path)!r} is no path ({error})", hint="local-rag index PATH…") from error


def check_patterns(excludes: Sequence[str]) -> None:
    """Raises UsageError for a pattern that says nothing, or has too many stars."""
    for pattern in excludes:
        try:
            if Pattern.of(pattern):
                continue
            reason = "leaves nothing out: git takes it for a comment or a broken pattern"
        except ValueError as error:
            reason = f"cannot be used: {error}"
        raise UsageError(
            f"--exclude {pattern!r} {reason}",
            hint="write \\ before a # at its beginning and before a single [: https://git-scm.com/docs/gitignore",
        )


def _with_options(root: Root, options: WalkOptions) -> Root:
    """Later patterns decide, so one that is named again moves to the end."""
    kept = () if options.clear_excludes else root.excludes
    again = {*options.no_excludes, *options.excludes}
    excludes = (*(pattern for pattern in kept if pattern not in again), *dict.fromkeys(options.excludes))
    follow = root.follow_links if options.follow_links is None else options.follow_links
    secrets = root.secrets if options.secrets is None else options.secrets
    return replace(root, excludes=excludes, secrets=secrets, follow_links=follow)


def keeping_out(paths: Sequence[Path], known: Sequence[Root]) -> tuple[list[Root], list[str]]:
    """The roots above some absolute paths, each with a pattern that leaves them out, and these patterns."""
    by_path = {root.path: root for root in known}
    patterns: dict[str, list[str]] = {}
    for path in paths:
        for above in map(str, path.parents):
            if above in by_path:
                patterns.setdefault(above, []).append(f"/{escaped(path.relative_to(above).as_posix())}")
    changed = [_with_options(by_path[above], WalkOptions(excludes=new)) for above, new in patterns.items()]
    return changed, [pattern for new in patterns.values() for pattern in new]


def escaped(name: str) -> str:
    """A name as a pattern that matches nothing else."""
    name = re.sub(r"([\\*?\[])", r"\\\1", name)
    bare = name.rstrip(" ")
    return bare + "\\ " * (len(name) - len(bare))
