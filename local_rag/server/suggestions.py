"""Suggest questions about an index from its titles and headings, those that its files answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import islice

from fastapi import APIRouter

from local_rag.core.cancel import Cancel
from local_rag.core.errors import IndexMissing, LocalRagError
from local_rag.diagnostics.demo import ANSWERED, DOCUMENTS
from local_rag.index.store.protocol import Store
from local_rag.server.answers import is_table
from local_rag.server.listings import safe_line
from local_rag.server.workspace import HEAVY, Here, Workspace

SUGGESTED = 3
READ_FOR_QUESTIONS = 50
"""The most documents whose headings are read for suggested questions."""
LONGEST_HEADING = 60
UNDER, WHOLE, SECONDS = 2, 4, 60.0
"""The most questions about a heading and about a file that are tried, and the seconds for all of them."""

router = APIRouter()


@router.get("/api/index/suggestions", dependencies=HEAVY)
def suggestions(workspace: Here, index: str | None = None) -> dict[str, list[str]]:
    """Suggest a few `questions` about the indexed files, made of titles and headings, that quotes of them answer."""
    try:
        listing = workspace.listing(index)
    except IndexMissing:
        return {"questions": []}
    state = listing.index, listing.generation
    if state in workspace.suggested:
        return {"questions": workspace.suggested[state]}
    headed = listing.read(Store.headed, READ_FOR_QUESTIONS)
    common = Counter(heading for *_, headings in headed for heading in {*headings})  # "Abstract" says little of a paper
    named = {
        path: (title, _heading(title, sorted(headings, key=common.__getitem__))) for path, title, headings in headed
    }
    fitting = [each for path, each in named.items() if each[1] and not is_table(path)]
    under = [f"What does “{safe_line(title)}” say under “{safe_line(heading)}”?" for title, heading in fitting]
    whole = [f"What is “{safe_line(title)}” about?" for title, _ in reversed(fitting)]
    known = [ANSWERED] if str(DOCUMENTS.resolve()) in {root.path for root in listing.roots} else []
    answered = _answered(workspace, index, [*known, *under[:UNDER], *whole[:WHOLE]])
    workspace.suggested[state] = [*islice(answered, SUGGESTED)]
    return {"questions": workspace.suggested[state]}


def _answered(workspace: Workspace, index: str | None, questions: Sequence[str]) -> Iterator[str]:
    """Yield the questions whose answer in quotes is neither refused nor in doubt, as long as there is time."""
    cancel = Cancel(SECONDS)
    with suppress(LocalRagError), ExitStack() as opened:
        rag = opened.enter_context(workspace.using(index))
        if rag.engine.writes:
            rag = opened.enter_context(workspace.using(index, engine="extractive"))
        for question in questions:
            answer = rag.ask(question, may_search="never", record=False, cancel=cancel)
            if answer.certainty in ("sure", "probably"):
                yield question


def _heading(title: str, headings: Sequence[str]) -> str:
    """Return the first suitable heading that is not the title, or "" if there is none or the title is too long."""
    fitting = (each for each in headings if each != title and 4 <= len(each) <= LONGEST_HEADING and each[0].isalpha())
    return next(fitting, "") if len(title) <= LONGEST_HEADING else ""
