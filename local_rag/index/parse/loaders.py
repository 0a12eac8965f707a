"""Suffix -> loader: a path becomes documents with title, headings and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped, UsageError
from local_rag.core.reasons import reason_of
from local_rag.index.names import name_date
from local_rag.index.parse.archive import load_docx, load_epub
from local_rag.index.parse.dates import iso_date
from local_rag.index.parse.mail import load_eml, load_mbox
from local_rag.index.parse.parsed_file import ParsedFile, checked, clean
from local_rag.index.parse.pdf import load_pdf
from local_rag.index.parse.properties import LONG_AUTHOR, LONG_SUBJECT, LONG_TITLE, one_line
from local_rag.index.parse.prose import load_code, load_markdown, load_rst, load_text
from local_rag.index.parse.records import load_csv, load_json, load_jsonl, load_notebook
from local_rag.index.parse.saved_page import load_html, load_mhtml
from local_rag.index.parse.version import parser_version as parser_version
from local_rag.text.encoding import decode

Loader = Callable[[Path], ParsedFile]

CODE = frozenset(
    """.py .pyi .pyx .js .mjs .cjs .jsx .ts .tsx .vue .svelte .java .kt .kts .scala .groovy .clj .c .h .cc .cpp .cxx
    .hpp .hh .cs .fs .vb .go .rs .swift .m .mm .rb .php .pl .pm .lua .r .jl .dart .ex .exs .erl .hrl .hs .ml
    .mli .elm .nim .zig .d .pas .f .f90 .f95 .for .asm .s .sql .sh .bash .zsh .fish .ps1 .bat .cmd .awk .tcl
    .vim .el .lisp .scm .tex .bib .css .scss .sass .less .graphql .proto .thrift .toml .yaml .yml .ini .cfg
    .conf .properties .xml .xsd .xsl .gradle .cmake .mk .tf .hcl .nix .dockerfile .diff .patch .log .srt .vtt""".split()
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

LOADERS: Mapping[str, Loader] = MappingProxyType(
    {
        **dict.fromkeys(CODE, load_code),
        **dict.fromkeys(TEXTS, load_text),
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
        ".csv": load_csv,
        ".tsv": load_csv,
        ".json": load_json,
        ".ipynb": load_notebook,
        ".jsonl": load_jsonl,
        ".ndjson": load_jsonl,
    }
)

SHOWN = ".md .txt .rst .html .mhtml .pdf .docx .epub .eml .mbox .csv .tsv .json .jsonl and source code"


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
    return checked(replace(file, documents=tuple(map(_cleaned, file.documents))))


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


def load(path: Path, password: str = "") -> ParsedFile:
    """The documents of a file. One without a known suffix is read as text if it is text; a password is for PDF.

    Documents that say no date of their own have that of the file's name.
    Raises FileSkipped with the reason when nothing can be read of it.
    """
    load_it = loader(path)
    try:
        if load_it is load_pdf:
            return _dated(checked(load_pdf(path, password)), path)
        return _dated(checked(load_it(path) if load_it else _unknown(path)), path)
    except OSError as error:
        raise FileSkipped(f"cannot be opened ({reason_of(error)})") from error


def _dated(file: ParsedFile, path: Path) -> ParsedFile:
    date = iso_date(name_date(path.name))
    dated = (document if document.date or not date else replace(document, date=date) for document in file.documents)
    return replace(file, documents=tuple(dated))


def _unknown(path: Path) -> ParsedFile:
    try:
        with path.open("rb") as file:
            decode(file.read(65536))
    except FileSkipped as skipped:
        if "binary" not in str(skipped):
            raise
        kind = f"{path.suffix.lower()} files" if path.suffix else "this kind of file"
        raise FileSkipped(f"no loader for {kind}; it reads {SHOWN}") from skipped
    return load_text(path)
