"""Filters of a search: what a person names becomes conditions on the documents of an index."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from posixpath import splitext
from urllib.parse import urlsplit

from local_rag.core.documents import MEMBER, Narrowing, first_day
from local_rag.core.errors import UsageError
from local_rag.index.store.commands import index_name
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import Conditions
from local_rag.text.display import composed, is_page, is_url, joined, normal, shorten, those_there
from local_rag.text.words import words

KINDS = {
    "mail": (".eml", ".mbox", ".msg"),
    "html": (".html", ".htm", ".xhtml", ".mhtml", ".mht"),
    "markdown": (".md", ".markdown"),
    "word": (".docx", ".odt", ".rtf"),
    "book": (".epub",),
    "table": (".csv", ".tsv", ".xlsx", ".xlsm", ".xls", ".ods"),
    "slides": (".pptx", ".pptm", ".ppsx", ".potx", ".odp"),
}
"""The suffixes of each kind of file; pages of the web are html, and `web` means them alone."""

Within = Narrowing | Sequence[str]
"""The part of an index that is meant: a narrowing, or files, folders and globs."""

SUGGESTED = 5
"""Suffixes, or authors, of the index that a message names."""

_GLOB = re.compile(r"[*?]")
_BELOW = f"(?:(?:/|{MEMBER}).*)?"
"""An expression for what lies in a folder, or is attached to a mail."""


class NothingLeft(UsageError):
    """No document of an index meets all conditions."""


def conditions(store: Store, wanted: Narrowing) -> Conditions:
    """Return the conditions that a narrowing sets on the documents of an index.

    Raises NothingLeft where its files, types, dates or authors leave nothing, for the first of them that does, with
    what there is.
    """
    asked, named = Conditions(), "no indexed document"
    for part, of_part in (
        (Narrowing(within=wanted.within), _of_patterns),
        (Narrowing(types=wanted.types), _of_types),
        (Narrowing(authors=wanted.authors), _by),
        (Narrowing(after=wanted.after, before=wanted.before), _dated),
    ):
        if not part:
            continue
        try:
            asked = of_part(store, part, asked)
            if not store.any_document(asked):
                raise NothingLeft(f"{named} is {part.described()}")
        except NothingLeft as error:
            raise NothingLeft(str(error), hint=f"local-rag files --index {index_name(store.address)}") from None
        named += f" {part.described()}"
    return replace(asked, phrases=wanted.phrases)


def _of_patterns(store: Store, wanted: Narrowing, asked: Conditions) -> Conditions:
    files = store.paths()
    chosen = matching(files, wanted.within)
    if not chosen:
        raise NothingLeft(f"no indexed file matches {joined(map(repr, wanted.within), 'or')}")
    return replace(asked, files={files[path] for path in chosen})


def _of_types(store: Store, wanted: Narrowing, asked: Conditions) -> Conditions:
    files = store.paths()
    suffixes = {suffix for kind in wanted.types for suffix in (f".{kind}", *KINDS.get(kind, ()))}
    pages = not {"html", "web"}.isdisjoint(wanted.types)
    chosen = {
        number
        for path, number in files.items()
        if suffixes.intersection(map(_suffix, path.split(MEMBER))) or (pages and is_page(path))
    }
    if not chosen:
        known = Counter(sorted(_suffix(path).removeprefix(".") or "no suffix" for path in files))
        there = _there([f"{suffix} ({count:,})" for suffix, count in known.most_common()])
        raise NothingLeft(f"no indexed file is of type {joined(map(repr, wanted.types), 'or')}: {there}")
    return replace(asked, files=chosen if asked.files is None else chosen.intersection(asked.files))


def _by(store: Store, wanted: Narrowing, asked: Conditions) -> Conditions:
    known = store.authors()
    names = [set(words(name)) for name in wanted.authors]
    chosen = [author for author in known if any(name and name.issubset(words(author)) for name in names)]
    if not chosen:
        there = _there([repr(shorten(author, 40)) for author in known])
        raise NothingLeft(f"no indexed document is by {joined(map(repr, wanted.authors), 'or')}: {there}")
    return replace(asked, authors=chosen)


def _dated(store: Store, wanted: Narrowing, asked: Conditions) -> Conditions:
    return replace(asked, after=first_day(wanted.after or "0001"), before=first_day(wanted.before or "9999"))


def _suffix(path: str) -> str:
    """Return the suffix of a file or of a page's URL in small letters with its dot, "" without one."""
    name = (urlsplit(path).path if is_page(path) else path).replace("\\", "/").rstrip("/.")
    return splitext(name)[1].lower()  # a Path for each of 100,000 files takes longer than the search


