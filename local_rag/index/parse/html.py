"""Pages of the web: their main text with title and headings, and the URL of pages that a browser saved."""

from __future__ import annotations

import html
import itertools
import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from local_rag.core.documents import Heading, LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.html_text import AROUND, DROPPED, TextBuilder, add_tree, parse_html
from local_rag.index.parse.mail import header, html_source, message_of
from local_rag.index.parse.parsed_file import UNKNOWN, ParsedFile, Properties, clean, document
from local_rag.index.parse.properties import from_mapping, stated
from local_rag.index.parse.prose import fields
from local_rag.text.display import is_page, normal
from local_rag.text.encoding import declared_charset, decode
from local_rag.text.words import words

DOCUMENT_SHARE = 0.95
"""Share of a page's words that are its own from which its text is taken whole, without <nav>, <footer> and <aside>.

Own words are visible, in no link and in no <nav>, <footer> or <aside>. trafilatura leaves out headings and lists of
a document: of the words of 17 manuals, letters and minutes it kept 87 %, with `favor_recall` 99.9 %; of six pages of
readability's tests 98 %, which this share makes 99.8 %. Of 69 news pages two reach it.
"""

MAIN_SHARE = 0.5
"""Share of the page's own words below which trafilatura's main text is not trusted and all visible text is taken.

Counting all visible words would have taken 15 of 69 news pages whole, most of them wrongly; counting own words takes 4.
"""

GAP_SHARE = 0.03
"""Share of the words kept up to which a gap between two lines of the main text, or after its title, is filled; a gap of
up to 10 words always is.

Measured with 4-grams: on three long technical posts recall rises from .78, .86, .78 to .87, .91, .95, on 69 news pages
from .977 to .986, for a precision of .866 instead of .878.
"""

MAX_PARTS = 30_000
"""Parts of text above which a page is taken whole: trafilatura needs more than a minute for 400,000 paragraphs."""

_LONG_ADDRESS = 2000
"""Characters of a URL; no person could read a longer one."""

_LONG_SCRIPT = 200_000
"""Characters of JSON-LD that are parsed."""

_META_ELEMENTS = 2000
"""<meta> elements that are looked at."""

_GRAM = 3
_SCRIPT = re.compile(r"<(script|style|noscript|template)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z!?][^<>]*>")
_SAVED = re.compile(r"<!--\s*(?:saved from url=\(\d+\)|Page saved with SingleFile\s+url:\s*)(\S+)", re.IGNORECASE)
"""The comment that Chromium and SingleFile write above a page that they save."""

_LABEL = re.compile(r"^-?(\d+|[a-zA-Z]|[ivxlcIVXLC]+)\. ")
"""The label before an item of a list: trafilatura does not count it."""

_VOCABULARY = re.compile(r"^(?:citation|og|article|dc|dcterms)[_:.]", re.IGNORECASE)
"""Prefixes of the names of <meta> elements: Google Scholar's, Open Graph's, Dublin Core's."""


def load_html(path: Path) -> ParsedFile:
    """Read the main text of a page, or all of its visible text where the main text is too little of it."""
    data = path.read_bytes()
    return ParsedFile((html_document(clean(decode(data, declared_charset(data)))),))


def load_mhtml(path: Path) -> ParsedFile:
    """Read the page of an MHTML file (RFC 2557) without its pictures and styles. Raises FileSkipped where there is
    none.
    """
    message = message_of(path.read_bytes())
    source = html_source(message)
    if not source:
        raise FileSkipped("holds no page (no part of it is HTML)")
    page = html_document(source)
    return ParsedFile((replace(page, url=_address(header(message, "Snapshot-Content-Location")) or page.url),))


def html_document(source: str) -> LoadedDocument:
    """Return a page as a document: title, headings, and its main text, or all visible text where that is too little of
    it.

    Its `url` is the one that the browser that saved it wrote above it, else the one that the page gives itself. A page
    may give any: the URL is shown, and nothing is ever fetched from it.
    """
    tree = parse_html(source)
    if tree is None:
        return document(_bare(source))
    whole, visible, own = TextBuilder(), TextBuilder(), TextBuilder()
    add_tree(tree, whole)
    add_tree(tree, visible, DROPPED | AROUND)
    add_tree(tree, own, DROPPED | AROUND | {"a"})
    title = whole.headings[0].text if whole.headings else ""
    text, headings = whole.text or _bare(source), whole.headings
    own_words = len(words(own.text))
    if own_words >= DOCUMENT_SHARE * len(words(text)) > 0:
        text, headings = visible.text, visible.headings
    elif text and len(whole.parts) <= MAX_PARTS:
        text, headings = _main(source, visible, own_words) or (text, headings)
    saved = [match[1] for match in _SAVED.finditer(source[:10_000])]
    named = tree.xpath("//link[@rel='canonical']/@href | //meta[@property='og:url']/@content")
    url = next(filter(None, map(_address, [*saved, *named])), "")
    return replace(document(text, title, headings=headings, properties=_properties(tree, whole.text)), url=url)


