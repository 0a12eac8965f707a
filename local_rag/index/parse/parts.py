"""A file in parts: what its loader makes of it, and what lies inside of it, such as the attachments of a mail."""

from __future__ import annotations

import re
import shutil
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from local_rag.core.documents import MEMBER, LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.core.reasons import reason_of
from local_rag.index.names import name_date
from local_rag.index.parse.dates import iso_date
from local_rag.index.parse.loaders import load_by_name, load_unknown, loader, no_loader
from local_rag.index.parse.parsed_file import MAX_CHARACTERS, Inside, Member, ParsedFile, Piece, checked, clean
from local_rag.text.display import joined, printable, shorten

DEPTH = 3
"""Files inside of files inside of files: what lies deeper is not read."""

_CHARACTERS, _SECONDS = 1_000_000, 5.0
"""Text, or time, after which a part of a mailbox or a zip file ends."""

_NAMED = 5
"""Files inside of a file that are named with the reason why they were not read; the others are counted."""

_LONG_NAME = 200
_NO_LOADERS: Mapping[str, str] = MappingProxyType({})


@contextmanager
def told() -> Iterator[None]:
    """Turn what libraries raise for a file into FileSkipped, but for MemoryError.

    It is `passing` where the machine is the cause: no rights, a package that is not installed; else the content is.
    """
    try:
        yield
    except (FileSkipped, MemoryError):
        raise
    except RecursionError as error:
        raise FileSkipped("is nested too deeply") from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise FileSkipped("is damaged (it cannot be unpacked)") from error
    except OSError as error:
        raise FileSkipped(f"cannot be opened ({reason_of(error)})", passing=error.errno is not None) from error
    except Exception as error:  # any parser, any input: the reason travels, the traceback helps nobody here
        reason = shorten(printable(f"{type(error).__name__}: {error}"), 120).removesuffix(":")
        raise FileSkipped(f"the parser failed ({reason})", passing=isinstance(error, ImportError)) from error


def load(path: Path, own: Mapping[str, str] = _NO_LOADERS, depth: int = 0) -> ParsedFile:
    """All parts of a file as one."""
    found = list(parts(path, own, depth))
    return ParsedFile(
        tuple(document for part in found for document in part.documents),
        tuple(warning for part in found for warning in part.warnings),
        tuple(member for part in found for member in part.members),
    )


def parts(path: Path, own: Mapping[str, str] = _NO_LOADERS, depth: int = 0) -> Iterator[ParsedFile]:
    """The parts of a file, one but for what holds other files; `own` loaders, as `names_of` gives them, are stronger.

    A file without a known suffix is read as text if it is text. Documents without a date of their own have that of the
    file's name. Raises FileSkipped with the reason when nothing can be read, and what the libraries raise.
    """
    name = own.get(path.suffix.lower())
    read = load_by_name(name, path) if name else (loader(path) or load_unknown)(path)
    found = iter([checked(read)]) if isinstance(read, ParsedFile) else _joined(read, path, own, depth)
    date = iso_date(name_date(path.name))
    for part in found:
        documents = (each if each.date or not date else replace(each, date=date) for each in part.documents)
        yield replace(part, documents=tuple(documents))


def _joined(pieces: Iterator[Piece], path: Path, own: Mapping[str, str], depth: int) -> Iterator[ParsedFile]:
    """The pieces of a file that holds others in parts; only a mailbox may hold more text than any other file."""
    documents, members = list[LoadedDocument](), list[Member]()
    names, unread, total = Counter[str](), list[str](), 0
    end, until = _CHARACTERS, time.monotonic() + _SECONDS
    endless = path.suffix.lower() == ".mbox" and not depth
    for piece in pieces:
        if total > MAX_CHARACTERS and not endless:
            unread.append(f"what lies behind {MAX_CHARACTERS:,} characters of text")
            break
        if total and (total > end or time.monotonic() > until):
            yield ParsedFile(tuple(documents), (), tuple(members))
            documents, members = [], []
            end, until = total + _CHARACTERS, time.monotonic() + _SECONDS
        new = len(members)
        if isinstance(piece, LoadedDocument):
            documents.append(piece)
            total += len(piece.text)
        else:
            name = _distinct(piece.name, names)
            try:
                with told():
                    members += _members(piece, name, own, depth + 1)
            except FileSkipped as skipped:
                unread.append(f"{name} ({skipped})")
        total += sum(len(document.text) for member in members[new:] for document in member.documents)
    more = [f"{len(unread) - _NAMED} more"] if len(unread) > _NAMED else []
    warning = f"inside of it was not read: {joined(unread[:_NAMED] + more)}"
    if not total:
        raise FileSkipped(warning if unread else "is empty")
    yield ParsedFile(tuple(documents), (warning,) if unread else (), tuple(members))


def _members(inside: Inside, name: str, own: Mapping[str, str], depth: int) -> list[Member]:
    """What a file inside of a file holds, and what lies inside of that. Raises as `parts` does."""
    file = Path(re.sub(r"[^\w. -]", "_", name.rpartition("/")[2])[-100:])
    if file.suffix.lower() not in own and not loader(file):
        raise FileSkipped(no_loader(file))
    if depth > DEPTH:
        raise FileSkipped("lies too deep")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder, file)
        with inside.open() as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
        found = load(path, own, depth)
    return [
        Member(name, found.documents, found.warnings),
        *(replace(member, name=f"{name}{MEMBER}{member.name}") for member in found.members),
    ]


def _distinct(name: str, names: Counter[str]) -> str:
    """The name of a file inside of a file, without ways out of it; a second one of that name is "name (2)"."""
    steps = (" ".join(clean(step).split()) for step in re.split(r"[/\\]", name[:10_000]))
    name = "/".join(step for step in steps if step not in ("", ".", ".."))[-_LONG_NAME:] or "unnamed"
    names[name] += 1
    stem, dot, suffix = name.rpartition(".")
    return name if names[name] == 1 else f"{stem or suffix} ({names[name]}){dot}{suffix if stem else ''}"
