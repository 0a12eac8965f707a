"""PDF read by pdfium; one document per page, lines joined into paragraphs.

The title is that in the file's information, else the one that the first page shows; a page is headed by its first line
that no other page has.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from local_rag.core.documents import Heading
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.parsed_file import Inside, ParsedFile, Piece, Properties, clean, document
from local_rag.index.parse.pdf_forms import MOST_FIELDS, Filled
from local_rag.index.parse.pdf_layout import BREAK, CELL
from local_rag.index.parse.pdf_text import PageText, page_text
from local_rag.index.parse.properties import stated
from local_rag.index.parse.prose import is_heading
from local_rag.text.words import BAR, BULLET

if TYPE_CHECKING:
    from pypdfium2 import PdfAttachment, PdfDocument, PdfPage

FULL_LINE = 0.75
"""Share of the page's usual long line from which a line counts as full, so that its sentence goes on in the next."""

_HYPHEN = "\ufffe"
"""The character that pdfium writes for a hyphen at the end of a line, with the line break taken out; its other one is
\\x02.
"""

_SPLIT_WORD = re.compile(rf"(?<![^\W\d_])([^\W\d_]++)(?:{_HYPHEN}|-\n(?=[^\W\d_]))([^\W\d_]+)")
_WHOLE_WORD = re.compile(rf"[^\W\d_]+(?:-[^\W\d_]+)*(?!{_HYPHEN})")
LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_LIGATURE = re.compile("[\ufb00-\ufb06]")
_ITEM = re.compile(rf"{BULLET}\s")

_LARGER = 1.25
"""The least size of a title, as a multiple of that of most letters of the page. LaTeX's \\LARGE is 1.44 times a text of
12 points, a section's heading 1.2; read on 60 PDFs, where 1.1 takes headings of sections for titles.
"""

_TITLE_LINES = 3

_BODY = 200
"""Letters of other sizes that a page has at least: a page of a few words shows no title by its size."""

_TITLE_SAMPLE = 6000
"""Characters of the first page in which a title is sought."""

_FIRST = 4
"""Lines at the head of a page that are looked at."""

_RUNNING = 3
"""Pages from which a line at their head is taken for that of all of them: the name of a company, a link to the
contents.
"""


_FEW = 30
"""Letters and marks up to which the text of a page with an image is a page number or the stamp of a scanner."""

_NOISE = 0.3
"""Share of characters without a meaning, such as those of a font without a table of its letters, that make it noise."""


LARGEST = 100_000_000
"""The most bytes of an attached file."""

_XFA = "is a form of Adobe's own kind (XFA), which is not read: print it into a PDF"


def load_pdf(path: Path) -> Iterator[Piece]:
    """Read the pages that have text, numbered from 1, and the files that are attached to them.

    Pages that are pictures wait for OCR, unless nothing is drawn on them. Raises FileSkipped for a password and for
    damage.
    """
    import pypdfium2

    try:
        file = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            hint = "take the password off: qpdf --decrypt --password=PASSWORD IN.pdf OUT.pdf"
            raise FileSkipped("is encrypted with a password", hint=hint) from error
        raise FileSkipped("is damaged", hint="mend it: qpdf IN.pdf OUT.pdf") from error
    with closing(file):
        filled = Filled(file)
        yield _read(file, filled)
        attached = [*map(file.get_attachment, range(file.count_attachments())), *filled.attached]
        for attachment in attached:
            yield Inside(attachment.get_name() or "attachment", partial(_opened, attachment))


def _read(file: PdfDocument, filled: Filled) -> ParsedFile:
    """Read the pages of a file."""
    import pypdfium2

    pages = [_raw_page(file, number, filled) for number in range(len(file))]
    properties = _properties(file.get_metadata_dict())
    if not properties.title and pages[:1] and pages[0].text:
        properties = replace(properties, title=_shown_title(file[0]))
    known = {word for page in pages for word in _WHOLE_WORD.findall(page.text.lower())}
    texts = [_page_text(page.text, known) for page in pages]
    scans = tuple(number for number, page in enumerate(pages, 1) if page.is_picture)
    documents = (
        document(text, page=number, headings=headings, properties=properties)
        for number, (text, headings) in enumerate(zip(texts, _page_headings(texts), strict=True), 1)
        if text
    )
    unread = f"{filled.unread:,} fields and notes behind the first {MOST_FIELDS:,} were not read"
    is_xfa = file.get_formtype() == pypdfium2.raw.FORMTYPE_XFA_FULL
    warnings = [unread] * bool(filled.unread) + [_XFA] * is_xfa
    return ParsedFile(tuple(documents), tuple(warnings), scans=scans)


def _opened(attachment: PdfAttachment) -> IO[bytes]:
    """Return an attached file. Raises FileSkipped for a large one."""
    from pypdfium2 import raw

    size = ctypes.c_ulong()
    raw.FPDFAttachment_GetFile(attachment.raw, None, 0, size)
    if size.value > LARGEST:
        raise FileSkipped(f"is larger than {LARGEST // 1_000_000} MB")
    return BytesIO(bytes(attachment.get_data()) if size.value else b"")


class _Page(NamedTuple):
    """The text of a page as pdfium gives it; on a page that `is_picture` it says little or nothing of what is drawn."""

    text: str = ""
    is_picture: bool = True


