"""PDF by pdfium, by pypdf where pdfium refuses; one document per page, lines joined into paragraphs."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.parsed_file import MAX_CHARACTERS, ParsedFile, Properties, clean, document
from local_rag.index.parse.pdf_headings import largest_line, page_headings
from local_rag.index.parse.properties import stated
from local_rag.text.display import plural

FULL_LINE = 0.75
"""Share of the page's usual long line from which a line counts as full, so that its sentence goes on in the next."""

_HYPHENS = "\ufffe\x02"
"""What pdfium writes for a hyphen at the end of a line, with the line break taken out."""

_SPLIT_WORD = re.compile(rf"(?<![^\W\d_])([^\W\d_]++)(?:[{_HYPHENS}]|-\n(?=[^\W\d_]))([^\W\d_]+)")
LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_INFORMATION = ("Title", "Author", "Subject", "Keywords", "CreationDate", "Creator", "Producer")
_ITEM = re.compile(r"(?:[-*•▪◦‣–●■]|\(?\d{1,3}[.)]|\(?[a-z]\))\s")


@dataclass(frozen=True)
class Page:
    """The raw text of a page; `empty` when nothing at all is drawn on it, `failed` when it could not be read."""

    text: str
    empty: bool = False
    failed: bool = False


def load_pdf(path: Path) -> ParsedFile:
    """The pages that have text, numbered from 1; the others are named in the warnings.

    Raises FileSkipped for a password, for damage, and when no page has a text layer.
    """
    properties, pages = _read(path)
    if not pages:
        raise FileSkipped("is damaged (no pages in it)")
    known = _vocabulary(page.text for page in pages)
    texts = [_page_text(page.text, known) for page in pages]
    blank = [n for n, text in enumerate(texts, 1) if not text and not pages[n - 1].empty]
    failed = [n for n in blank if pages[n - 1].failed]
    if not any(texts):
        raise FileSkipped(_nothing(len(pages), len(failed), len(blank)))
    warnings = []
    if scanned := [n for n in blank if n not in failed]:
        warnings.append(f"{ranges(scanned)} {'have' if len(scanned) > 1 else 'has'} no text layer (scanned?)")
    if failed:
        warnings.append(f"{ranges(failed)} could not be read (damaged)")
    numbered = enumerate(zip(texts, page_headings(texts), strict=True), 1)
    documents = (
        document(text, page=number, headings=headings, properties=properties)
        for number, (text, headings) in numbered
        if text
    )
    return ParsedFile(tuple(documents), tuple(warnings))


def _nothing(pages: int, failed: int, blank: int) -> str:
    if not blank:
        return "is empty"
    if failed == pages:
        return f"is damaged (none of its {plural(pages, 'page')} can be read)"
    where = f"any of its {pages} pages" if pages > 1 else "its only page"
    return f"no text layer on {where} (scanned?): run OCR first, e.g. ocrmypdf"


def ranges(numbers: list[int]) -> str:
    """Pages in words: [2, 5, 6, 7] is "pages 2, 5-7"."""
    runs: list[str] = []
    for _, group in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        runs.append(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return f"page{'s' if len(numbers) > 1 else ''} {', '.join(runs)}"


def _read(path: Path) -> tuple[Properties, list[Page]]:
    import pypdfium2

    try:
        file = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return _read_by_pypdf(path)
    try:
        properties = _properties(file.get_metadata_dict())
        if not properties.title:
            properties = replace(properties, title=_shown_title(file))
        pages = _limited(_pdfium_page(file, number) for number in range(len(file)))
    finally:
        file.close()
    if pages and all(page.failed for page in pages):
        return _read_by_pypdf(path)
    return properties, pages


def _shown_title(file: Any) -> str:
    """The title on the first page, where it is certain."""
    import pypdfium2

    try:
        return stated(largest_line(file[0].get_textpage())).title
    except (pypdfium2.PdfiumError, ValueError, IndexError):
        return ""


def _pdfium_page(file: Any, number: int) -> Page:
    import pypdfium2

    try:
        page = file[number]
        text = page.get_textpage().get_text_range()
        return Page(text, empty=not text.strip() and next(page.get_objects(max_depth=1), None) is None)
    except (pypdfium2.PdfiumError, ValueError):
        return Page("", failed=True)


def _read_by_pypdf(path: Path) -> tuple[Properties, list[Page]]:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(path, strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            hint = "take the password off: qpdf --decrypt --password=PASSWORD IN.pdf OUT.pdf"
            raise FileSkipped("is encrypted with a password", hint=hint)
        properties = _properties({name.lstrip("/"): str(value) for name, value in (reader.metadata or {}).items()})
        pages = _limited(_pypdf_page(reader, number) for number in range(len(reader.pages)))
    except FileSkipped:
        raise
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, RecursionError) as error:
        raise FileSkipped("is damaged (it cannot be opened as a PDF)") from error
    return properties, pages


def _pypdf_page(reader: Any, number: int) -> Page:
    try:
        return Page(reader.pages[number].extract_text())
    except Exception:  # pypdf raises whatever a broken object leads to
        return Page("", failed=True)


def _limited(pages: Iterable[Page]) -> list[Page]:
    """All pages. Raises FileSkipped as soon as they hold too much text."""
    kept: list[Page] = []
    characters = 0
    for page in pages:
        kept.append(page)
        characters += len(page.text)
        if characters > MAX_CHARACTERS:
            raise FileSkipped(f"holds more than {MAX_CHARACTERS:,} characters of text", hint="split it")
    return kept


def _properties(info: Mapping[str, str]) -> Properties:
    """The document information (ISO 32000-1, 14.3.3), without what a program filled in."""
    known = {name: info.get(name, "").replace("\0", " ").strip() for name in _INFORMATION}
    subjects = [known["Subject"], known["Keywords"]]
    program = known["Creator"] or known["Producer"]
    return stated(
        known["Title"], re.split(r"\s*;\s*", known["Author"]), known["CreationDate"], subjects, program=program
    )


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
