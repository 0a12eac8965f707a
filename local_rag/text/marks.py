"""Split an answer into its parts: citation marks, the sentences and list items that they belong to, and tables."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from local_rag.text.sentences import Span, sentences, stripped
from local_rag.text.words import BULLET, words

_BULLET_ALONE = re.compile(rf"\s*(?:{BULLET})?\s*")
_ITEM = re.compile(rf"\A\s*{BULLET}\s+(?=\S)")
_MARK = re.compile(r"(?<![ \t])[ \t]*+[\[【](\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*+)(?:†[^】\n]*+)?[\]】]")
_BEGINS_ANEW = re.compile(r"\s+([^\s.,;:!?…)\[【&–—-])")

Mark = tuple[Span, tuple[int, ...]]
"""The span of a citation mark in a text (with the blank before it), and its numbers."""


def marks(text: str) -> list[Mark]:
    """Find the citation marks of a text: [1], [1, 2], [1-3] or 【1】."""
    return [(Span(*match.span()), tuple(cited)) for match in _MARK.finditer(text) if (cited := _cited(match))]


def without_marks(text: str) -> str:
    """Remove the citation marks of a text."""
    return _MARK.sub(lambda match: "" if _cited(match) else match.group(), text)


def _cited(match: re.Match[str]) -> list[int]:
    """Return the numbers of a mark; none for [9-1], [0-9] and [1990-99], which are not marks."""
    numbers: list[int] = []
    for part in re.split(r"[,;]", match[1]):
        first, *last = map(int, re.split(r"[–-]", part))
        if last and (len(last) > 1 or not 0 < first <= last[0] < 100):
            return []
        numbers += range(first, last[0] + 1) if last else [first]
    return numbers


class Claim(NamedTuple):
    """Hold a sentence, a list item or a table row of an answer: its span with marks, its text without them, and its
    numbers. `columns` are the headings of its table.
    """

    span: Span
    text: str
    numbers: tuple[int, ...]
    columns: str = ""


def claims(text: str, known: Sequence[Mark] | None = None) -> list[Claim]:
    """Return the sentences of an answer with their marks. A mark belongs to the sentence that it stands in or behind;
    at the start of a line, to the one after it.

    A mark does not end a sentence, unless a new sentence begins after it: a quote that was cut has no full stop to end
    it. A row of a table is one claim, the heading of the table none. The first sentences of a list item are one claim
    with the sentence that has its first mark. `known` are the marks that count, if not all of `marks(text)` do.
    """
    known = marks(text) if known is None else known
    without_tables = _TABLE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    return sorted([*_sentences(without_tables, known), *_rows(text, known)])


def _rows(text: str, known: Sequence[Mark]) -> Iterator[Claim]:
    for table in tables(text):
        columns = " | ".join(cells(table.heading.of(text)))
        for span in table.rows:
            numbers = dict.fromkeys(n for mark, cited in known if span.start < mark.end <= span.end for n in cited)
            claim = Claim(span, _plain(text, span, known), tuple(numbers), columns)
            if words(claim.text):
                yield claim


def _sentences(text: str, known: Sequence[Mark]) -> list[Claim]:
    known = [(mark, cited) for mark, cited in known if mark.of(text).strip()]  # not those of tables
    blank = text
    for mark, _ in known:
        blank = f"{blank[: mark.start]}{' ' * (mark.end - mark.start)}{blank[mark.end :]}"
    spans = [span for span in _cut_at_marks(text, blank, known) if words(span.of(blank))]
    whole = list(spans)
    numbers: list[dict[int, None]] = [{} for _ in spans]
    for mark, cited in known if spans else ():
        following = bisect_right(spans, mark.end, key=lambda span: span.end)
        before = max(0, bisect_right(spans, mark.start, key=lambda span: span.start) - 1)
        index = min(following, len(spans) - 1) if leads(text, mark) else before
        numbers[index] |= dict.fromkeys(cited)
        whole[index] = stripped(text, min(whole[index].start, mark.start), max(whole[index].end, mark.end))
    found: list[Claim] = []
    for span, cited_by in zip(whole, numbers, strict=True):
        last = found[-1] if found else None
        if last and begins_item(last.text) and not last.numbers and "\n" not in text[last.span.start : span.start]:
            span = Span(found.pop().span.start, span.end)
        found.append(Claim(span, _plain(text, span, known), tuple(cited_by)))
    return found


def _plain(text: str, span: Span, known: Sequence[Mark]) -> str:
    """Return a span of a text without the marks in it."""
    plain, start = "", span.start
    for mark, _ in known:
        if span.start < mark.end <= span.end:
            plain, start = plain + text[start : mark.start], mark.end
    return (plain + text[start : span.end]).strip()


def _cut_at_marks(text: str, blank: str, known: Sequence[Mark]) -> Iterator[Span]:
    """Yield the sentences of a text with blanked marks, cut also at the marks after which a new sentence begins."""
    ends = [mark.end for mark, _ in known if not leads(text, mark) and _begins_anew(text, mark.end)]
    for span in sentences(blank):
        start = span.start
        for end in (*(end for end in ends if span.start < end < span.end), span.end):
            yield stripped(blank, start, end)
            start = end


def _begins_anew(text: str, end: int) -> bool:
    """Return whether a new sentence seems to follow a mark: a blank, then neither a small letter nor a punctuation
    sign.
    """
    following = _BEGINS_ANEW.match(text, end)
    return following is not None and not following[1].islower()


def leads(text: str, mark: Span) -> bool:
    """Return whether a mark begins its line, after a bullet or other marks at most, and words follow on that line."""
    line, rest = text[: mark.start].rpartition("\n")[2], text[mark.end :].partition("\n")[0]
    return bool(_BULLET_ALONE.fullmatch(without_marks(line))) and bool(words(without_marks(rest)))


def begins_item(text: str) -> bool:
    """Return whether a text begins with the bullet or the number of a list item."""
    return bool(_ITEM.match(text))


def without_bullet(text: str) -> str:
    """Return a list item without its bullet or number."""
    return _ITEM.sub("", text)


# --- tables in Markdown (GFM, section 4.10): a line of headings, a delimiter row, and the rows

_TABLE = re.compile(
    r"^(?=[^\n]*\|)[^\n]*+\n(?=[^\n]*\|)(?=[^\n]*-)[ \t|:-]++(?:\n|\Z)(?:(?=[^\n]*\|)[^\n]++(?:\n|\Z))*+", re.MULTILINE
)


class Table(NamedTuple):
    """Hold the spans of a table's headings and rows, without the blanks around them."""

    heading: Span
    rows: tuple[Span, ...]


