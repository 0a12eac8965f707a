"""Suffix -> loader: a path becomes documents with title, headings and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.archive import load_docx, load_epub
from local_rag.index.parse.mail import load_eml, load_mbox
from local_rag.index.parse.parsed_file import ParsedFile, checked
from local_rag.index.parse.pdf import load_pdf
from local_rag.index.parse.prose import load_markdown, load_rst, load_text
from local_rag.index.parse.records import load_csv, load_json, load_jsonl
from local_rag.index.parse.saved_page import load_html, load_mhtml
from local_rag.text.encoding import decode

Loader = Callable[[Path], ParsedFile]

CODE = frozenset(
    """.py .pyi .pyx .js .mjs .cjs .jsx .ts .tsx .vue .svelte .java .kt .kts .scala .groovy .clj .c .h .cc .cpp .cxx
    .hpp .hh .cs .fs .vb .go .rs .swift .m .mm .rb .php .pl .pm .lua .r .jl .dart .ex .exs .erl .hrl .hs .ml
    .mli .elm .nim .zig .d .pas .f .f90 .f95 .for .asm .s .sql .sh .bash .zsh .fish .ps1 .bat .cmd .awk .tcl
    .vim .el .lisp .scm .tex .bib .css .scss .sass .less .graphql .proto .thrift .toml .yaml .yml .ini .cfg
    .conf .properties .xml .xsd .xsl .gradle .cmake .mk .tf .hcl .nix .dockerfile .diff .patch .log .srt .vtt
    .org .adoc .asciidoc .textile .mediawiki .text""".split()
)
"""Suffixes of source code, configuration and other texts that are read as they are."""

NAMES = frozenset(
    """makefile gnumakefile dockerfile containerfile vagrantfile jenkinsfile rakefile gemfile procfile brewfile justfile
    readme license licence copying changelog changes authors contributors contributing install news notice todo
    cmakelists.txt""".split()
)
"""Well-known names without a suffix of their own, in lower case; read as text."""

LOADERS: Mapping[str, Loader] = MappingProxyType(
    {
        **dict.fromkeys(CODE, load_text),
        ".txt": load_text,
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
        ".jsonl": load_jsonl,
        ".ndjson": load_jsonl,
    }
)

SHOWN = ".md .txt .rst .html .mhtml .pdf .docx .epub .eml .mbox .csv .tsv .json .jsonl and source code"


def loader(path: Path) -> Loader | None:
    """The loader of a file by its suffix or its well-known name, None where nobody reads it."""
    return LOADERS.get(path.suffix.lower()) or (load_text if path.name.lower() in NAMES else None)


def load(path: Path, password: str = "") -> ParsedFile:
    """The documents of a file. One without a known suffix is read as text if it is text; a password is for PDF.

    Raises FileSkipped with the reason when nothing can be read of it.
    """
    load_it = loader(path)
    try:
        if load_it is load_pdf:
            return checked(load_pdf(path, password))
        return checked(load_it(path) if load_it else _unknown(path))
    except OSError as error:
        raise FileSkipped(f"cannot be opened ({error.strerror or error})") from error


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
