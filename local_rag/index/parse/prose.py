"""Plain text, Markdown and reStructuredText: stored as they are, with their title and headings."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, chain, zip_longest
from pathlib import Path

from local_rag.core.documents import Heading
from local_rag.index.parse.front_matter import fields, front_matter
from local_rag.index.parse.parsed_file import ParsedFile, clean, document
from local_rag.index.parse.tables import rows
from local_rag.text.encoding import decode

LONG = 300
"""Characters of a heading that are looked at."""

LONG_LINE = 2000
"""Characters of a line that patterns look at: where one goes back and forth, a longer line would take very long."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(?=\S)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NO_PARAGRAPH = re.compile(r"[ \t]*([-*+>|]|\d+[.)])[ \t]|[ \t]*$| {4}|\t| {0,3}#{1,6} |[ \t]*\|")
_ATTRIBUTES = re.compile(r"[ \t]*\{[ \t]*[#.:][^{}]*\}[ \t]*$")
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]+")
_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_PIPE = re.compile(r"(?<!\\)\|")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*$")
_MARKS = " \t*=#"
_NO_TITLE = re.compile(r"(dear|hi|hello|hey|to whom|from|to|sent|date|re|copyright|this file|page)\b", re.IGNORECASE)
_ROLE = re.compile(r":[\w:+.-]+:`([^`<]*?)(?:\s*<[^`>]*>)?`|``?|\*{1,2}")


def read(path: Path) -> str:
    """The clean text of a text file. Raises FileSkipped for a binary or an empty one."""
    return clean(decode(path.read_bytes()))


def load_code(path: Path) -> ParsedFile:
    """Source code, configuration and the like: no title, no headings."""
    return ParsedFile((document(read(path)),))


def load_text(path: Path) -> ParsedFile:
    """Plain text: what the lines at its head say of it ("Title: …"), else its first line where that looks like a title.

    It has no headings.
    """
    text = read(path)
    return ParsedFile((document(text, _first_line(text), properties=fields(text, begin=True)),))


def _first_line(text: str) -> str:
    """The first line where it is short, stands alone above more text, and is neither a sentence nor a greeting."""
    first, _, rest = text[:LONG_LINE].lstrip().partition("\n")
    following = rest.partition("\n")[0].strip()
    title = first.strip(_MARKS)
    alone = not following or bool(_ADORNMENT.match(following))
    letters = sum(character.isalpha() or character.isspace() for character in title)
    if not alone or not rest.strip() or not 3 <= len(title) <= 120 or letters < 0.6 * len(title):
        return ""
    begins = title[0].isdigit() or (title[0].isalpha() and not title[0].islower())
    sentence = title[-1] in ".,;:" or len(title.split()) > 16
    return "" if not begins or sentence or _NO_TITLE.match(title) or "://" in title else title


def load_markdown(path: Path) -> ParsedFile:
    """Markdown as it is written, but that the rows of its tables carry their headers; headings of both styles
    (https://spec.commonmark.org/0.31.2/#atx-headings).
    """
    text = read(path)
    properties, begin = front_matter(text)
    headings, tables = list(markdown_headings(text, begin)), list(_tables(text))
    outermost = min(headings, key=lambda h: (h.level, h.start), default=None)
    ends = [0, *(end for _, end, _ in tables)]
    grown = list(accumulate((len(rows) - (end - start) for start, end, rows in tables), initial=0))
    kept = (text[end:start] for end, start in zip(ends, [*(start for start, _, _ in tables), len(text)], strict=True))
    text = "".join(chain.from_iterable(zip_longest(kept, (rows for _, _, rows in tables), fillvalue="")))
    headings = [replace(heading, start=heading.start + grown[bisect(ends, heading.start) - 1]) for heading in headings]
    title = outermost.text if outermost else ""
    return ParsedFile((document(text, title, headings=headings, properties=properties),))


