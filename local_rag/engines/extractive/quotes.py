"""Find the quotable parts of a passage: whole sentences and lists, no headings, captions, code or reference lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from local_rag.text.marks import begins_item, without_bullet, without_marks
from local_rag.text.markup import plain
from local_rag.text.names import head
from local_rag.text.sentences import Span, sentences
from local_rag.text.words import BULLET, collapsed, content_stems, fold, indentation, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

MAX_WORDS = 60
"""The most words of one quote; a longer sentence is cut around the words of the question."""
MAX_LIST_WORDS = 120
"""The most words of a list with its introduction, cut between two items, and of "(1) one; (2) two" in a sentence."""
MAX_ITEM_WORDS = 25
"""The most words of a list item that is quoted whole."""

_BULLET = re.compile(r"(?:[-*+•◦▪‣–]|\(?(?:\d{1,3}|[a-z])[.)])[ \t]+")
_HEADING = re.compile(r"#{1,6}[ \t]")
_CAPTION = re.compile(
    r"(?:fig(?:ure)?s?|tab(?:le)?s?|listing|image|photo|source)\b\.? ?(?:\(?\d|:|by\b|source\b)", re.I
)
_REFERENCE = re.compile(
    r"\[\d+\] .*[\"“]|[A-Z][\w’'-]+(?: et al\.?| (?:&|and) [A-Z][\w’'-]+),?\.? (?:\(\d{4}\)\.? )?[\"“]"
    r"|[A-Z][\w’'-]+, (?:[A-Z]\. ?)+.{0,80}\(\d{4}"
    r"|.*\b(?:arXiv|preprint|doi|ISBN|Proceedings|NeurIPS|ICLR|ICML|Retrieved from)\b[ :.\d]|.*@\w+\{"
)
_LEADERS = re.compile(r"\.{4,}|(?: \.){4,}|…{2,}")
_LINK = re.compile(r"https?://\S+|www\.\S+")
_SYMBOLS = re.compile(r"[{}<>=\\_^|~#@]|\$(?!\d)|&(?!\w+;|\s)|;$|\(\)|\*\*|::|->")
_SENTENCE_END = re.compile(r"[.!?…:。！？][\"'”’)\]*_]*$")
_OPEN_ENDS = frozenset(
    "a an the of by for from with in on at to into and or but nor as than that which our your their its my".split()
)
"""Words that end no sentence: a text with such an end was cut off."""
_NUMBERED = re.compile(r"\([1a]\).*\([2b]\)")
_SERIES = re.compile(r"\w, (?:\w+ ){1,4}(?:and|or|und|oder) \w")
_DATELINE = re.compile(r"(?:[^\W\d_]+,? ){0,4}(?:\d{1,2}(?:st|nd|rd|th|\.)? [^\W\d_]+|[^\W\d_]+ \d{1,2},) \d{4}\.?")
_CLAUSE = re.compile(r"(?<=[,;:|–—])\s+")
_ROW = re.compile(r"\S \| ")
_MAX_SYMBOLS = 0.25  # per word


class Quote(NamedTuple):
    """Hold a span of the `document`-th passage (from 0) that may be quoted, and the words that it is read with.

    `context` holds title, heading and the sentences around it. `listed`: it holds list items, whose lines are kept.
    """

    document: int
    span: Span
    text: str
    context: str
    listed: bool = False

    def overlaps(self, other: Quote) -> bool:
        """Return whether both quotes share a part of one passage."""
        first, second = sorted((self.span, other.span))
        return self.document == other.document and second.start < first.end


def quotes(documents: Sequence[Document]) -> list[Quote]:
    """Return all quotes of the passages, in their order."""
    return [quote for number, document in enumerate(documents) for quote in _of_passage(number, document)]


def _of_passage(number: int, document: Document) -> list[Quote]:
    passage = document.page_content
    spans = sentences(passage)
    titles = [words(str(document.metadata.get(key) or "")) for key in ("title", "heading")]
    result: list[Quote] = []
    for order, span in enumerate(spans):
        written, last = span.of(passage), _list_end(passage, spans, order)
        if last > order:
            whole = Span(span.start, spans[last].end)
        else:
            bullet = _BULLET.match(written)
            whole = Span(span.start + bullet.end(), span.end) if bullet else span
            if written.endswith(":") or words(written) in titles:
                continue
        if quotable(whole.of(passage) if last > order else written):
            around = spans[max(0, order - 1) : last + 2]
            context = f"{head(document)} {passage[around[0].start : around[-1].end]}"
            result.append(Quote(number, whole, whole.of(passage), context, last > order))
    return result


def _list_end(passage: str, spans: Sequence[Span], first: int) -> int:
    """Return the last sentence of the list that the `first` one introduces, or `first` if it introduces none.

    A list is introduced with a colon, a table by its first row.
    """
    written = spans[first].of(passage)
    table = bool(_ROW.search(written)) and not (first and _ROW.search(spans[first - 1].of(passage)))
    if not table and not written.endswith(":"):
        return first
    end, count = first, len(written.split())
    for position in range(first + 1, len(spans)):
        following = spans[position].of(passage)
        count += len(following.split())
        goes_on = _ROW.search(following) if table else _goes_on(passage, spans, first, position)
        if count > MAX_LIST_WORDS or not goes_on:
            break
        end = position
    return end


def _goes_on(passage: str, spans: Sequence[Span], first: int, position: int) -> bool:
    """Return whether a sentence belongs to the list: an item, the rest of an item, or the line below the
    introduction.
    """
    if _BULLET.match(spans[position].of(passage)):
        return True
    breaks = passage[spans[position - 1].end : spans[position].start].count("\n")
    if position == first + 1:
        return breaks <= 1 and quotable(spans[position].of(passage))
    return breaks == 0


class Listed(NamedTuple):
    """Hold the items of a list or of a table, the line before them, and the span of the whole in the passage."""

    introduction: str
    items: list[str]
    start: int
    end: int


def items_around(passage: str, start: int) -> list[str]:
    """Return the items of the innermost list around code point `start`, or of the list after its line; else none."""
    line_end = passage.find("\n", start) % (len(passage) + 1)
    around = [block for block in lists(passage) if block.start <= start < block.end]
    after = [block for block in lists(passage) if start < block.start and not passage[line_end : block.start].strip()]
    return next((block.items for block in [*reversed(around), *after]), [])


def lists(passage: str) -> list[Listed]:
    """Return the lists of a passage, an outer one before those inside it, and the first columns of its tables.

    A list consists of neighbouring lines with bullets of one indentation, and of the lines indented below them. An item
    longer than `MAX_ITEM_WORDS` is cut to its first sentence, or clause.
    """
    found: dict[int, Listed] = {}
    lines = list(re.finditer(r"[^\n]+", passage))
    written = [line.group() for line in lines]
    begun: set[int] = set()
    for first, line in enumerate(written):
        if first in begun or not (begins_item(line) or is_row(line)):
            continue
        level, row = indentation(line), not begins_item(line)
        belongs = is_row if row else partial(_belongs, level=level)
        size = sum(1 for _ in takewhile(belongs, written[first:]))
        begun.update(place for place in range(first, first + size) if row or indentation(written[place]) == level)
        items = _first_cells(written[first : first + size]) if row else _items(written[first : first + size], level)
        if len(items) > 1:
            introduction = sentences(written[first - 1])[-1].of(written[first - 1]) if first else ""
            found[first] = Listed(introduction, items, lines[first].start(), lines[first + size - 1].end())
    return [found[first] for first in sorted(found)]


def _items(lines: Sequence[str], level: int) -> list[str]:
    items: list[list[str]] = []
    for line in lines:
        if indentation(line) == level:
            items.append([without_bullet(line).strip()])
        elif items and not begins_item(line):
            items[-1].append(line.strip())
    return [item for item in map(_first_clause, map(" ".join, items)) if words(item)]


def _first_cells(rows: Sequence[str]) -> list[str]:
    """Return the first column of a table without its heading."""
    return [cell for row in rows[1:] if words(cell := plain(without_marks(row.split(" | ")[0])).strip())]


def _belongs(line: str, level: int) -> bool:
    """Return whether a line is an item of this indentation or is indented below one."""
    return indentation(line) > level or (indentation(line) == level and begins_item(line))


def _first_clause(item: str) -> str:
    """Return a short item whole; else its first sentence, or the first clause of that."""
    if len(item.split()) > MAX_ITEM_WORDS:
        item = sentences(item)[0].of(item)
    if len(item.split()) > MAX_ITEM_WORDS:
        item = _CLAUSE.split(item)[0].rstrip(" ,;:|–—")
    return collapsed(plain(without_marks(" ".join(item.split()[:MAX_WORDS]))))


def is_inline_list(sentence: str) -> bool:
    """Return whether a sentence is a list: "(1) one, (2) two", or short and with several commas or "a, b and c"."""
    short = len(sentence.split()) <= MAX_ITEM_WORDS
    return bool(_NUMBERED.search(sentence)) or (short and (sentence.count(",") > 1 or bool(_SERIES.search(sentence))))


def is_dateline(line: str) -> bool:
    """Return whether a line only gives the place and date of a text: "Lower Aldby, 4 October 1998"."""
    return bool(_DATELINE.fullmatch(line))


def line_at(text: str, place: int) -> str:
    """Return the line around a code point."""
    return text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0]


def is_row(line: str) -> bool:
    """Return whether a line is the row of a table."""
    return bool(_ROW.search(line))


def spoken(text: str) -> str:
    """Return the words of a text without marks, in a form that can be searched for in another text."""
    return f" {' '.join(words(without_marks(text)))} "


def quotable(sentence: str) -> bool:
    """Return whether a sentence can be read alone: not a heading, a caption, code, a reference or a link."""
    readable = _LINK.sub("", plain(sentence)).strip()
    written = readable.split()
    if len(words(readable)) < 3 or readable.endswith("?") or fold(written[-1]) in _OPEN_ENDS:
        return False
    if _LEADERS.search(readable) or any(pattern.match(readable) for pattern in (_HEADING, _CAPTION, _REFERENCE)):
        return False
    symbols = sum(len(match) for match in _SYMBOLS.findall(readable))
    if symbols > max(2, _MAX_SYMBOLS * len(written)) and "|" not in readable:
        return False
    bullet = _BULLET.match(readable)  # a few words without a full stop, a number or a colon are a heading
    states = bool(re.search(r"[:|=]\s|\d", readable[bullet.end() :] if bullet else readable))
    return states or bool(_SENTENCE_END.search(readable)) or len(written) > (5 if bullet else 9)


def as_written(quote: Quote, wanted: set[str], kept: str = "") -> str:
    """Return a quote on one line (a list keeps its lines), cut around the `wanted` stems if it is too long.

    The words `kept` stay in it if a part of it holds them. Numbers in brackets are removed: a paper's own references
    would look like citation marks.
    """
    written = without_marks(plain(quote.text))
    if quote.listed:
        lines = re.split(rf"\n+(?=[ \t]*{BULLET}\s|.*\|)", written)
        return "\n".join(line[: indentation(line)] + collapsed(line) for line in lines)
    line = collapsed(written)
    limit = MAX_LIST_WORDS if _NUMBERED.search(line) else MAX_WORDS
    return line if len(line.split()) <= limit else _best_part(line, wanted, kept).rstrip(" ,;:–—|")


def _best_part(line: str, wanted: set[str], kept: str) -> str:
    """Return neighbouring clauses of at most `MAX_WORDS` words with the most wanted stems; the earliest of equals."""
    parts = (clause.split(" ") for clause in _CLAUSE.split(line))
    clauses = [" ".join(part[at : at + MAX_WORDS]) for part in parts for at in range(0, len(part), MAX_WORDS)]
    phrase = collapsed(kept)
    best, most = "", (False, -1)
    for first in range(len(clauses)):
        part = ""
        for clause in clauses[first:]:
            longer = f"{part} {clause}".strip()
            if part and len(longer.split()) > MAX_WORDS:
                break
            part = longer
        hits = phrase in part, len(wanted & set(content_stems(part)))
        if hits > most:
            best, most = part, hits
    return best
