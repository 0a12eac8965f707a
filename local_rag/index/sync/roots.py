"""Roots: the paths that a person asked to index, to forget or to keep out, with the options of earlier syncs."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from local_rag.core.errors import UsageError
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import Root
from local_rag.index.sync.ignore import Pattern
from local_rag.text.display import composed, is_url, joined, normal


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """The options that a person gives for the folders of one sync; None leaves an option as it was.

    `excludes` are patterns of .gitignore, which stay until `no_excludes` takes them back.
    """

    excludes: Sequence[str] = ()
    no_excludes: Sequence[str] = ()
    secrets: bool | None = None
    follow_links: bool | None = None


def remember_roots(store: Store, paths: Sequence[Path], options: WalkOptions) -> list[Root]:
    """Return the roots that a person names, with these options, or all that are known; what is new of them is stored.

    The options are added to what is remembered, also of a root that was forgotten since. The caller holds the writer's
    lock. Raises UsageError for a path or a pattern that says nothing, and for one to be taken back that is not
    remembered.
    """
    known = {root.path: root for root in store.roots()}
    excluded = {root.path: root.excludes for root in store.roots(forgotten=True)}
    named = {str(real_path(path)): path for path in paths}
    for path in named:
        if path not in known and not Path(path).exists():
            raise UsageError(f"there is no file or folder {named[path]}", hint="local-rag index PATH…")
        if path == Path(path).anchor:
            raise UsageError(
                f"{path} is the whole disk: name the folders with your files", hint="local-rag index ~/notes"
            )
    roots = [known.get(path) or Root(path, excluded.get(path, ())) for path in named or known]
    if not roots and not store.paths():
        raise UsageError("nothing has been indexed yet: name files or folders", hint="local-rag index PATH…")
    check_patterns(options.excludes)
    for pattern in options.no_excludes:
        if not any(pattern in root.excludes for root in roots):
            others = joined(sorted({repr(each) for root in roots for each in root.excludes})) or "nothing"
            raise UsageError(f"{pattern!r} is not excluded; excluded is {others}", hint="local-rag status")
    around = known | {root.path: _with_options(root, options) for root in roots}
    for path in named:  # naming a path takes back that it was kept out
        for above, pattern in _above(Path(path), around):
            if pattern in around[above].excludes:
                around[above] = _with_options(around[above], WalkOptions(no_excludes=[pattern]))
    with store.writing():  # only what is new: another writer may be at work below another root
        store.set_roots([root for path, root in around.items() if root != known.get(path)])
    return [around[root.path] for root in roots]


def remove(store: Store, names: Sequence[Path | str], *, missing_ok: bool) -> tuple[str, ...]:
    """Forget files, whole folders with their roots, and pages by their URLs, and return the files of them that were
    indexed.

    The caller holds the writer's lock. Raises UsageError for what is not indexed, unless `missing_ok`.
    """
    files = [file.path for file in store.files()]
    unread = {*store.failures(), *(path for path, _ in store.reported())}
    paths, gone = {*files, *unread, *(root.path for root in store.roots())}, set[str]()
    known = [(path, composed(path)) for path in paths]
    for name in names:
        if is_url(str(name)):
            below = {page.path for page in store.pages([normal(str(name))])}
        else:
            named = composed(str(real_path(Path(name))))
            folder = named.removesuffix(os.sep) + os.sep
            below = {path for path, shown in known if shown == named or shown.startswith(folder)}
        if not (below or missing_ok):
            raise UsageError(f"{name} is not in the index", hint="local-rag files")
        gone |= below
    if gone:
        with store.writing():
            store.remove(gone)
            store.forget_roots(gone)
            store.forget_unread(gone, reported=True)
        store.refresh()
    return tuple(path for path in files if path in gone)


def keep_out(store: Store, paths: Sequence[Path]) -> list[str]:
    """Exclude files and folders from the indexed folders above them, and return the new patterns. The caller holds the
    lock.
    """
    before, patterns = {root.path: root for root in store.roots()}, list[str]()
    known = dict(before)
    for path in map(real_path, paths):
        for above, pattern in _above(path, known):
            patterns.append(pattern)
            known[above] = _with_options(known[above], WalkOptions(excludes=[pattern]))
    with store.writing():
        store.set_roots([root for path, root in known.items() if root != before[path]])
    return patterns


def _above(path: Path, roots: Collection[str]) -> list[tuple[str, str]]:
    """Return the roots above a path, each with the pattern that excludes the path from it."""
    parents = [above for above in path.parents if str(above) in roots]
    return [(str(above), f"/{escaped(path.relative_to(above).as_posix())}") for above in parents]


def is_below(path: str, roots: Collection[str]) -> bool:
    """Return whether one of the roots is a path or a folder above it."""
    return any(above in roots for above in (path, *map(str, Path(path).parents)))


def real_path(path: Path) -> Path:
    """Return the absolute path without links. Raises UsageError for ~ of an unknown user, a NUL and a circle of
    links.
    """
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"{str(path)!r} is no path ({error})", hint="local-rag index PATH…") from error


def check_patterns(excludes: Sequence[str]) -> None:
    """Raise UsageError for a pattern that says nothing, or has too many stars."""
    for pattern in excludes:
        reason = "git takes it for a comment or a broken pattern"
        try:
            if Pattern.of(pattern):
                continue
        except ValueError as error:
            reason = str(error)
        hint = "write \\ before a # at its beginning and before a single [: https://git-scm.com/docs/gitignore"
        raise UsageError(f"--exclude {pattern!r} leaves nothing out: {reason}", hint=hint)


def _with_options(root: Root, options: WalkOptions) -> Root:
    """Return a root with these options. Later patterns decide, so one that is named again moves to the end."""
    again = (*options.no_excludes, *options.excludes)
    excludes = (*(pattern for pattern in root.excludes if pattern not in again), *dict.fromkeys(options.excludes))
    follow = root.follow_links if options.follow_links is None else options.follow_links
    secrets = root.secrets if options.secrets is None else options.secrets
    return replace(root, excludes=excludes, secrets=secrets, follow_links=follow)


def escaped(name: str) -> str:
    """Return a name as a pattern that matches nothing else."""
    name = re.sub(r"([\\*?\[])", r"\\\1", name)
    bare = name.rstrip(" ")
    return bare + "\\ " * (len(name) - len(bare))
