"""The parts of an answer: citation marks, the sentences and list items that they belong to, and tables."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from local_rag.text.sentences import Span, sentences, stripped
from local_rag.text.words import BULLET, words

_BULLET_ALONE = re.compile(rf"\s*(?:{BULLET})?\s*")
_ITEM = re.compile(rf"\s*{BULLET}\s+(?=\S)")
_RANGE = re.compile(r"([1-9]\d?)\s*[-–]\s*([1-9]\d?)")
_LISTED = rf"(?:{_RANGE.pattern.replace('(', '(?:')}|\d{{1,4}})"
_MARK = re.compile(
    rf"(?<![ \t])[ \t]*+"
    rf"(?:\[({_LISTED}(?:\s*[,;]\s*{_LISTED})*)\]|【(\d{{1,4}}(?:\s*[,;]\s*\d{{1,4}})*)(?:†[^】\n]*)?】)"
)

Mark = tuple[Span, tuple[int, ...]]
"""Where a citation mark stands in a text (the blank before it included), and its numbers."""


def marks(text: str) -> list[Mark]:
    """The citation marks of a text: [1], [1, 2], [1-3] or 【1】."""
    return [(Span(*match.span()), tuple(cited)) for match in _MARK.finditer(text) if (cited := _cited(match))]


class Claim(NamedTuple):
    """A sentence, a list item or a row of a table in an answer: where it stands with its marks, its words without them,
    and the numbers it cites. `columns` are the headings of its table.
    """

    span: Span
    text: str
    numbers: tuple[int, ...]
    columns: str = ""


def claims(text: str, known: Sequence[Mark] | None = None) -> list[Claim]:
    """The sentences of an answer. A mark belongs to the sentence it stands in or behind, at the start of a line to the
    one after it.

    A mark does not cut a sentence, unless what follows begins anew: a quote that was cut has no full stop to end it.
    A row of a table is one claim, the heading of the table none. The first sentences of a list item are one claim with
    the sentence that has its first mark. `known` are the marks that count, where not all of `marks(text)` do.
    """
    known = marks(text) if known is None else known
    return sorted([*_sentences(blanked(text), known), *_rows(text, known)], key=lambda claim: claim.span)


def _rows(text: str, known: Sequence[Mark]) -> Iterator[Claim]:
    """The rows of the tables of an answer, each with all marks that stand in it."""
    for table in tables(text):
        columns = " | ".join(cells(table.heading.of(text)))
        for span in table.rows:
            inside = [mark for mark in known if span.start <= mark[0].start < span.end]
            plain = _plain(text, span, inside)
            if words(plain):
                yield Claim(
                    span, plain, tuple(dict.fromkeys(number for _, cited in inside for number in cited)), columns
                )


def _sentences(text: str, known: Sequence[Mark]) -> list[Claim]:
    known = [(mark, cited) for mark, cited in known if mark.of(text).strip()]  # not those of tables
    characters = list(text)
    for mark, _ in known:
        characters[mark.start : mark.end] = " " * (mark.end - mark.start)
    blank = "".join(characters)
    spans = [span for span in _cut_at(text, blank, [mark for mark, _ in known]) if words(span.of(blank))]
    starts = [span.start for span in spans]
    begins, ends = list(starts), [span.end for span in spans]
    numbers: list[list[int]] = [[] for _ in spans]
    for mark, cited in known:
        index = max(0, bisect_right(starts, mark.start) - 1)
        if leads(text, mark) and not (spans and spans[index].start <= mark.start < spans[index].end):
            index = bisect_left(starts, mark.end)
        if index >= len(spans):
            continue
        numbers[index] += cited
        begins[index] = min(begins[index], _line_start(text, mark) if leads(text, mark) else mark.start)
        ends[index] = max(ends[index], mark.end)
    each = map(Span, begins, ends)
    uncombined = [
        Claim(span, _plain(text, span, known), tuple(dict.fromkeys(cited)))
        for span, cited in zip(each, numbers, strict=True)
    ]
    return list(_items_as_one(text, uncombined, known))


def _plain(text: str, span: Span, known: Sequence[Mark]) -> str:
    """The part of a text without the marks in it."""
    plain, start = "", span.start
    for mark, _ in known:
        if span.start <= mark.start and mark.end <= span.end:
            plain, start = plain + text[start : mark.start], mark.end
    return (plain + text[start : span.end]).strip()


def _items_as_one(text: str, uncombined: Sequence[Claim], known: Sequence[Mark]) -> Iterator[Claim]:
    """The claims, those before the first mark of a list item put together."""
    begun: Claim | None = None
    for claim in uncombined:
        if begun is not None:
            if "\n" in text[begun.span.start : claim.span.start]:
                yield begun
                begun = None
            else:
                span = Span(begun.span.start, claim.span.end)
                claim = Claim(span, _plain(text, span, known), claim.numbers)
        if begins_item(claim.text) and not claim.numbers:
            begun = claim
            continue
        begun = None
        yield claim
    if begun is not None:
        yield begun


def begins_item(text: str) -> bool:
    """Whether a text begins with the bullet or the number of a list item."""
    return bool(_ITEM.match(text))


def without_bullet(text: str) -> str:
    """A list item without its bullet or number."""
    return _ITEM.sub("", text, count=1) if begins_item(text) else text


def _cut_at(text: str, blank: str, cuts: Sequence[Span]) -> Iterator[Span]:
    """The sentences of a text whose marks are blanked, cut also at the marks behind which another one begins."""
    after = [mark.end for mark in cuts if not leads(text, mark) and _begins_anew(text, mark.end)]
    for span in sentences(blank):
        start = span.start
        for cut in [end for end in after if span.start < end < span.end]:
            yield stripped(blank, start, cut)
            start = cut
        yield stripped(blank, start, span.end)


def _begins_anew(text: str, end: int) -> bool:
    """Whether what follows a mark looks like the beginning of a sentence: a blank, and no small letter or sign."""
    rest = text[end:].lstrip()
    return text[end : end + 1].isspace() and bool(rest) and not (rest[0].islower() or rest[0] in ".,;:!?…)[【&–—-")


def _line_start(text: str, mark: Span) -> int:
    """Where the line of a leading mark begins, without the blanks before it."""
    start = text.rfind("\n", 0, mark.start) + 1
    return stripped(text, start, mark.end).start


def leads(text: str, mark: Span) -> bool:
    """Whether a mark begins its line, behind a bullet or another mark at most, and words follow on that line."""
    line, rest = text[: mark.start].rpartition("\n")[2], text[mark.end :].partition("\n")[0]
    return bool(_BULLET_ALONE.fullmatch(without_marks(line))) and bool(words(without_marks(rest)))


def without_marks(text: str) -> str:
    return _MARK.sub(lambda match: "" if _cited(match) else match.group(), text)


def _cited(match: re.Match[str]) -> list[int]:
    """The numbers of a mark; none for [9-1], which counts down and is no mark."""
    numbers: list[int] = []
    for part in re.split(r"[,;]", match.group(1) or match.group(2)):
        limits = _RANGE.fullmatch(part.strip())
        first, last = map(int, limits.groups() if limits else (part, part))
        if last < first:
            return []
        numbers += range(first, last + 1)
    return numbers


# --- tables in Markdown (GFM, section 4.10): a line of headings, a delimiter row, and the rows

_TABLE = re.compile(
    r"^(?=[^\n]*\|)[^\n]*+\n(?=[^\n]*\|)(?=[^\n]*-)[ \t|:-]++(?:\n|\Z)(?:(?=[^\n]*\|)[^\n]++(?:\n|\Z))*+", re.MULTILINE
)


class Table(NamedTuple):
    """Spans of lines without the blanks around them."""

    heading: Span
    delimiter: Span
    rows: tuple[Span, ...]


def tables(text: str) -> list[Table]:
    """The tables of a text. A row is a line with a bar; the first line without one ends the table."""
    found: list[Table] = []
    for match in _TABLE.finditer(text):
        lines = [stripped(text, match.start() + line.start(), match.start() + line.end())
                 for line in re.finditer(r"[^\n]+", match.group())]  # fmt: skip
        found.append(Table(lines[0], lines[1], tuple(lines[2:])))
    return found


def cells(row: str) -> list[str]:
    """The cells of a row, without the bars around them."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def blanked(text: str) -> str:
    """The text with blanks in the place of its tables: other offsets stay what they are."""
    return _TABLE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


