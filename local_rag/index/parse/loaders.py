"""Suffix -> loader: a path becomes documents with title, headings and pages."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module, metadata
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType

import local_rag
from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped, UsageError
from local_rag.index.parse.calendar import load_ics, load_subtitles
from local_rag.index.parse.dates import iso_date
from local_rag.index.parse.html import load_html, load_mhtml
from local_rag.index.parse.mail import load_eml, load_mbox, load_msg
from local_rag.index.parse.office import load_docx, load_pptx, load_rtf
from local_rag.index.parse.open_formats import load_epub, load_odp, load_odt
from local_rag.index.parse.parsed_file import ParsedFile, Piece, clean, load_zip
from local_rag.index.parse.pdf import load_pdf
from local_rag.index.parse.properties import LONG_AUTHOR, LONG_SUBJECT, LONG_TITLE, one_line
from local_rag.index.parse.prose import load_code, load_markdown, load_rst, load_text
from local_rag.index.parse.records import load_json, load_jsonl, load_notebook
from local_rag.index.parse.sheets import load_csv, load_sheets
from local_rag.text import encoding
from local_rag.text.encoding import decode

Loader = Callable[[Path], ParsedFile | Iterator[Piece]]
"""Reads a file; one that holds other files comes in pieces, which `parts` puts together."""

LIBRARIES = tuple(
    """charset-normalizer cryptography icalendar lxml mammoth pypdf pypdfium2 python-calamine python-oxmsg python-pptx
    striprtf trafilatura""".split()
)
"""What the loaders read with."""

CODE = frozenset(
    """.py .pyi .pyx .js .mjs .cjs .jsx .ts .tsx .vue .svelte .java .kt .kts .scala .groovy .clj .c .h .cc .cpp .cxx
    .hpp .hh .cs .fs .vb .go .rs .swift .m .mm .rb .php .pl .pm .lua .r .jl .dart .ex .exs .erl .hrl .hs .ml
    .mli .elm .nim .zig .d .pas .f .f90 .f95 .for .asm .s .sql .sh .bash .zsh .fish .ps1 .bat .cmd .awk .tcl
    .vim .el .lisp .scm .tex .bib .css .scss .sass .less .graphql .proto .thrift .toml .yaml .yml .ini .cfg
    .conf .properties .xml .xsd .xsl .gradle .cmake .mk .tf .hcl .nix .dockerfile .diff .patch .log""".split()
)
"""Suffixes of source code, configuration and other texts that are read as they are."""

TEXTS = frozenset(".txt .text .org .adoc .asciidoc .textile .mediawiki".split())
"""Suffixes of texts that may say at their head what they are."""

NAMES = frozenset(
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


SHOWN = (
    ".md .txt .rst .html .mhtml .pdf .docx .odt .rtf .epub .xlsx .ods .csv .pptx .odp .eml .mbox .msg .zip .ics .json"
    " .jsonl and source code"
)


def load_unknown(path: Path) -> ParsedFile:
    """A file that no loader is for, if it is text."""
    try:
        with path.open("rb") as file:
            decode(file.read(65536))
    except FileSkipped as skipped:
        if "binary" not in str(skipped):
            raise
        command = CONVERTED.get(path.suffix.lower())
        hint = f"convert it: {command} {shlex.quote(path.name)}" if command else ""
        raise FileSkipped(no_loader(path) + ("" if command else f"; it reads {SHOWN}"), hint=hint) from skipped
    return load_text(path)


def no_loader(path: Path) -> str:
    """The reason why a file without a loader is not read."""
    return f"no loader for {path.suffix.lower()} files" if path.suffix else "no loader for this kind of file"


LOADERS: Mapping[str, Loader] = MappingProxyType(
    {
        **dict.fromkeys(CODE, load_code),
        **dict.fromkeys(TEXTS, load_text),
        **dict.fromkeys(CONVERTED, load_unknown),
        ".md": load_markdown,
        ".markdown": load_markdown,
        ".rst": load_rst,
        ".html": load_html,
        ".htm": load_html,
        ".xhtml": load_html,
        ".mhtml": load_mhtml,
        ".mht": load_mhtml,
        ".pdf": load_pdf,
        ".docx": load_docx,
        ".epub": load_epub,
        ".eml": load_eml,
        ".mbox": load_mbox,
        ".msg": load_msg,
        ".zip": load_zip,
        ".xlsx": load_sheets,
        ".xlsm": load_sheets,
        ".xls": load_sheets,
        ".ods": load_sheets,
        ".pptx": load_pptx,
        ".pptm": load_pptx,
        ".ppsx": load_pptx,
        ".potx": load_pptx,
        ".odt": load_odt,
        ".odp": load_odp,
        ".rtf": load_rtf,
        ".ics": load_ics,
        ".srt": load_subtitles,
        ".vtt": load_subtitles,
        ".csv": load_csv,
        ".tsv": load_csv,
        ".json": load_json,
        ".ipynb": load_notebook,
        ".jsonl": load_jsonl,
        ".ndjson": load_jsonl,
    }
)


def loader(path: Path) -> Loader | None:
    """The loader of a file by its suffix or its well-known name, None where nobody reads it."""
    return LOADERS.get(path.suffix.lower()) or (load_text if path.name.lower() in NAMES else None)


def names_of(loaders: Mapping[str, Loader]) -> dict[str, str]:
    """Loaders of one's own, by suffix, as `module:function`: the worker process imports them by that name.

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


def load_by_name(name: str, path: Path) -> ParsedFile:
    """The documents of a file by somebody's own loader, made safe to store; headings stay where no text changed."""
    module, _, function = name.partition(":")
    file: ParsedFile = attrgetter(function)(import_module(module))(path)
    return replace(file, documents=tuple(map(_cleaned, file.documents)))


def _cleaned(document: LoadedDocument) -> LoadedDocument:
    text = clean(document.text)
    return replace(
        document,
        text=text,
        headings=document.headings if text == document.text else (),
        title=one_line(document.title, LONG_TITLE),
        author=one_line(document.author, LONG_AUTHOR),
        date=iso_date(document.date),
        subject=one_line(document.subject, LONG_SUBJECT),
    )


@cache
def parser_version() -> str:
    """Which parser this is: what it could not read yesterday it cannot read today, unless it is another one.

    16 hex digits of the loaders' sources and the versions of their libraries and of Python: a number that somebody
    must remember to raise is forgotten, and a change that reads no more than before costs one more attempt.
    """
    digest = hashlib.sha256(f"{local_rag.__version__} {sys.version}".encode())
    for source in (*sorted(Path(__file__).parent.glob("*.py")), Path(encoding.__file__)):
        digest.update(source.read_bytes() if source.exists() else b"")
    for library in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):  # its installation makes another parser
            digest.update(f"{library} {metadata.version(library)} ".encode())
    return digest.hexdigest()[:16]