def _raw_page(file: PdfDocument, number: int, filled: Filled) -> _Page:
    """Read a page, a damaged one as a picture."""
    import pypdfium2

    try:
        page = file[number]
        shape = page_text(page, page.get_textpage())
        noted = list(filled.on(page, shape))
        text = clean(_LIGATURE.sub(lambda match: LIGATURES[ord(match[0])], shape.written()))
        marks = "".join(text.split())
        foreign = re.findall(rf"[^\x00-\x7f{CELL}]", marks)
        unreadable = sum(unicodedata.category(mark) in ("Co", "Cn") or mark == "\ufffd" for mark in foreign)
        drawn = () if len(marks) >= _FEW else [each.type for each in page.get_objects(max_depth=1)]
        is_picture = pypdfium2.raw.FPDF_PAGEOBJ_IMAGE in drawn if marks else bool(drawn)
        text = BREAK.join([text, *map(clean, noted)])
        return _Page(text, is_picture or unreadable > _NOISE * len(marks))
    except (pypdfium2.PdfiumError, ValueError):
        return _Page()


def _properties(info: Mapping[str, str]) -> Properties:
    """Return the document information (ISO 32000-1, 14.3.3); an author called as the program that made the file is
    none.
    """
    title, author, made_by, date, *subjects = (
        info.get(name, "").replace("\0", " ").strip()
        for name in ("Title", "Author", "Creator", "CreationDate", "Subject", "Keywords")
    )
    made_by = made_by or info.get("Producer", "")
    is_person = not made_by or author.split(" ")[0] != made_by.split(" ")[0]
    return stated(title, [author] if is_person else (), date, subjects)


def _page_text(text: str, known: set[str]) -> str:
    """Return the paragraphs of a page; `known` are the words, in lower case, that stand unbroken somewhere in the
    file.
    """
    if _HYPHEN in text or "-\n" in text:
        text = _SPLIT_WORD.sub(lambda match: _mended(match, known), text).replace(_HYPHEN, "-")
    blocks = ("\n".join(_paragraphs(block.split("\n"))).strip() for block in text.split(BREAK))
    return "\n\n".join(filter(None, blocks)).replace(CELL, BAR)


def _mended(match: re.Match[str], known: set[str]) -> str:
    """Return a word cut by a line break as the file writes it elsewhere, else without the hyphen unless a capital
    follows.
    """
    left, right = match.groups()
    joined, compound = left + right, f"{left}-{right}"
    if joined.lower() in known:
        return joined
    return compound if compound.lower() in known or right[0].isupper() else joined


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Yield lines joined as they belong together; an empty one after each paragraph that ends with a short line or a
    heading.
    """
    lines = [" ".join(line.split()) for line in lines]
    full = full_line([len(line) for line in lines if line])
    held = ""
    for line, after in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        held = f"{held} {line}".strip()
        if after and goes_on(line, after, full):
            continue
        if held:
            yield held
            if CELL not in line + after and (line[-1:] in (".", "!", "?", ":") or len(after) >= full):
                yield ""
        held = ""


def full_line(lengths: list[int]) -> float:
    """Return the characters of a full line, without limit where the page is no prose but a form, a table or verses."""
    lengths = sorted(lengths)
    usual = lengths[int(0.9 * (len(lengths) - 1))] if lengths else 0
    full = FULL_LINE * usual
    prose = sum(length >= full for length in lengths) >= 0.5 * len(lengths)
    return full if usual > 60 or (usual > 25 and prose) else math.inf


def goes_on(line: str, after: str, full: float) -> bool:
    """Return whether a sentence goes on from a line to the next."""
    if _ITEM.match(after) or CELL in line + after:
        return False
    open_end = line[-1:] in ",(-–" or (after[0].islower() and line[-1:] not in ".:;!?|")
    return len(line) >= full or (open_end and len(line) > 30)


def _shown_title(page: PdfPage) -> str:
    """Return the title that a page shows, "" where that is not certain.

    It is certain where only one line, or up to _TITLE_LINES that follow each other, has the largest letters, and it is
    words.
    """
    shown, sizes, lines = PageText(page.get_textpage()), Counter[float](), list[tuple[str, float]]()
    for start, end, *_ in shown.lines:
        letters = [at for at in range(start, min(end, _TITLE_SAMPLE)) if shown.text[at].isalpha()]
        if letters:
            size = round(shown.size(letters[len(letters) // 2]), 1)
            sizes[size] += len(letters)
            lines.append((shown.text[start:end], size))
    largest = max(sizes, default=0.0)
    if not sizes or largest < _LARGER * sizes.most_common(1)[0][0] or sizes.total() - sizes[largest] < _BODY:
        return ""
    first, *others = (list(run) for size, run in itertools.groupby(lines, lambda line: line[1]) if size == largest)
    text = " ".join(" ".join(line for line, _ in first).replace("_", " ").split())
    is_words = 4 <= sum(map(str.isalpha, text)) >= 0.6 * len(text) and "://" not in text
    return stated(text).title if is_words and not others and len(first) <= _TITLE_LINES else ""


def _page_headings(texts: Sequence[str]) -> Iterator[tuple[Heading, ...]]:
    """Yield the heading of each page, none where its first line that is no other page's is a sentence or a row of
    figures.

    A file of fewer than _RUNNING pages has none: its title says as much. Lines that differ only by their numbers, as
    page numbers do, are the same.
    """
    heads = [_first_lines(text) for text in texts]
    pages = Counter(line for head in heads for line in {_without_numbers(line) for line in head.values()})
    for text, head in zip(texts, heads, strict=True):
        own = (pair for pair in head.items() if pages[_without_numbers(pair[1])] < _RUNNING <= len(texts))
        start, line = next(own, (0, ""))
        yield (Heading(start, 1, line),) if start + len(line) < len(text) and is_heading(line) else ()


def _first_lines(text: str) -> dict[int, str]:
    """Return the first lines of a page with letters in them, by their starts."""
    worded = (line for line in re.finditer(r"[^\n]+", text) if sum(map(str.isalpha, line[0])) > 3)
    return {line.start(): line[0] for line in itertools.islice(worded, _FIRST)}


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+", "", line).strip()