def kind_of(path: str) -> str:
    """Return the kind of a file as `--type` names it: one such as "mail", else the suffix; "web" for a web page."""
    suffix = _suffix(path)
    kinds = (kind for kind, suffixes in KINDS.items() if suffix in suffixes)
    return "web" if is_page(path) else next(kinds, suffix.removeprefix("."))


def _there(names: Sequence[str]) -> str:
    return those_there(names[:SUGGESTED]) + " and others" * (len(names) > SUGGESTED)


# --- patterns of paths


def matching(paths: Iterable[str], within: Sequence[str]) -> list[str]:
    """Return those of the absolute `paths` that one of the patterns matches.

    A pattern is a file, a folder (all below it), or a glob of *, ? and `**`, which crosses folders. A relative one is
    looked for from the current folder, and if nothing is there, as the end of a path: `--in handbook.pdf` and `--in
    'notes/*.md'` work in any folder. A URL is read in the same way, and is absolute. Upper and lower case count only
    where a pattern that heeds them matches something. Raises UsageError for what can be no path.
    """
    posix = {path: composed(path.replace("\\", "/")) for path in paths}
    matched: set[str] = set()
    for pattern in within:
        readings = (
            {path for path, name in posix.items() if regex.fullmatch(name)}
            for flags in (re.DOTALL, re.DOTALL | re.IGNORECASE)
            for regex in (re.compile(composed(reading + _BELOW), flags) for reading in _readings(pattern))
        )
        try:
            matched |= {pattern} if pattern in posix else next(filter(None, readings), set())
        except (RuntimeError, ValueError) as error:  # the home of nobody, a NUL
            hint = "local-rag files   lists what is indexed"
            raise UsageError(f"{pattern!r} is no path or pattern of paths: {error}", hint=hint) from None
    return [path for path in posix if path in matched]


def _readings(pattern: str) -> Iterator[str]:
    """Yield the expressions that a pattern may stand for, strictest first: from the current folder before anywhere,
    literal before glob.
    """
    if is_url(pattern):
        yield re.escape(normal(pattern).rstrip("/")) + "/?"
        yield _regex(pattern.partition("#")[0].rstrip("/"))
        return
    path = Path(pattern).expanduser()
    fixed = list(takewhile(lambda part: not _GLOB.search(part), path.parts))
    yield re.escape(path.resolve().as_posix())
    yield _regex(Path(*fixed).resolve().joinpath(*path.parts[len(fixed) :]).as_posix())
    if path.parts and not path.is_absolute() and ".." not in path.parts:
        yield f"(?:.*/)?{re.escape(path.as_posix())}"
        yield _regex(f"**/{path.as_posix()}")


def _regex(glob: str) -> str:
    """Return a glob as a regular expression; only `**` crosses a slash (https://git-scm.com/docs/gitignore)."""
    *folders, name = re.sub(r"(?:\*\*/)+", "**/", glob).split("/")
    above = "".join("(?:[^/]*/)*" if folder == "**" else f"{_name(folder)}/" for folder in folders)
    return above + (".*" if name == "**" else _name(name))


def _name(glob: str) -> str:
    """Return one name of a glob as a regular expression.

    The text between two stars is matched where it first fits, for good: the next star takes the rest, so that no name
    is shared out among the stars in every way.
    """
    first, *rest = (re.escape(part).replace(r"\?", "[^/]") for part in re.split(r"\*+", glob))
    between = "".join(f"(?>[^/]*?{part})" for part in rest[:-1])
    return first + between + (f"[^/]*{rest[-1]}" if rest else "")
