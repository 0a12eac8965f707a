"""PDF by pdfium: one document per page, lines joined into paragraphs.

Its title is what the file says, else what the first page shows; a page is headed by its first line of its own.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from local_rag.core.documents import Heading
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.parsed_file import ParsedFile, Properties, clean, document
from local_rag.index.parse.properties import stated
from local_rag.text.display import shorten
from local_rag.text.words import BULLET

FULL_LINE = 0.75
"""Share of the page's usual long line from which a line counts as full, so that its sentence goes on in the next."""

_HYPHENS = "\ufffe\x02"
"""What pdfium writes for a hyphen at the end of a line, with the line break taken out."""

_SPLIT_WORD = re.compile(rf"(?<![^\W\d_])([^\W\d_]++)(?:[{_HYPHENS}]|-\n(?=[^\W\d_]))([^\W\d_]+)")
LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_ITEM = re.compile(rf"{BULLET}\s")

_LARGER = 1.25
"""Times the size of most letters of the page from which a line is a title. LaTeX's \\LARGE is 1.44 times a text of 12
points, a section's heading 1.2; read on 60 PDFs, where 1.1 takes headings of sections for titles."""

_TITLE_LINES = 3
_LONG_TITLE = 200

_BODY = 200
"""Letters of other sizes that a page has at least: a page of a few words shows no title by its size."""

_LOOKED_AT = 6000
"""Characters of the first page in which a title is sought."""

_FIRST = 4
"""Lines at the head of a page that are looked at."""

_RUNNING = 3
"""Pages from which a line at their head is that of all of them: the name of a company, a link to the contents."""

_WORDS, _LONG_HEADING = 12, 100

_NO_TEXT, _DAMAGED = "no text layer (scanned?)", "could not be read (damaged)"
_MOST_NAMED = 60
"""Characters of numbers of pages in a warning."""


class _Page(NamedTuple):
    """The raw text of a page, and what is wrong with it: nothing, where nothing at all is drawn on it, too."""

    text: str
    wrong: str = ""


def load_pdf(path: Path) -> ParsedFile:
    """The pages that have text, numbered from 1; the others are named in the warnings.

    Raises FileSkipped for a password, for damage, and when no page has a text layer.
    """
    properties, pages = _read(path)
    known = _vocabulary(page.text for page in pages)
    texts = [_page_text(page.text, known) for page in pages]
    wrong: dict[str, list[int]] = {}
    for number, (page, text) in enumerate(zip(pages, texts, strict=True), 1):
        if page.wrong and not text:
            wrong.setdefault(page.wrong, []).append(number)
    if not any(texts):
        if _NO_TEXT in wrong:
            where = f"any of its {len(pages)} pages" if len(pages) > 1 else "its only page"
            raise FileSkipped(f"no text layer on {where} (scanned?): run OCR first, e.g. ocrmypdf")
        raise FileSkipped("is empty" if pages and not wrong else "is damaged (none of its pages can be read)")
    warnings = (
        f"page{'s' if numbers[1:] else ''} {shorten(', '.join(map(str, numbers)), _MOST_NAMED)}: {reason}"
        for reason, numbers in wrong.items()
    )
    documents = (
        document(text, page=number, headings=headings, properties=properties)
        for number, (text, headings) in enumerate(zip(texts, _page_headings(texts), strict=True), 1)
        if text
    )
    return ParsedFile(tuple(documents), tuple(warnings))


def _read(path: Path) -> tuple[Properties, list[_Page]]:
    import pypdfium2

    try:
        file = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error):
            hint = "take the password off: qpdf --decrypt --password=PASSWORD IN.pdf OUT.pdf"
            raise FileSkipped("is encrypted with a password", hint=hint) from error
        raise FileSkipped("is damaged", hint="try to mend it: qpdf IN.pdf OUT.pdf") from error
    with closing(file):
        properties = _properties(file.get_metadata_dict())
        pages = [_pdfium_page(file, number) for number in range(len(file))]
        with suppress(pypdfium2.PdfiumError, ValueError, IndexError):
            properties = properties if properties.title else replace(properties, title=_shown_title(file[0]))
    return properties, pages


def _pdfium_page(file: Any, number: int) -> _Page:
    import pypdfium2

    try:
        page = file[number]
        text = page.get_textpage().get_text_range()
        is_empty = not text.strip() and next(page.get_objects(max_depth=1), None) is None
        return _Page(text, "" if is_empty else _NO_TEXT)
    except (pypdfium2.PdfiumError, ValueError):
        return _Page("", _DAMAGED)


def _properties(info: Mapping[str, str]) -> Properties:
    """The document information (ISO 32000-1, 14.3.3); an author called as the program that wrote the file is none."""
    title, author, subject, keywords, created, program, producer = (
        info.get(name, "").replace("\0", " ").strip()
        for name in ("Title", "Author", "Subject", "Keywords", "CreationDate", "Creator", "Producer")
    )
    made_by = (program or producer).partition(" ")[0]
    is_person = not made_by or author.partition(" ")[0] != made_by
    return stated(title, [author] if is_person else (), created, [subject, keywords])


