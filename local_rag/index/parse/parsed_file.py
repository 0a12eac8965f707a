"""The result of a loader for one file; and zip files, measured before anything in them is parsed."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from local_rag.core.documents import Heading, LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.text.display import printable, shorten

MAX_CHARACTERS = 50_000_000
"""The most characters of one file. The largest book of Project Gutenberg has 6 million; a larger text is a dump."""

MAX_BYTES = 500_000_000
"""The most bytes of one file, and of all files inside of a zip file."""

MAX_UNZIPPED = 200_000_000
MAX_RATIO = 200
"""The highest ratio of unzipped to zipped. Deflate reaches 1032:1 on zeros, text 3 to 10: a higher one is no
document.
"""

HARMLESS = 5_000_000
"""Bytes up to which the ratio does not matter: small files of repetitive XML are real and cannot hurt."""

MAX_MEMBERS = 10_000

_LONGEST_PROPERTY = 10_000
"""Characters of a title or another property that are looked at."""

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\u00ad\u200b\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Member:
    """A file inside of a file, such as an attachment, by its name there."""

    name: str
    documents: tuple[LoadedDocument, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class ParsedFile:
    """The documents of one file and the files inside of it; `warnings` name what of the file was not read.

    `scans` are the pages, from 1, that are pictures and wait for OCR.
    """

    documents: tuple[LoadedDocument, ...]
    warnings: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    scans: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties that a file names: title, author, date (ISO 8601) and subject, "" for those it does not."""

    title: str = ""
    author: str = ""
    date: str = ""
    subject: str = ""


UNKNOWN = Properties()


@dataclass(frozen=True)
class Inside:
    """A file inside of a file, such as an attachment, that is still to be read; `open` may raise what reading may."""

    name: str
    open: Callable[[], IO[bytes]]


Piece = LoadedDocument | ParsedFile | Inside | str
"""A piece of a file that holds others; a str names what was not read."""


def clean(text: str) -> str:
    """Return text as it is stored: every line ends with a line feed, nothing invisible, no control character, no
    surrogate.
    """
    return printable(_INVISIBLE.sub("", _LINE_ENDS.sub("\n", _SURROGATE.sub("\ufffd", text))))


def one_line(text: str, width: int) -> str:
    """Return a title or another property as it is stored."""
    return shorten(clean(text[:_LONGEST_PROPERTY]), width)


def document(
    text: str,
    title: str = "",
    *,
    page: int | None = None,
    headings: Sequence[Heading] = (),
    properties: Properties = UNKNOWN,
) -> LoadedDocument:
    """Return a document of a text that is `clean` already, so that the offsets of its headings stay true.

    The title is that of the properties, `title` where they have none.
    """
    titled = tuple(Heading(h.start, h.level, one_line(h.text, 200)) for h in headings if h.text.strip())
    known = asdict(properties) | {"title": properties.title or one_line(title, 200)}
    return LoadedDocument(text, page=page, headings=titled, **known)


def headed(text: str, headings: Sequence[Heading], properties: Properties = UNKNOWN) -> LoadedDocument:
    """Return a document whose title is its first heading where its properties have none."""
    first = headings[0].text if headings else ""
    return document(text, first, headings=headings, properties=properties)


def joined(blocks: Iterable[tuple[int, str, str]], between: str = "\n\n") -> tuple[str, list[Heading]]:
    """Return blocks (level, heading, text) as one clean text, and the headings at which they start; level 0 is without
    one.
    """
    parts, headings, length = list[str](), list[Heading](), 0
    for level, heading, block in blocks:
        if text := clean(block).strip():
            if level:
                headings.append(Heading(length, level, " ".join(heading.split())))
            parts.append(text)
            length += len(text) + len(between)
    return between.join(parts), headings


def checked(file: ParsedFile) -> ParsedFile:
    """Return the file without its blank documents. Raises FileSkipped when there is too much, or nothing, for OCR
    either.
    """
    characters = sum(len(document.text) for document in file.documents)
    if characters > MAX_CHARACTERS:
        raise FileSkipped(
            f"holds {characters:,} characters of text, up to {MAX_CHARACTERS:,} are read", hint="split it"
        )
    filled = tuple(document for document in file.documents if document.text.strip())
    if not (filled or file.scans):
        raise FileSkipped("is empty")
    return replace(file, documents=filled)


def load_zip(path: Path) -> Iterator[Inside]:
    """Yield the files in a zip file, by their names in it. Raises FileSkipped for a bomb, a password and damage."""
    with _opened(path, MAX_BYTES) as archive:
        for member in archive.infolist():
            if not member.is_dir() and not member.filename.startswith("__MACOSX/"):
                yield Inside(_name(member), partial(archive.open, member))


def _name(member: zipfile.ZipInfo) -> str:
    """Return the name, in UTF-8 where it is that: not all programs that write it say so (APPNOTE, appendix D)."""
    with suppress(UnicodeError):
        return member.filename if member.flag_bits & 0x800 else member.filename.encode("cp437").decode("utf-8")
    return member.filename


def measured(path: Path) -> zipfile.ZipFile:
    """Open the zip file of an office program, small enough and whole.

    Raises FileSkipped for a bomb, a password and damage.
    """
    archive, damaged = _opened(path, MAX_UNZIPPED), True
    with suppress(OSError, ValueError, RuntimeError, EOFError, zlib.error):
        damaged = archive.testzip() is not None  # no part gives more than the directory says
    if damaged:
        raise FileSkipped("is damaged (a part of it cannot be unpacked)")
    if "META-INF/manifest.xml" in archive.namelist() and b":encryption-data" in archive.read("META-INF/manifest.xml"):
        raise FileSkipped("is encrypted with a password")  # OpenDocument's way
    return archive


def _opened(path: Path, most: int) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError) as error:
        raise FileSkipped(_no_zip(path)) from error
    members = archive.infolist()
    unzipped = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS:
        raise FileSkipped(f"holds {len(members):,} files; up to {MAX_MEMBERS:,} are unzipped")
    if any(member.flag_bits & 1 for member in members):
        raise FileSkipped("is encrypted with a password")
    if unzipped > most:
        raise FileSkipped(f"unzips to more than {most // 1_000_000} MB: a zip bomb?")
    if unzipped > HARMLESS and unzipped > MAX_RATIO * path.stat().st_size:
        raise FileSkipped(f"unzips to more than {MAX_RATIO} times its size: a zip bomb?")
    return archive


def _no_zip(path: Path) -> str:
    data = path.read_bytes()
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        encrypted = "EncryptedPackage".encode("utf-16-le") in data  # [MS-OFFCRYPTO], section 2.3.4.4
        return "is encrypted with a password" if encrypted else "is in an Office format of before 2007"
    return f"is damaged (not a {path.suffix.lower()} file inside)"
