"""Write an answer as one self-contained HTML file that shows its quotes in their passages.

The Content-Security-Policy of the file forbids scripts and requests.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import partial

from local_rag import __version__
from local_rag.core.answer import Answer
from local_rag.core.errors import LocalRagError
from local_rag.index.path_labels import PathLabel
from local_rag.index.store.protocol import Store
from local_rag.runtime.export import when
from local_rag.server.answers import file_id_of
from local_rag.server.documents import located
from local_rag.server.originals import around, number_of, spot_of
from local_rag.server.workspace import Workspace
from local_rag.text.answer_html import alone, blocks_html, text
from local_rag.text.blocks import Source
from local_rag.text.nodes import Node

CONTEXT = 600
"""About how many code points are shown before a quote, and after it."""

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
    """Return the whole HTML file; `label` names files, and `at` is when the answer was given (ISO 8601)."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    way = f"{answer.graph}: {' → '.join(answer.path)}" if answer.path else answer.graph
    made_by = (f"local-rag {__version__}", answer.engine, way, f"{when(at)} UTC" if at else "")
    body = "".join(blocks_html(answer, label, partial(passage_of, workspace)))
    return (
        f'<!doctype html>\n<html lang="{text(answer.language)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{text(policy)}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(' '.join(answer.question.split()))}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1><bdi>{text(answer.question)}</bdi></h1>\n{body}"
        f"<footer>{text(' · '.join(filter(None, made_by)))}</footer>\n</body>\n</html>\n"
    )


def passage_of(workspace: Workspace, source: Source) -> Sequence[Node]:
    """Return a marked quote in the text around it, or the quote alone if its place is not certain."""
    citation, file = source.citation, file_id_of(source.citation)
    if not file or citation.start >= citation.end:  # of the web, or what a file says of itself
        return alone(source)
    try:
        listing, path = located(workspace, file)
        documents = listing.read(Store.documents, path)
        number = number_of(listing, documents, citation.chunk_id)
        spot = spot_of(documents, number, citation.page, citation.start, citation.end, citation.quote)
    except LocalRagError:  # the index is gone, or the file has left it
        return alone(source)
    if spot is None or spot.start >= spot.end:
        return alone(source)
    window = around(documents[spot.number], path, spot.start, spot.end, CONTEXT, CONTEXT)
    more: Node = {"t": "p", "c": [{"t": "text", "s": "…"}]}
    return [*([more] if window.before else []), *window.blocks, *([more] if window.after else [])]