def tables(text: str) -> list[Table]:
    """Return the tables of a text. A row is a line with a bar; the first line without a bar ends the table."""
    found: list[Table] = []
    for match in _TABLE.finditer(text):
        lines = re.compile(r"[^\n]+").finditer(text, *match.span())
        heading, _, *rows = (stripped(text, *line.span()) for line in lines)
        found.append(Table(heading, tuple(rows)))
    return found


def cells(row: str) -> list[str]:
    """Return the cells of a row, without the bars around them."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


# --- an answer that is written part by part

_NUMBERED = re.compile(r"^\d{1,2}(?=[.)][ \t]+\S)", re.MULTILINE)


def with_part(before: str, part: str) -> str:
    """Append a further part to an answer: continue the numbers of a list, and do not repeat the heading of a table."""
    part = part.strip()
    if not before:
        return part
    if (numbers := _NUMBERED.findall(before)) and _NUMBERED.match(part):
        following = count(int(numbers[-1]) + 1)
        part = _NUMBERED.sub(lambda _: str(next(following)), part)
    lines = part.split("\n")
    if lines[0].startswith("|") and lines[0] in before.split("\n"):
        part = "\n".join(lines[2:])
    return f"{before}{gap(before, part)}{part}"


def gap(before: str, part: str = "") -> str:
    """Return the separator between an answer and its next part, whose beginning may not be known yet."""
    last = before.rpartition("\n")[2]
    if tables(part) or (part and begins_item(last) and not begins_item(part)):
        return "\n\n"
    return "\n" if "\n" in part or begins_item(last) or begins_item(part) or last.lstrip().startswith("|") else " "
