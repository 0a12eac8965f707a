"""The kinds of files that `--type` understands besides suffixes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from local_rag.text.urls import is_page

KINDS = {
    "mail": (".eml", ".mbox"),
    "html": (".html", ".htm", ".xhtml", ".mhtml", ".mht"),
    "markdown": (".md", ".markdown"),
    "word": (".docx",),
    "book": (".epub",),
    "table": (".csv", ".tsv"),
}
"""A kind -> its suffixes; pages of the web are html, and `web` means them alone."""


def suffix_of(path: str) -> str:
    """The suffix of a file or of a page's URL in small letters with its dot, "" without one."""
    name = urlsplit(path).path if is_page(path) else path
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()


def of_types(paths: Iterable[str], types: Iterable[str]) -> list[str]:
    """Those of the paths that are of one of these suffixes (without the dot) or kinds."""
    wanted = set(types)
    suffixes = {suffix for kind in wanted for suffix in (f".{kind}", *KINDS.get(kind, ()))}
    pages = bool(wanted & {"html", "web"})
    return [path for path in paths if suffix_of(path) in suffixes or (pages and is_page(path))]
