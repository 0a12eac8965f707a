"""Zip files: what they hold, and those of office programs, measured before anything in them is parsed."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import parse_xml
from local_rag.index.parse.parsed_file import MAX_BYTES, Inside

MAX_UNZIPPED = 200_000_000
MAX_RATIO = 200
"""Unzipped to zipped. Deflate reaches 1032:1 on zeros, text 3 to 10, so what is above this is no document."""

HARMLESS = 5_000_000
"""Bytes up to which the ratio does not matter: small files of repetitive XML are real and cannot hurt."""

MAX_MEMBERS = 10_000


def load_zip(path: Path) -> Iterator[Inside]:
    """The files in a zip file, by their names in it. Raises FileSkipped for a bomb, a password and damage."""
    with _opened(path, MAX_BYTES) as archive:
        for member in archive.infolist():
            if not member.is_dir() and not member.filename.startswith("__MACOSX/"):
                yield Inside(_name(member), partial(archive.open, member))


def _name(member: zipfile.ZipInfo) -> str:
    """The name, in UTF-8 where it is that: not all programs that write it say so (APPNOTE, appendix D)."""
    with suppress(UnicodeError):
        return member.filename if member.flag_bits & 0x800 else member.filename.encode("cp437").decode("utf-8")
    return member.filename


def measured(path: Path) -> zipfile.ZipFile:
    """The opened zip file of an office program, small enough and whole.

    Raises FileSkipped for a bomb, a password and damage.
    """
    archive = _opened(path, MAX_UNZIPPED)
    try:
        damaged = archive.testzip() is not None  # no part gives more than the directory says
    except (OSError, ValueError, RuntimeError, EOFError, zlib.error):
        damaged = True
    if damaged:
        raise FileSkipped("is damaged (a part of it cannot be unpacked)")
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


def xml_of(archive: zipfile.ZipFile, name: str) -> Any:
    """The tree of a part of the file; None where there is no such part, or where it is no XML."""
    try:
        return parse_xml(archive.read(name))
    except (KeyError, FileSkipped):
        return None
