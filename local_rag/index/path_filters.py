"""Which files and pages `--in` (paths, URLs, folders and globs) and `--type` (suffixes and kinds) leave."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from local_rag.index.globs import ANY_FOLDERS, ANY_SIGN, STAR, name_regex, one_of, path_regex
from local_rag.text.urls import is_page, is_url, normal

_SIGN = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]")

KINDS = {
    "mail": (".eml", ".mbox", ".msg"),
    "html": (".html", ".htm", ".xhtml", ".mhtml", ".mht"),
    "markdown": (".md", ".markdown"),
    "word": (".docx", ".odt", ".rtf"),
    "book": (".epub",),
    "table": (".csv", ".tsv", ".xlsx", ".xlsm", ".xls", ".ods"),
    "slides": (".pptx", ".pptm", ".ppsx", ".potx", ".odp"),
}
"""A kind -> its suffixes; pages of the web are html, and `web` means them alone."""


def matching(paths: Iterable[str], within: Sequence[str]) -> list[str]:
    """Those of the absolute `paths` that one of the patterns matches.

    A pattern is a file, a folder (all below it), or a glob (`**` crosses folders). A relative one is looked for from
    the current folder, and if nothing is there, as the end of a path: `--in handbook.pdf` and `--in 'notes/*.md'` work
    in any folder. A URL is read in the same way, and is absolute. Upper and lower case count only where a pattern that
    heeds them matches something.
    """
    posix = {path: path.replace("\\", "/") for path in paths}
    matched: set[str] = set()
    for pattern in within:
        exactly = _regexes(pattern)
        in_any_case = (re.compile(regex.pattern, regex.flags | re.IGNORECASE) for regex in exactly)
        readings = (
            {path for path, name in posix.items() if regex.fullmatch(name)} for regex in (*exactly, *in_any_case)
        )
        matched |= {pattern} if pattern in posix else next((hits for hits in readings if hits), set())
    return [path for path in posix if path in matched]


def _regexes(pattern: str) -> list[re.Pattern[str]]:
    """How to read a pattern, strictest first: from the current folder before anywhere, literally before as a glob."""
    if is_url(pattern):
        urls = [re.escape(normal(pattern).rstrip("/")) + "/?", _regex(pattern.partition("#")[0].rstrip("/"))]
        return [_with_all_below(url) for url in urls]
    path = Path(pattern).expanduser()
    fixed = list(takewhile(lambda part: not _SIGN.search(part), path.parts))
    from_here = Path(*fixed).resolve().joinpath(*path.parts[len(fixed) :])
    regexes = [re.escape(path.resolve().as_posix()), _regex(from_here.as_posix())]
    if path.parts and not path.is_absolute() and ".." not in path.parts:
        regexes += [f"(?:.*/)?{re.escape(path.as_posix())}", _regex(f"**/{path.as_posix()}")]
    return [_with_all_below(regex) for regex in regexes]


def _with_all_below(regex: str) -> re.Pattern[str]:
    return re.compile(f"{regex}(?:/.*)?", re.DOTALL)


def _regex(glob: str) -> str:
    """A glob as a regular expression; only `**` crosses a slash (https://git-scm.com/docs/gitignore)."""
    names = glob.split("/")
    if names[-1] == "**":
        names.append("*")
    return path_regex([ANY_FOLDERS if name == "**" else name_regex(_signs(name)) for name in names])


def _signs(name: str) -> Iterator[str]:
    at = 0
    for sign in _SIGN.finditer(name):
        yield from map(re.escape, name[at : sign.start()])
        yield _sign(sign.group())
        at = sign.end()
    yield from map(re.escape, name[at:])


def _sign(sign: str) -> str:
    if sign[0] == "*":
        return STAR
    if sign == "?":
        return ANY_SIGN
    negated, inside = sign.startswith("[!"), sign[1:-1].removeprefix("!")
    return one_of(_ranges(inside), negated)


def _ranges(inside: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(inside):
        last = at + 2 if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside) else at
        yield inside[at], inside[last]
        at = last + 1


def suffix_of(path: str) -> str:
    """The suffix of a file or of a page's URL in small letters with its dot, "" without one."""
    name = urlsplit(path).path if is_page(path) else path
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()


def of_types(paths: Iterable[str], types: Iterable[str]) -> list[str]:
    """Those of the paths that are of one of these suffixes (without the dot) or kinds."""
    wanted = set(types)
    suffixes = {suffix for kind in wanted for suffix in (f".{kind}", *KINDS.get(kind, ()))}
    pages = bool(wanted & {"html", "web"})
    return [path for path in paths if suffix_of(path) in suffixes or (pages and is_page(path))]
