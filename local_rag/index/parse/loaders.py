"""Loaders by suffix: a path becomes documents with title, headings and pages, in parts where it holds other files."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import cache
from importlib import import_module, metadata
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from local_rag import __version__
from local_rag.core.documents import MEMBER, LoadedDocument
from local_rag.core.errors import FileSkipped, UsageError, reason_of
from local_rag.index.parse.calendars import load_ics
from local_rag.index.parse.html import load_html, load_mhtml
from local_rag.index.parse.mail import load_eml, load_mbox, load_msg
from local_rag.index.parse.ocr import load_image
from local_rag.index.parse.office import load_pptx, load_rtf
from local_rag.index.parse.open_formats import load_epub, load_odp, load_odt
from local_rag.index.parse.parsed_file import (
    MAX_CHARACTERS,
    Inside,
    Member,
    ParsedFile,
    Piece,
    checked,
    clean,
    load_zip,
)
from local_rag.index.parse.pdf import load_pdf
from local_rag.index.parse.pdf_page import IMAGES
from local_rag.index.parse.properties import iso_date, of_letter, stated
from local_rag.index.parse.prose import load_code, load_markdown, load_rst, load_text
from local_rag.index.parse.records import load_json, load_jsonl, load_notebook, load_subtitles
from local_rag.index.parse.sheets import load_csv, load_sheets
from local_rag.index.parse.word import load_docx
from local_rag.text.display import joined, printable, shorten
from local_rag.text.names import name_date

Loader = Callable[[Path], ParsedFile | Iterator[Piece]]
"""A function that reads a file; one that holds other files comes in pieces, which `parts` puts together."""

CODE = frozenset(
    """.py .pyi .pyx .js .mjs .cjs .jsx .ts .tsx .vue .svelte .java .kt .kts .scala .groovy .clj .c .h .cc .cpp .cxx
    .hpp .hh .cs .fs .vb .go .rs .swift .m .mm .rb .php .pl .pm .lua .r .jl .dart .ex .exs .erl .hrl .hs .ml
    .mli .elm .nim .zig .d .pas .f .f90 .f95 .for .asm .s .sql .sh .bash .zsh .fish .ps1 .bat .cmd .awk .tcl
    .vim .el .lisp .scm .tex .bib .css .scss .sass .less .graphql .proto .thrift .toml .yaml .yml .ini .cfg
    .conf .properties .xml .xsd .xsl .gradle .cmake .mk .tf .hcl .nix .dockerfile .diff .patch .log""".split()
)
"""Suffixes of source code, configuration and other texts that are read as they are."""

PLAIN_TEXTS = frozenset(".txt .text .org .adoc .asciidoc .textile .mediawiki".split())
"""Suffixes of texts that may have title, author and date at their head."""

KNOWN_NAMES = frozenset(
    """makefile gnumakefile dockerfile containerfile vagrantfile jenkinsfile rakefile gemfile procfile brewfile justfile
    readme license licence copying changelog changes authors contributors contributing install news notice todo
    cmakelists.txt""".split()
)
"""Well-known names without a suffix of their own, in lower case; read as text."""

CONVERTED = MappingProxyType(
    {
        ".doc": "soffice --headless --convert-to docx",
        ".ppt": "soffice --headless --convert-to pptx",
        ".pages": "soffice --headless --convert-to docx",
        ".numbers": "soffice --headless --convert-to xlsx",
        ".key": "soffice --headless --convert-to pptx",
        ".pst": "readpst -o .",
    }
)
"""Suffixes of files that no loader reads, and the command that converts them, without the name of the file."""

READABLE = """.md .txt .rst .html .mhtml .pdf .docx .odt .rtf .epub .xlsx .ods .csv .pptx .odp .eml .mbox .msg .zip \
.ics .json .jsonl and source code"""

DEPTH = 3
"""The levels of files inside of files that are read."""

_CHARACTERS, _PIECE_SECONDS = 1_000_000, 5.0
"""Characters of text, or seconds, after which a part of a mailbox or a zip file ends."""

_LONG_FILE_NAME = 200
_LONG_WARNING = 400
_NO_LOADERS: Mapping[str, str] = MappingProxyType({})


def load_unknown(path: Path) -> ParsedFile:
    """Read a file that has no loader, if it is text."""
    try:
        return load_text(path)
    except FileSkipped as skipped:
        if "binary" not in str(skipped):
            raise
        command = CONVERTED.get(path.suffix.lower())
        hint = f"convert it: {command} {shlex.quote(path.name)}" if command else ""
        raise FileSkipped(no_loader(path) + ("" if command else f"; it reads {READABLE}"), hint=hint) from skipped


def no_loader(path: Path) -> str:
    """Return the reason why a file without a loader is not read."""
    return f"{path.suffix.lower() or 'such'} files cannot be read"


_SUFFIXES: dict[Loader, str] = {
    load_markdown: ".md .markdown",
    load_rst: ".rst",
    load_html: ".html .htm .xhtml",
    load_mhtml: ".mhtml .mht",
    load_pdf: ".pdf",
    load_docx: ".docx",
    load_epub: ".epub",
    load_eml: ".eml",
    load_mbox: ".mbox",
    load_msg: ".msg",
    load_zip: ".zip",
    load_sheets: ".xlsx .xlsm .xls .ods",
    load_pptx: ".pptx .pptm .ppsx .potx",
    load_odt: ".odt",
    load_odp: ".odp",
    load_rtf: ".rtf",
    load_ics: ".ics",
    load_subtitles: ".srt .vtt",
    load_csv: ".csv .tsv",
    load_json: ".json",
    load_notebook: ".ipynb",
    load_jsonl: ".jsonl .ndjson",
    load_text: " ".join(PLAIN_TEXTS),
    load_unknown: " ".join(CONVERTED),
    load_image: " ".join(IMAGES),
    load_code: " ".join(CODE),
}
LOADERS: Mapping[str, Loader] = MappingProxyType(
    {suffix: load for load, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
)


def loader(path: Path) -> Loader | None:
    """Return the loader of a file by its suffix or its well-known name, None where there is none."""
    return LOADERS.get(path.suffix.lower()) or (load_text if path.name.lower() in KNOWN_NAMES else None)


VERSIONS: dict[Loader, int] = {load_html: 2, load_mhtml: 2, load_pdf: 2}
"""The version of each loader, 1 for those that are not named. Raise it where a loader reads the same file in another
way: the next sync reads what an older version read once more, and what came out the same keeps its vectors.
"""

HOLDERS = (".zip", ".eml", ".msg", ".mbox", ".pdf")
"""Suffixes of files that hold others, which any loader may read."""


def version_mark(path: Path) -> str:
    """Return the mark behind the SHA-256 of a file that a later version of a loader has read; "" for the first
    version.
    """
    loaders = VERSIONS if path.suffix.lower() in HOLDERS else filter(None, [loader(path)])
    later = sum(VERSIONS.get(each, 1) - 1 for each in loaders)
    return f"v{later + 1}" if later else ""


def names_of(loaders: Mapping[str, Loader]) -> dict[str, str]:
    """Return loaders of one's own, by suffix, as `module:function`: the worker process imports them by that name.

    Raises UsageError for what is no suffix, and for a function that another process cannot import.
    """
    names: dict[str, str] = {}
    for suffix, function in loaders.items():
        if not suffix.startswith(".") or suffix != suffix.lower() or len(suffix) < 2:
            raise UsageError(f"a loader is for a suffix in small letters with its dot, not for {suffix!r}", hint=".xyz")
        module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
        if not module or module == "__main__" or "<" in name or not name:
            raise UsageError(
                f"the loader for {suffix} must be a function at the top of a module: another process imports it",
                hint="put it into a file of its own, my_loaders.py, and import it from there",
            )
        names[suffix] = f"{module}:{name}"
    return names


@cache
def parser_version() -> str:
    """Return 16 hex digits of the versions of this package, of Python and of the libraries.

    A file that one parser could not read is tried again only by another one.
    """
    versions = [__version__, sys.version]
    for library in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):  # its installation makes another parser
            versions.append(f"{library} {metadata.version(library)}")
    return hashlib.sha256(" ".join(versions).encode()).hexdigest()[:16]


_LIBRARIES = """charset-normalizer icalendar lxml markdown-it-py pypdfium2 python-calamine python-dateutil python-oxmsg
    python-pptx striprtf trafilatura""".split()
"""Libraries that the loaders read with."""


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
    except Exception as error:  # any parser, any input: the reason travels, the traceback helps nobody here
        if isinstance(error, OSError) and error.errno is not None:
            raise FileSkipped(f"cannot be opened ({reason_of(error)})", passing=True) from error
        reason = shorten(printable(f"{type(error).__name__}: {error}"), 120).removesuffix(":")
        missing = isinstance(error, ImportError)
        raise FileSkipped(f"is damaged, or its parser failed ({reason})", passing=missing) from error


def load(path: Path, own: Mapping[str, str] = _NO_LOADERS, depth: int = 0) -> ParsedFile:
    """Return all parts of a file as one."""
    found = list(parts(path, own, depth))
    return ParsedFile(
        tuple(document for part in found for document in part.documents),
        tuple(warning for part in found for warning in part.warnings),
        tuple(member for part in found for member in part.members),
        tuple(page for part in found for page in part.scans),
    )


def parts(path: Path, own: Mapping[str, str] = _NO_LOADERS, depth: int = 0) -> Iterator[ParsedFile]:
    """Yield the parts of a file, one but for what holds other files; `own` loaders, as `names_of` returns them, are
    stronger.

    A file without a known suffix is read as text if it is text. Documents without a date of their own have that of a
    letter, or of the file's name. Raises FileSkipped with the reason when nothing can be read, and what the libraries
    raise.
    """
    name = own.get(path.suffix.lower())
    read = _load_by_name(name, path) if name else (loader(path) or load_unknown)(path)
    found = iter([checked(read)]) if isinstance(read, ParsedFile) else _joined(read, path, own, depth)
    author, date = "", iso_date(name_date(path.name))
    for place, part in enumerate(found):
        if not place and part.documents:
            letter = of_letter(part.documents[0].text)
            author, date = letter.author, letter.date or date
        documents = (replace(each, author=each.author or author, date=each.date or date) for each in part.documents)
        yield replace(part, documents=tuple(documents))


def _joined(pieces: Iterator[Piece], path: Path, own: Mapping[str, str], depth: int) -> Iterator[ParsedFile]:
    """Yield the pieces of a file that holds others in parts; only a mailbox may hold more text than any other file."""
    documents, members, unread = list[LoadedDocument](), list[Member](), list[str]()
    names, total, end, until = Counter[str](), 0, _CHARACTERS, time.monotonic() + _PIECE_SECONDS
    holder = LoadedDocument("")
    for piece in pieces:
        if total > MAX_CHARACTERS and (depth or path.suffix.lower() != ".mbox"):
            unread.append(f"what lies behind {MAX_CHARACTERS:,} characters of text")
            break
        if total and (total > end or time.monotonic() > until):
            yield ParsedFile(tuple(documents), (), tuple(members))
            documents, members = [], []
            end, until = total + _CHARACTERS, time.monotonic() + _PIECE_SECONDS
        if isinstance(piece, ParsedFile):
            total += sum(len(document.text) for document in piece.documents) + len(piece.scans)
            if piece.documents or piece.scans:
                yield checked(piece)
            continue
        if isinstance(piece, LoadedDocument):
            documents.append(piece)
            holder = piece
            total += len(piece.text)
            continue
        if isinstance(piece, str):
            unread.append(piece)
            continue
        name = _distinct(piece.name, names)
        try:
            with told():
                found = _members(piece, name, own, depth + 1)
            members += [_attached(each, holder) for each in found]
            total += sum(len(document.text) for member in found for document in member.documents)
        except FileSkipped as skipped:
            unread.append(f"{name} ({skipped})")
    warning = shorten(f"inside of it was not read: {joined(unread)}", _LONG_WARNING)
    if not total:
        raise FileSkipped(warning if unread else "is empty")
    yield ParsedFile(tuple(documents), (warning,) if unread else (), tuple(members))


def _members(inside: Inside, name: str, own: Mapping[str, str], depth: int) -> list[Member]:
    """Return what a file inside of a file holds, and the files inside of that. Raises as `parts` does."""
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
        if found.scans and not (found.documents or found.members):
            raise FileSkipped("is a picture, and OCR does not read what lies inside of a file")
    return [
        Member(name, found.documents, found.warnings),
        *(replace(member, name=f"{name}{MEMBER}{member.name}") for member in found.members),
    ]


def _attached(member: Member, mail: LoadedDocument) -> Member:
    """Return a file inside of a mail with the sender behind its authors, and the mail's date where it has none.

    A mail inside of a mail has its own.
    """
    if not mail.author or Path(member.name.partition(MEMBER)[0]).suffix.lower() in (".eml", ".msg"):
        return member
    documents = (
        replace(each, author="; ".join(filter(None, (each.author, mail.author))), date=each.date or mail.date)
        for each in member.documents
    )
    return replace(member, documents=tuple(documents))


def _distinct(name: str, names: Counter[str]) -> str:
    """Return the name of a file inside of a file, without ways out of it; a second one of that name is "name (2)"."""
    steps = (" ".join(clean(step).split()) for step in re.split(r"[/\\]", name[:10_000]))
    name = "/".join(step for step in steps if step not in ("", ".", ".."))[-_LONG_FILE_NAME:] or "unnamed"
    names[name] += 1
    stem, dot, suffix = name.rpartition(".")
    return name if names[name] == 1 else f"{stem or suffix} ({names[name]}){dot}{suffix if stem else ''}"


def _load_by_name(name: str, path: Path) -> ParsedFile:
    """Read a file with somebody's own loader, made safe to store; headings stay where no text changed."""
    module, _, function = name.partition(":")
    file: ParsedFile = attrgetter(function)(import_module(module))(path)
    return replace(file, documents=tuple(map(_cleaned, file.documents)))


def _cleaned(document: LoadedDocument) -> LoadedDocument:
    text = clean(document.text)
    known = asdict(stated(document.title, [document.author], document.date, [document.subject]))
    return replace(document, text=text, headings=document.headings if text == document.text else (), **known)