def _address(url: str) -> str:
    """Return one spelling of an absolute http(s) URL, "" for anything else."""
    url = normal(url) if len(url) <= _LONG_ADDRESS else ""
    return url if is_page(url) and url.isprintable() and not re.search(r"\s", url) else ""


def _properties(tree: Any, text: str) -> Properties:
    """Return the properties of a page from its <title>, its <meta> elements, its JSON-LD; each completes those before
    it.

    Author and date also come from lines at the head of its text, as the books of Project Gutenberg have them.
    """
    known: dict[str, list[str]] = {}
    for meta in itertools.islice(tree.iter("meta"), _META_ELEMENTS):
        name = meta.get("name") or meta.get("property") or meta.get("itemprop") or ""
        known.setdefault(_VOCABULARY.sub("", name).lower(), []).append(meta.get("content") or "")
    sources = [stated(tree.findtext(".//title") or ""), from_mapping(known), _linked_data(tree)]
    if not any(source.author or source.date for source in sources):
        sources.append(replace(fields(text, begin=True), title="", subject=""))
    return Properties(
        *(next(filter(None, (getattr(source, name) for source in sources)), "") for name in Properties.__slots__)
    )


def _linked_data(tree: Any) -> Properties:
    """Return the properties of the first article in JSON-LD (https://schema.org/Article)."""
    articles: list[dict[str, Any]] = []

    def keep(found: dict[str, Any]) -> dict[str, Any]:
        articles.extend([found] if found.get("datePublished") else [])
        return found

    for source in tree.xpath("//script[@type='application/ld+json']/text()"):
        with suppress(ValueError, RecursionError):
            json.loads(source[:_LONG_SCRIPT], object_hook=keep)
    return from_mapping(articles[0]) if articles else UNKNOWN


def _main(source: str, visible: TextBuilder, own: int) -> tuple[str, list[Heading]] | None:
    """Return the visible lines that trafilatura counts to the main text, small gaps filled; None where they are too
    few.

    Its own text is not used: it lacks captions, code and parts of tables.
    """
    from trafilatura import extract

    main = words(extract(source, include_comments=False, favor_recall=True) or "")
    known = set(_grams(main))
    text = visible.text
    lines = visible.lines()
    counts, kept = [], []
    for number, line in enumerate(lines):
        tokens = words(visible.bare.get(line.start) or _LABEL.sub("", line.of(text)))
        grams = _grams(tokens)
        counts.append(len(tokens))
        if len(tokens) >= _GRAM and sum(gram in known for gram in grams) >= 0.6 * len(grams):
            kept.append(number)
    total = sum(counts[number] for number in kept)
    if not kept or total < MAIN_SHARE * max(own, len(main)):
        return None
    titles = {heading.start for heading in visible.headings if heading.level == 1}
    opening = next((number for number in range(kept[0], -1, -1) if lines[number].start in titles), None)
    filled = set(kept)
    for before, after in itertools.pairwise([(opening or 0) - 1, *kept, len(lines)]):
        inside = after < len(lines) and (after > kept[0] or opening is not None)
        if sum(counts[before + 1 : after]) <= max(10, GAP_SHARE * total if inside else 0):
            filled.update(range(before + 1, after))
    return visible.picked(lines[number] for number in sorted(filled))


def _bare(source: str) -> str:
    """Return a page without tags, for pages that libxml2 gives up on: it stops at a depth of 2,048 elements."""
    return clean(html.unescape(_TAG.sub(" ", _SCRIPT.sub(" ", source)))).strip()


def _grams(tokens: list[str]) -> list[tuple[str, ...]]:
    return list(zip(*(tokens[offset:] for offset in range(_GRAM)), strict=False))
