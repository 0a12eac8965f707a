"""How folders are walked: what a person asked for, with what was asked before."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from local_rag.core.errors import UsageError
from local_rag.index.store.schema import Root
from local_rag.index.sync.gitignore import parse
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
            elsewhere = any(pattern in root.excludes for root in known)
            raise UsageError(
                f"{pattern!r} is not excluded{' from there' if paths else ''}; excluded is {others}",
                hint=f"local-rag index --no-exclude {shlex.quote(pattern)}" if elsewhere else "local-rag status",
            )
    return [_with_options(root, options) for root in roots]


def named_path(path: Path, known: Sequence[Root]) -> str:
    """The path of a root as it is stored. Raises UsageError for one that is not there and was not indexed either."""
    resolved = path.expanduser().resolve()
    if not resolved.exists() and str(resolved) not in {root.path for root in known}:
        raise UsageError(f"there is no file or folder {path}", hint="local-rag index PATH…")
    return str(resolved)


def check_patterns(excludes: Sequence[str]) -> None:
    """Raises UsageError for a pattern that says nothing."""
    for pattern in excludes:
        if parse(pattern) is None:
            raise UsageError(
                f"--exclude {pattern!r} leaves nothing out: git takes it for a comment or a broken pattern",
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


def carried(old: str, new: str, known: Sequence[Root]) -> list[Root]:
    """The roots that change when a file or folder has moved, those that move with it under their new paths.

    What was excluded below its old place is excluded at the new one, too: by the root that is there or above, or by a
    new one where there is none. Only that gets the other options of a root that has moved.
    """
    by_path = {root.path: root for root in known}
    changed = {
        root.path: root
        for each in known
        if each.path != old and Path(each.path).is_relative_to(old)
        for root in [replace(each, path=str(Path(new, Path(each.path).relative_to(old))))]
    }
    above = nearest(new, by_path)
    target = by_path[above] if above else replace(by_path.get(old) or Root(old), path=new, excludes=())
    inner = Path(new).relative_to(target.path).as_posix()
    patterns = [pattern if inner == "." else rebased(pattern, inner) for pattern in _excluded_below(old, target, known)]
    if patterns or not above:
        kept = [pattern for pattern in target.excludes if pattern not in patterns]
        changed[target.path] = replace(target, excludes=(*kept, *patterns))
    return list(changed.values())


def nearest(path: str, roots: Collection[str]) -> str:
    """That of the roots which is a path or the nearest folder above it, "" if none is."""
    return next((str(above) for above in (Path(path), *Path(path).parents) if str(above) in roots), "")


def _excluded_below(folder: str, target: Root, known: Sequence[Root]) -> Iterator[str]:
    """What the roots at and above a folder exclude from it, as patterns of that folder; `target` excludes it anyway."""
    for root in known:
        if root.path == folder:
            yield from root.excludes
        elif Path(folder).is_relative_to(root.path):
            inner = f"{escaped(Path(folder).relative_to(root.path).as_posix())}/"
            for pattern in root.excludes:
                sign, body = _sign(pattern)
                if body.lstrip("/").startswith(inner):
                    yield f"{sign}/{body.lstrip('/').removeprefix(inner)}"
                elif "/" not in body.rstrip("/") and root.path != target.path:
                    yield pattern


def rebased(pattern: str, folder: str) -> str:
    """A pattern of .gitignore for a folder, as one for the root that the folder has this path in."""
    sign, body = _sign(pattern)
    anywhere = "" if "/" in body.rstrip("/") else "**/"
    return f"{sign}/{escaped(folder)}/{anywhere}{body.lstrip('/')}"


def _sign(pattern: str) -> tuple[str, str]:
    return ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)


def escaped(name: str) -> str:
    """A name as a pattern that matches nothing else."""
    name = re.sub(r"([\\*?\[])", r"\\\1", name)
    bare = name.rstrip(" ")
    return bare + "\\ " * (len(name) - len(bare))
