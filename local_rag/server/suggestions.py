"""Suggest questions about an index from its titles and headings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fastapi import APIRouter

from local_rag.core.errors import IndexMissing
from local_rag.diagnostics.demo import ANSWERED, DOCUMENTS
from local_rag.index.store.protocol import Store
from local_rag.server.answers import is_table
from local_rag.server.listings import safe_line
from local_rag.server.workspace import Here

SUGGESTED = 3
READ_FOR_QUESTIONS = 50
"""The most documents whose headings are read for suggested questions."""
LONGEST_HEADING = 60

router = APIRouter()


@router.get("/api/index/suggestions")
def suggestions(workspace: Here, index: str | None = None) -> dict[str, list[str]]:
    """Suggest a few `questions` about the indexed files, made of titles and headings."""
    try:
        listing = workspace.files.of(workspace.settings_of(index).index_path)
    except IndexMissing:
        return {"questions": []}
    headed = listing.read(Store.headed, READ_FOR_QUESTIONS)
    common = Counter(heading for *_, headings in headed for heading in {*headings})  # "Abstract" says little of a paper
    named = {
        path: (title, _heading(title, sorted(headings, key=common.__getitem__))) for path, title, headings in headed
    }
    asked = [
        f"What does “{safe_line(title)}” say about “{safe_line(heading)}”?"
        for path, (title, heading) in named.items()
        if heading and not is_table(path)
    ]
    known = [ANSWERED] if str(DOCUMENTS.resolve()) in {root.path for root in listing.roots} else []
    return {"questions": [*known, *asked][:SUGGESTED]}


def _heading(title: str, headings: Sequence[str]) -> str:
    """Return the first suitable heading that is not the title, or "" if there is none or the title is too long."""
    fitting = (each for each in headings if each != title and 4 <= len(each) <= LONGEST_HEADING and each[0].isalpha())
    return next(fitting, "") if len(title) <= LONGEST_HEADING else ""