# --- an answer that is written part by part

_NUMBERED = re.compile(r"^([ \t]*)(\d{1,2})([.)])(?=[ \t]+\S)", re.MULTILINE)


def with_part(before: str, part: str) -> str:
    """The answer with a further part behind it. Numbers of a list and headings of a table are not begun anew."""
    part = part.strip()
    if not before:
        return part
    if (table := _rows_alone(before, part)) is not None:
        return f"{before}\n{table}"
    numbers = [int(match[2]) for match in _NUMBERED.finditer(before)]
    if numbers and _NUMBERED.match(part):
        following = iter(range(numbers[-1] + 1, 100))
        part = _NUMBERED.sub(lambda match: f"{match[1]}{next(following, match[2])}{match[3]}", part)
    return f"{before}{gap(before, part)}{part}"


def gap(before: str, part: str = "") -> str:
    """What stands between an answer and its next part, whose beginning may be unknown yet."""
    last = before.rpartition("\n")[2]
    if part and bool(tables(part)):
        return "\n\n"
    lines = "\n" in part or begins_item(last) or begins_item(part) or last.lstrip().startswith("|")
    return "\n" if before and lines else " "


def _rows_alone(before: str, part: str) -> str | None:
    """The rows of a part that goes on with the table at the end of an answer; None for any other part."""
    known, new = tables(before), tables(part)
    if not known or not known[-1].rows or known[-1].rows[-1].end < len(before.rstrip()):
        return None
    if part.startswith("|") and not new:
        return part
    same = bool(new) and new[0].heading.start == 0 and bool(new[0].rows)
    if not same or cells(new[0].heading.of(part)) != cells(known[-1].heading.of(before)):
        return None
    return part[new[0].rows[0].start :]
