"""What a web page says of itself: <meta> elements and JSON-LD."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from local_rag.index.parse.parsed_file import Properties
from local_rag.index.parse.properties import MANY, stated

LONGEST = 200_000
"""Characters of JSON-LD that are parsed."""

_ELEMENTS = 2000
"""<meta> elements that are looked at."""

_TITLES = ("citation_title", "og:title", "dc.title", "dcterms.title")
_AUTHORS = (
    "citation_author",
    "author",
    "article:author",
    "dc.creator",
    "dcterms.creator",
    "parsely-author",
    "sailthru.author",
    "byl",
)
_DATES = (
    "citation_publication_date",
    "citation_date",
    "article:published_time",
    "datepublished",
    "dc.date.issued",
    "dcterms.issued",
    "dcterms.created",
    "dc.date",
    "dcterms.date",
    "parsely-pub-date",
    "sailthru.date",
    "pubdate",
    "publish-date",
    "publication_date",
    "date",
)
_SUBJECTS = ("description", "og:description", "dc.subject", "keywords", "news_keywords")


def page_properties(tree: Any) -> Properties:
    """Title, authors, date of publication, description and keywords of a page's tree.

    <title> comes first, then what sites write for search engines; a site's own name is not taken off.
    """
    metas, linked = _metas(tree), _linked_data(tree)
    titles = (stated(title).title for title in (_title(tree), *_all(metas, _TITLES), linked.get("headline", "")))
    dates = (stated(date=date).date for date in (*_all(metas, _DATES), linked.get("datePublished", "")))
    authors = next((stated(authors=metas[name]).author for name in _AUTHORS if name in metas), "")
    subjects = [next(_all(metas, _SUBJECTS[:2]), ""), *_all(metas, _SUBJECTS[2:])]
    title, date = next(filter(None, titles), ""), next(filter(None, dates), "")
    known = stated(subjects=subjects)
    return Properties(title, authors or stated(authors=linked.get("author", [])).author, date, known.subject)


def _title(tree: Any) -> str:
    node = tree.find(".//title")
    return " ".join("".join(node.itertext()).split()) if node is not None else ""


def _metas(tree: Any) -> dict[str, list[str]]:
    metas: dict[str, list[str]] = {}
    for number, meta in enumerate(tree.iter("meta")):
        if number >= _ELEMENTS:
            break
        name = meta.get("name") or meta.get("property") or meta.get("itemprop") or ""
        contents = metas.setdefault(name.lower(), [])
        if len(contents) < MANY and (content := meta.get("content", "").strip()):
            contents.append(content)
    return metas


def _all(metas: dict[str, list[str]], names: tuple[str, ...]) -> Iterator[str]:
    return (content for name in names for content in metas.get(name, ()))


def _linked_data(tree: Any) -> dict[str, Any]:
    """Headline, date and names of the authors of the first article in JSON-LD (https://schema.org/Article)."""
    for script in tree.iter("script"):
        source = script.text or ""
        if script.get("type", "").strip().lower() != "application/ld+json" or len(source) > LONGEST:
            continue
        try:
            value = json.loads(source)
        except (ValueError, RecursionError):
            continue
        for node in _nodes(value):
            if isinstance(node, dict) and isinstance(node.get("datePublished"), str):
                headline = node.get("headline")
                return {
                    "headline": headline if isinstance(headline, str) else "",
                    "datePublished": node["datePublished"],
                    "author": list(_names(node.get("author"))),
                }
    return {}


def _nodes(value: Any) -> list[Any]:
    """The objects of a page: one, a list of them, or those of its @graph."""
    nodes = value if isinstance(value, list) else [value]
    graphs = [node.get("@graph") for node in nodes[:MANY] if isinstance(node, dict)]
    return [*nodes[:MANY], *(inner for graph in graphs if isinstance(graph, list) for inner in graph[:MANY])]


def _names(author: Any) -> Iterator[str]:
    for person in (author if isinstance(author, list) else [author])[:MANY]:
        name = person.get("name") if isinstance(person, dict) else person
        if isinstance(name, str):
            yield name
