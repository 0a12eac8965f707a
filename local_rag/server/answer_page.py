"""An answer as one HTML file with its quotes in their passages: it needs nothing else, and asks no one for anything.

Every string passes `html.escape`; the page's own policy forbids scripts and requests besides.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from local_rag.core.errors import LocalRagError
from local_rag.core.serialization import to_plain
from local_rag.index.store.protocol import Store
from local_rag.server.answers import answer_view
from local_rag.server.documents import located
from local_rag.server.originals import around, number_of, spot_of
from local_rag.server.responses import harmless
from local_rag.server.workspace import Workspace
from local_rag.text.nodes import Node

if TYPE_CHECKING:
    from local_rag.core.answer import Answer
    from local_rag.index.path_labels import PathLabel

_TAGS = {"quote": "blockquote", "h": "h3", "cite": "a", "doubt": "em"}
"""How nodes are called in HTML, where that is otherwise."""

CONTEXT = 600
"""Code points that are shown before a quote, and after it, about."""
_INLINE = ("strong", "em", "del", "mark", "code")

_ANCHOR = re.compile(r' (?:id|href)="#?c\d+"')
"""Names that several answers on one page would share; no text holds a bare quotation mark."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5b6570; --line: #d9dee3; --paper: #fff; --mark: #fff1b8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #9aa5b0; --line: #38414a; --paper: #16191d; --mark: #5c4a00; }
}
body { max-width: 44rem; margin: 3rem auto; padding: 0 1.25rem; color: var(--ink); background: var(--paper);
  font: 1.0625rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.3; }
h2 { margin-top: 2.5rem; font-size: 1rem; }
.soft { color: var(--soft); }
mark { background: var(--mark); color: inherit; }
pre, blockquote { margin: .5rem 0; padding: .25rem 0 .25rem 1rem; border-left: 3px solid var(--line);
  white-space: pre-wrap; }
table { border-collapse: collapse; }
th, td { padding: .25rem .75rem; border: 1px solid var(--line); text-align: left; }
a.cite { font-size: .8em; vertical-align: super; text-decoration: none; }
li { margin: .25rem 0; }
footer { margin-top: 3rem; font-size: .85rem; color: var(--soft); }
"""


def answer_page(workspace: Workspace, answer: Answer, label: PathLabel, at: str) -> str:
    """The whole file. `label` names files, `at` is when the answer was given (ISO 8601)."""
    view = harmless(to_plain(answer_view(answer, label)))
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="{escape(view["language"])}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(_line(view['question']))}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"{''.join(_body(workspace, view, at))}</body>\n</html>\n"
    )


def _body(workspace: Workspace, view: Mapping[str, Any], at: str) -> Iterator[str]:
    yield f"<h1><bdi>{escape(view['question'])}</bdi></h1>\n"
    yield from _told(view)
    yield from _sources(view, partial(passage_of, workspace))
    yield f"<footer>{escape(_made_by(view, at))}</footer>\n"


def answer_html(answer: Answer) -> str:
    """An answer and its quotes as HTML without links, styles and anchors, to stand in a page of others: a notebook."""
    view = harmless(to_plain(answer_view(answer)))
    parts = [*_told(view), *_sources(view, alone)]
    return f"<div>\n{_ANCHOR.sub('', ''.join(parts))}</div>"


def _told(view: Mapping[str, Any]) -> Iterator[str]:
    """What an answer says, without its question and sources."""
    lines = view["lines"]
    yield f'<p class="soft">{escape(view["status_text"])}</p>\n'
    if lines["understood"]:
        yield f'<p class="soft"><bdi>{escape(lines["understood"])}</bdi></p>\n'
    if view["status"] != "abstained":
        yield from _html(view["blocks"])
    for name in ("removed", "nothing_near", "about", "dropped"):
        if lines[name]:
            yield f'<p class="soft"><bdi>{escape(lines[name])}</bdi></p>\n'
    for conflict in view["conflicts"]:
        yield f"<h2>{escape(conflict['line'])}</h2>\n<ul>\n"
        for side in conflict["positions"]:
            cites = "".join(f"{_cite(each['number'])} <bdi>{escape(each['title'])}</bdi>" for each in side["citations"])
            yield f"<li><bdi>{escape(side['text'])}</bdi>{cites} {escape(side['when'])}</li>\n"
        yield "</ul>\n"
    if lines["nearest"]:
        yield f"<h2>{escape(lines['nearest'])}</h2>\n"
    for citation in view["nearest"]:
        yield f'<p class="soft"><bdi>{escape(_where(citation))}</bdi></p>\n'
        yield f"<blockquote><bdi>{escape(citation['read'])}</bdi></blockquote>\n"


def _uncited(view: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The quotes of positions whose passages the answer does not cite."""
    cited = {citation["number"] for citation in view["citations"]}
    sides = [side for conflict in view["conflicts"] for side in conflict["positions"]]
    return [each for side in sides for each in side["citations"] if each["number"] not in cited]