def _tables(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each table starts and ends, and its rows behind their headers
    (https://github.github.com/gfm/#tables-extension-).
    """
    fence, start, table = "", 0, list[str]()
    above, above_start = "", 0
    for at, line in [*_lines(text, longest=None), (len(text), "")]:
        fence = _fence(fence, line)
        if table and (fence or "|" not in line):
            cells = ([cell.replace("\\|", "|") for cell in _PIPE.split(row.strip().strip("|"))] for row in table)
            yield start, at - 1, "\n".join(rows(cells, headed=True))
            table = []
        elif table:
            table.append(line)
        elif not fence and "|" in above and "|" in line and _RULE.fullmatch(line):
            start, table = above_start, [above]
        above, above_start = line, at


def _lines(text: str, start: int = 0, longest: int | None = LONG_LINE) -> Iterator[tuple[int, str]]:
    """Lines, cut where they are too long for a heading, with the code point they start at."""
    for line in text[start:].split("\n"):
        yield start, line[:longest]
        start += len(line) + 1


def _fence(fence: str, line: str) -> str:
    """The fence that a line stands in, or opens; empty outside of code."""
    opened = _FENCE.match(line)
    if not fence:
        return opened.group(1) if opened else ""
    closed = opened and opened.group(1).startswith(fence) and not line.strip("`~ \t")
    return "" if closed else fence


def markdown_headings(text: str, begin: int) -> Iterator[Heading]:
    fence, before, before_start = "", "", 0
    for start, line in _lines(text, begin):
        inside, fence = fence, _fence(fence, line)
        if inside or fence:
            before = ""
        elif (heading := _ATX.match(line)) and (words := _unclosed(line[heading.end() :])):
            yield Heading(start, len(heading.group(1)), _plain(words))
            before = ""
        elif before and (underline := _UNDERLINE.match(line)):
            yield Heading(before_start, 1 if underline.group(1)[0] == "=" else 2, _plain(before))
            before = ""
        else:
            # only the first line after a blank one can be a heading: below it stands a paragraph or a table
            paragraph = not _NO_PARAGRAPH.match(line) and (start == begin or text[start - 2 : start] == "\n\n")
            before, before_start = (line, start) if paragraph else ("", start)


def _unclosed(heading: str) -> str:
    """A heading without the closing #s, which stand behind a blank: C# stays."""
    heading = heading.rstrip(" \t")
    words = heading.rstrip("#")
    return words.rstrip(" \t") if not words or words[-1] in " \t" else heading


def _plain(heading: str) -> str:
    return _MARKUP.sub(lambda match: match.group(1) or "", _ATTRIBUTES.sub("", heading[:LONG])).strip()


def load_rst(path: Path) -> ParsedFile:
    """The text of reStructuredText as it is written.

    A title is underlined at its full width, maybe overlined; levels in the order in which the adornments appear
    (https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#sections). PEPs have a Title field.
    """
    text = read(path)
    headings = list(_rst_headings(text))
    title = headings[0].text if headings else ""
    return ParsedFile((document(text, title, headings=headings, properties=fields(text)),))


def _rst_headings(text: str) -> Iterator[Heading]:
    levels: dict[tuple[str, bool], int] = {}
    lines = list(_lines(text))
    for number in range(1, len(lines)):
        (start, line), (_, underline) = lines[number - 1], lines[number]
        adornment = _ADORNMENT.match(underline)
        if not adornment or not line.strip() or _ADORNMENT.match(line) or len(underline.rstrip()) < len(line.rstrip()):
            continue
        above = lines[number - 2][1] if number > 1 else ""
        overlined = above.rstrip() == underline.rstrip()
        if (above.strip() and not overlined) or (line[0].isspace() and not overlined):
            continue
        level = levels.setdefault((adornment.group(1), overlined), len(levels) + 1)
        yield Heading(
            lines[number - 2][0] if overlined else start,
            level,
            _ROLE.sub(lambda match: match.group(1) or "", line[:LONG]).strip(),
        )
