"""Globs as regular expressions whose matching time grows with the path, not with what could match where.

Whoever writes a glob may be a stranger: a .gitignore comes along with a folder. A plain translation of *a*a*a*b tries
every way to share a name out among its stars. Here a part between two stars is taken where it first fits, for good,
which is always right because the next star takes the rest; so do the folders between two `**`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

STAR = "*"
"""Any characters but a slash, among the signs of a name."""

ANY_FOLDERS = "**"
"""Any number of folders, among the names of a path."""

ANY_SIGN = "[^/]"
"""One character of a name, as a regular expression."""


def one_of(ranges: Iterable[tuple[str, str]], negated: bool = False) -> str:
    """One character within the ranges (first, last), or outside of all of them; a slash is none in either case."""
    inside = "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in ranges if first <= last)
    if not inside:
        return ANY_SIGN if negated else "(?!)"
    return f"(?!/)[{'^' * negated}{inside}]"


def name_regex(signs: Iterable[str]) -> str:
    """The regular expression of one name; `signs` are `STAR`s and expressions that match exactly one character."""
    parts = [""]
    for sign in signs:
        if sign != STAR:
            parts[-1] += sign
        elif len(parts) == 1 or parts[-1]:
            parts.append("")
    if len(parts) == 1:
        return parts[0]
    first, *middle, last = parts
    return first + "".join(f"(?>{ANY_SIGN}*?{part})" for part in middle) + f"{ANY_SIGN}*{last}"


def path_regex(names: Sequence[str]) -> str:
    """The regular expression of a path; `names` are `ANY_FOLDERS` and the expressions of single names."""
    blocks: list[list[str]] = [[]]
    for name in names:
        if name != ANY_FOLDERS:
            blocks[-1].append(name)
        elif len(blocks) == 1 or blocks[-1]:
            blocks.append([])
    if len(blocks) == 1:
        return "/".join(blocks[0])
    first, *middle, last = blocks
    folders = f"(?:{ANY_SIGN}*/)*"
    start = "".join(f"{name}/" for name in first)
    between = "".join(f"(?>{folders}?{'/'.join(block)}/)" for block in middle)
    return f"{start}{between}{folders}{'/'.join(last)}"