def _sources(view: Mapping[str, Any], passage: Callable[[Mapping[str, Any]], Sequence[Node]]) -> Iterator[str]:
    known = set[int]()
    for citation in sorted([*view["citations"], *_uncited(view)], key=lambda citation: citation["number"]):
        number = citation["number"]
        anchor = f' id="c{number}"' if number not in known else ""
        known.add(number)
        yield f"<h2{anchor}>[{number}] <bdi>{escape(_where(citation))}</bdi></h2>\n"
        yield f'<blockquote dir="auto">{"".join(_html(passage(citation)))}</blockquote>\n'


def _where(citation: Mapping[str, Any]) -> str:
    return " · ".join(filter(None, (citation["label"], citation["where"], citation["line"], citation["how"])))


def alone(citation: Mapping[str, Any]) -> Sequence[Node]:
    """A quote without what stands around it."""
    return [{"t": "p", "c": [{"t": "mark", "c": [{"t": "text", "s": citation["read"]}]}]}]


def passage_of(workspace: Workspace, citation: Mapping[str, Any]) -> Sequence[Node]:
    """A quote, marked, in the text around it; alone where it is not certain where it stands."""
    quote, start, end = citation["quote"], citation["start"], citation["end"]
    if not citation["file_id"] or start >= end:  # of the web, or what a file says of itself
        return alone(citation)
    try:
        listing, path = located(workspace, citation["file_id"])
        documents = listing.read(Store.documents, path)
        number = number_of(listing, documents, citation["chunk_id"])
        spot = spot_of(documents, number, citation["page"], start, end, quote)
    except LocalRagError:  # the index is gone, or the file has left it
        return alone(citation)
    if spot is None or spot.start >= spot.end:
        return alone(citation)
    window = around(documents[spot.number], path, spot.start, spot.end, CONTEXT, CONTEXT)
    more: Node = {"t": "p", "c": [{"t": "text", "s": "…"}]}
    return [*([more] if window.before else []), *window.blocks, *([more] if window.after else [])]


def _html(nodes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Nodes of an answer or a file as HTML; there are no others than these."""
    for node in nodes:
        kind, inner = node["t"], "".join(_html(node.get("c", ())))
        if kind == "cite":
            yield _cite(node["n"])
        elif kind == "doubt":
            yield f' <em class="soft">({escape(node["s"])})</em>'
        elif kind == "link":
            yield f'{inner} <span class="soft">({escape(node["href"])})</span>'
        elif kind == "text":
            yield escape(node["s"])
        elif kind == "br":
            yield "<br>\n"
        else:
            tag = _TAGS.get(kind, kind)
            first = f' start="{int(node["n"])}"' if kind == "ol" and "n" in node else ""
            yield (f"<{tag}{first}>{inner}</{tag}>\n" if kind not in _INLINE else f"<{tag}>{inner}</{tag}>")


def _cite(number: int) -> str:
    return f'<a class="cite" href="#c{number}">[{number}]</a>'


def _made_by(view: Mapping[str, Any], at: str) -> str:
    """Who answered, how and when."""
    from local_rag import __version__

    way = f"{view['graph']}: {' → '.join(view['path'])}" if view["path"] else view["graph"]
    time = f"{at[:16].replace('T', ' ')} UTC" if at else ""
    return " · ".join(filter(None, (f"local-rag {__version__}", view["engine"], way, time)))


def _line(text: str) -> str:
    return " ".join(text.split())
