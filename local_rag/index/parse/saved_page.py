"""Pages that a browser saved: where they were saved from, and MHTML, a page with its parts in one file."""

from __future__ import annotations

import re
from dataclasses import replace
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from typing import Any

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.mail import POLICY, header, html_source
from local_rag.index.parse.markup import html_document, parse_html
from local_rag.index.parse.parsed_file import ParsedFile, clean
from local_rag.text.encoding import declared_charset, decode
from local_rag.text.urls import is_page, normal

LONGEST = 2000
"""Characters of a URL; what is longer is none that a person could read."""

HEAD = 100_000
"""Characters of a page in which it says where it is from."""

_SAVED = re.compile(r"<!--\s*(?:saved from url=\(\d+\)|Page saved with SingleFile\s+url:\s*)(\S+)", re.IGNORECASE)
"""What Chromium and SingleFile write above a page that they save."""

_BODY = re.compile(r"<body\b", re.IGNORECASE)


def load_html(path: Path) -> ParsedFile:
    """The main text of a page, or all of its visible text where the main text is too little of it."""
    data = path.read_bytes()
    source = clean(decode(data, declared_charset(data)))
    return ParsedFile((replace(html_document(source), url=saved_from(source)),))


def load_mhtml(path: Path) -> ParsedFile:
    """The page of an MHTML file (RFC 2557); its pictures and styles are left out. Raises FileSkipped without any."""
    data = path.read_bytes()
    if not data.strip():
        raise FileSkipped("is empty")
    message = BytesParser(EmailMessage, policy=POLICY).parsebytes(data.lstrip())
    source = html_source(message)
    if not source:
        raise FileSkipped("holds no page (no part of it is HTML)")
    url = address(header(message, "Snapshot-Content-Location")) or saved_from(source)
    return ParsedFile((replace(html_document(source), url=url),))


def saved_from(source: str) -> str:
    """The address of a saved page: what the browser wrote above it, else what it calls its own; empty where unknown.

    A page may call itself what it likes: the address is shown, and nothing is ever fetched from it.
    """
    head = source[:HEAD]
    saved = _SAVED.search(head)
    if saved and (url := address(saved.group(1))):
        return url
    body = _BODY.search(head)
    tree = parse_html(head[: body.start()] if body else head)
    return next((url for named in _named(tree) if (url := address(named))), "") if tree is not None else ""


def _named(tree: Any) -> list[str]:
    """The canonical link of a page, then its Open Graph address."""
    links = [link.get("href", "") for link in tree.iter("link") if "canonical" in link.get("rel", "").lower().split()]
    metas = [meta.get("content", "") for meta in tree.iter("meta") if meta.get("property", "").lower() == "og:url"]
    return [*links, *metas]


def address(url: str) -> str:
    """One spelling of an absolute http(s) URL, empty for anything else."""
    url = normal(url) if len(url) <= LONGEST else ""
    return url if is_page(url) and url.isprintable() and not re.search(r"\s", url) else ""