def _vocabulary(texts: Iterable[str]) -> set[str]:
    """Words that stand unbroken somewhere in the file, compounds with their hyphens too, in lower case."""
    return {word.lower() for text in texts for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*(?![\ufffe\x02])", text)}


def _page_text(raw: str, known: set[str]) -> str:
    text = raw.replace("\r\n", "\n").replace("\r", "\n").translate(LIGATURES)
    text = _SPLIT_WORD.sub(lambda match: _mended(match, known), text)
    text = re.sub(f"[{_HYPHENS}]", "-", text)
    return "\n".join(_paragraphs(clean(text).split("\n"))).strip()


def _mended(match: re.Match[str], known: set[str]) -> str:
    """A word cut by a line break: as the file writes it elsewhere, else without the hyphen unless a capital follows."""
    left, right = match.groups()
    joined, compound = left + right, f"{left}-{right}"
    if joined.lower() in known:
        return joined
    return compound if compound.lower() in known or right[0].isupper() else joined


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Lines as they belong together; an empty one after each paragraph that ends with a short line or a heading."""
    lines = [" ".join(line.split()) for line in lines]
    full = _full([len(line) for line in lines if line])
    held = ""
    for line, after in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        held = f"{held} {line}".strip()
        if after and _goes_on(line, after, full):
            continue
        if held:
            yield held
            if line[-1:] in (".", "!", "?", ":") or len(after) >= full:
                yield ""
        held = ""


def _full(lengths: list[int]) -> float:
    """Characters of a full line, without limit where the page is no prose but a form, a table or verses."""
    lengths = sorted(lengths)
    usual = lengths[int(0.9 * (len(lengths) - 1))] if lengths else 0
    full = FULL_LINE * usual
    prose = sum(length >= full for length in lengths) >= 0.5 * len(lengths)
    return full if usual > 60 or (usual > 25 and prose) else math.inf


def _goes_on(line: str, after: str, full: float) -> bool:
    if _ITEM.match(after):
        return False
    open_end = line[-1:] in ",(-–" or (after[0].islower() and line[-1:] not in ".:;!?|")
    return len(line) >= full or (open_end and len(line) > 30)


def _shown_title(page: Any) -> str:
    """The title that a page shows, nothing where that is not certain.

    It is certain where only one line, or up to _TITLE_LINES that follow each other, has the largest letters, and it is
    words.
    """
    lines, sizes = list(_lines(page.get_textpage())), Counter[float]()
    for _, size, letters in lines:
        sizes[size] += letters
    largest = max(sizes, default=0.0)
    if not sizes or largest < _LARGER * sizes.most_common(1)[0][0] or sizes.total() - sizes[largest] < _BODY:
        return ""
    runs = [list(run) for size, run in itertools.groupby(lines, key=lambda line: line[1]) if size == largest]
    text = " ".join(" ".join(line for line, _, _ in runs[0]).replace("_", " ").split())
    letters = sum(map(str.isalpha, text))
    is_words = 4 <= letters >= 0.6 * len(text) and len(text) <= _LONG_TITLE and "://" not in text
    is_title = len(runs) == 1 and len(runs[0]) <= _TITLE_LINES and text[-1] not in ",;:"
    return stated(text).title if is_title and is_words else ""


def _lines(shown: Any) -> Iterator[tuple[str, float, int]]:
    """The upright lines of a page that have letters: the size of the middle one, as the page shows it, in points, and
    the number of letters. arXiv's stamp at the margin is no title.
    """
    import pypdfium2.raw as pdfium

    codes = (pdfium.FPDFText_GetUnicode(shown, at) for at in range(min(shown.count_chars(), _LOOKED_AT)))
    for line in re.finditer(r"[^\r\n]+", "".join(chr(min(code, 0xFFFD)) for code in codes)):
        letters = [line.start() + at for at, character in enumerate(line[0]) if character.isalpha()]
        middle = letters[len(letters) // 2] if letters else 0
        if letters and abs(math.sin(pdfium.FPDFText_GetCharAngle(shown, middle))) <= 0.1:
            matrix = pdfium.FS_MATRIX()
            pdfium.FPDFText_GetMatrix(shown, middle, ctypes.byref(matrix))
            size = pdfium.FPDFText_GetFontSize(shown, middle) * math.hypot(matrix.a, matrix.b)
            yield line[0], round(size, 1), len(letters)


def _page_headings(texts: Sequence[str]) -> list[tuple[Heading, ...]]:
    """The heading of each page, none where its first line that is no other page's is a sentence or a row of figures.

    A file of fewer than _RUNNING pages has none: its title says as much. Lines that differ only by their numbers, as
    page numbers do, are the same.
    """
    heads = [_first_lines(text) for text in texts]
    pages = Counter(line for head in heads for line in {_without_numbers(line) for line in head.values()})
    headings = list[tuple[Heading, ...]]()
    for text, head in zip(texts, heads, strict=True):
        own = (pair for pair in head.items() if pages[_without_numbers(pair[1])] < _RUNNING)
        start, line = next(own, (0, ""))
        is_heading = len(texts) >= _RUNNING and start + len(line) < len(text) and _is_heading(line)
        headings.append((Heading(start, 1, line),) if is_heading else ())
    return headings


def _first_lines(text: str) -> dict[int, str]:
    """The first lines of a page with letters in them, by where they start."""
    lines = itertools.islice(re.finditer(r"[^\n]+", text), 3 * _FIRST)
    worded = (line for line in lines if sum(map(str.isalpha, line[0])) > 3)
    return {line.start(): line[0].strip() for line in itertools.islice(worded, _FIRST)}


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+", "", line).strip()


def _is_heading(line: str) -> bool:
    tokens = line.split()
    if not line or len(line) > _LONG_HEADING or len(tokens) > _WORDS or line[-1] in ",;":
        return False
    letters = sum(character.isalpha() or character.isspace() for character in line)
    long = [word for word in tokens if len(word) > 3 and word[0].isalpha()]
    is_sentence = line[-1] in ".!?" and not sum(not word[0].islower() for word in long) > 0.6 * len(long)
    return line[0].isalnum() and not line[0].islower() and letters >= 0.7 * len(line) and not is_sentence
