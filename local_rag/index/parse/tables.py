"""Tables as lines of text: each row is one line that carries its headers, "Revenue | 2023: 46,298 | 2022: 51,761"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise, zip_longest

from local_rag.text.words import BAR

EMPTIES = "–—-"
"""Dashes, each of which is an empty cell where rows do not carry their headers; the first one is written there."""

HEADER_ROWS = 20
"""Rows in which a header is sought."""

_LONG_HEADER = 100
_NUMBER = re.compile(r"[-+(<~]?\s*[$€£¥]?\s*[-+]?\d[\d.,'\s]*\s*(?:[%$€£¥)]|[A-Z]{3})*")
_TIME = re.compile(r"(?:FY ?)?(?:1[89]|20|21)\d\d(?:[-/]\d\d(?:[-/]\d\d)?)?")
"""A year, a month or a day, which may name a column."""


def rows(table: Iterable[Sequence[str]], *, headed: bool = False) -> list[str]:
    """Return the rows of a table that are not empty, a line each; see `lines`."""
    return [line for line in lines(table, headed=headed) if line]


def lines(table: Iterable[Sequence[str]], *, headed: bool = False) -> Iterator[str]:
    """Yield a line for each row, "" for one without text: its first cell, and every other cell behind its header.

    The header is a row, with rows above it where cells are merged, that differs from those below it. It and the titles
    above it are lines without headers. With `headed` a row of words above rows of words is one in two columns, too.
    """
    source = ([" ".join(cell.split()) for cell in row] if any(row) else [] for row in table)
    head = list(islice(source, HEADER_ROWS))
    start, end = header(head, headed=headed)
    names = names_of(head[start:end])
    for row in head[:end]:
        yield BAR.join(filter(None, row))
    for row in chain(head[end:], source):
        pairs = zip_longest(names[: len(row)], row, fillvalue="")
        yield BAR.join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def header(head: Sequence[Sequence[str]], *, headed: bool = False) -> tuple[int, int]:
    """Return where the header starts and ends among the first rows: (0, 0) where there is none."""
    filled = [(number, row) for number, row in enumerate(head) if any(row)]
    widths = [sum(map(bool, row)) for _, row in filled]
    usual = max(widths, key=lambda width: (widths.count(width), width), default=0)
    for place, ((last, row), width) in enumerate(zip(filled, widths, strict=True)):
        below = [other for _, other in filled[place + 1 :]]
        if any(row[1:]) and not _may_name(row):
            break
        is_merged = bool(below) and any(after in ("", cell) for cell, after in pairwise(row[1:]))
        is_group = is_merged and _is_group(row, head[last + 1]) and _may_name(head[last + 1])
        named = sum(map(any, zip_longest(row, head[last + 1]))) if is_group else width
        if below and any(row[1:]) and named + 1 >= usual and _differs(row, below, headed):
            above = last > 0 and _is_group(head[last - 1], row)
            return last - above, last + 1 + is_group
        if width >= usual > 1:
            break
    return 0, 0


def _may_name(row: Sequence[str]) -> bool:
    return all(len(cell) <= _LONG_HEADER and _kind(cell) != "number" for cell in row)


def _is_group(row: Sequence[str], below: Sequence[str]) -> bool:
    """Return whether a row names groups of the columns that the row below it names; a title names all of them."""
    several = any(row[2:]) or (any(row[1:]) and bool(row[0]))
    return several and _may_name(row) and any(below[1:]) and (not row[0] or below[0] in ("", row[0]))


def _differs(row: Sequence[str], below: Sequence[Sequence[str]], headed: bool) -> bool:
    """Return whether a row that may be a header is unlike the rows below it in some column, or of nothing but words."""
    names = list(filter(None, row))
    wide = len(names) > 2
    for cell, column in zip(row, zip_longest(*below, fillvalue=""), strict=False):
        kind, kinds = _kind(cell), {_kind(other) for other in column if any(map(str.isalnum, other))}
        if kind == "word" and kinds and "word" not in kinds:
            return True
        if kind == "time" and kinds and ("number" in kinds or (wide and "time" not in kinds)):
            return True
    return (headed or wide) and len(set(names)) == len(names) and all(_kind(name) == "word" for name in names)


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, with its unit or without."""
    return _kind(cell) == "number"


def _kind(cell: str) -> str:
    return "time" if _TIME.fullmatch(cell) else "number" if _NUMBER.fullmatch(cell) else "word" if cell else ""


def names_of(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of the columns, "" for the first; a group's name goes before those of its columns."""
    names: list[str] = []
    width = max(map(len, rows), default=0)
    for row in rows:
        spread, group = list[str](), ""
        for cell in [*row[1:], *[""] * (width - len(row))]:
            group = cell or (group if row is not rows[-1] else "")
            spread.append(group)
        names = [" ".join(dict.fromkeys(filter(None, pair))) for pair in zip_longest(names, spread, fillvalue="")]
    return ["", *names]
