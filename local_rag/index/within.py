"""Which files and pages a person means by "only these": paths, URLs, folders and globs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

from local_rag.text.urls import is_url, normal

_SIGN = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]")


def matching(paths: Iterable[str], within: Sequence[str]) -> list[str]:
    """Those of the absolute `paths` that one of the wishes means.

    A wish is a file, a folder (all below it), or a glob (`**` crosses folders). A relative one is looked for from the
    current folder, and if nothing is there, as the end of a path: `--in handbook.pdf` and `--in 'notes/*.md'` need not
    be typed where the files lie. A URL is read in the same way, and is absolute.
    """
    known = {path: path.replace("\\", "/") for path in paths}
    found: set[str] = set()
    for wish in within:
        ways = ({path for path, plain in known.items() if way.fullmatch(plain)} for way in _ways(wish))
        found |= next((hits for hits in ways if hits), set())
    return [path for path in known if path in found]


def _ways(wish: str) -> list[re.Pattern[str]]:
    """How to read a wish, strictest first: from here before from anywhere, as it is written before as a glob."""
    if is_url(wish):
        urls = [re.escape(normal(wish).rstrip("/")) + "/?", _regex(wish.partition("#")[0].rstrip("/"))]
        return [_with_all_below(url) for url in urls]
    place = Path(wish).expanduser()
    fixed = list(takewhile(lambda part: not _SIGN.search(part), place.parts))
    from_here = Path(*fixed).resolve().joinpath(*place.parts[len(fixed) :])
    ways = [re.escape(place.resolve().as_posix()), _regex(from_here.as_posix())]
    if place.parts and not place.is_absolute() and ".." not in place.parts:
        ways += [f"(?:.*/)?{re.escape(place.as_posix())}", f"(?:.*/)?{_regex(place.as_posix())}"]
    return [_with_all_below(way) for way in ways]


def _with_all_below(way: str) -> re.Pattern[str]:
    return re.compile(f"{way}(?:/.*)?", re.DOTALL)


def _regex(glob: str) -> str:
    """A glob as a regular expression; only `**` crosses a slash (https://git-scm.com/docs/gitignore)."""
    pieces = glob.split("/")
    if pieces[-1] == "**":
        pieces.append("*")
    parts = ["(?:[^/]+/)*" if part == "**" else _part(part) + "/" for part in pieces]
    return "".join(parts).removesuffix("/")


def _part(part: str) -> str:
    found, at = "", 0
    for sign in _SIGN.finditer(part):
        found += re.escape(part[at : sign.start()]) + _sign(sign.group())
        at = sign.end()
    return found + re.escape(part[at:])


def _sign(sign: str) -> str:
    if sign[0] == "*":
        return "[^/]*"
    if sign == "?":
        return "[^/]"
    inside = sign[1:-1].replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^")
    return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
