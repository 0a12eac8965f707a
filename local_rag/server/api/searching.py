"""Search without an answer: the passages that fit a query, as `local-rag search` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from local_rag.core.errors import EngineError, NotLocal, UsageError
from local_rag.core.narrowing import Narrowing
from local_rag.server.answer_view import PassageView, passage_view
from local_rag.server.endpoints import Endpoint, Request
from local_rag.server.errors import in_fields
from local_rag.text.display import for_terminal

if TYPE_CHECKING:
    from local_rag.server.place import Place


class Search(Request):
    """Words or a question, with "exact phrases" and -words.

    `within` are files, folders or globs, `after` and `before` dates (ISO 8601), `types` kinds of files.
    """

    query: str
    index: str | None = None
    k: int = Field(10, ge=1, le=100)
    mode: Literal["hybrid", "dense", "words"] = "hybrid"
    within: Sequence[str] = ()
    after: str = ""
    before: str = ""
    types: Sequence[str] = ()
    authors: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages, best first; `notes` say what a search does not see, in a line each."""

    passages: Sequence[PassageView]
    notes: Sequence[str]


def search(place: Place, request: Search) -> dict[str, Any]:
    from local_rag.index.exact_words import typed_query
    from local_rag.runtime.question import check_question

    if not request.query.strip():
        raise UsageError("the query is empty", hint="type words or a question")
    check_question(request.query)
    query = typed_query(request.query)
    given = (tuple(request.within), request.after, request.before, tuple(request.types), tuple(request.authors))
    narrowing = query.narrow(Narrowing(*given))
    with ExitStack() as opened:
        index = _index(place, request.index, opened)
        passages = index.search(query.text, request.k, within=narrowing, mode=request.mode)
        label = index.path_labels()
        notes = index.waiting_notes()
    return {
        "passages": [passage_view(passage, label) for passage in passages],
        "notes": [for_terminal(in_fields(note)) for note in notes],
    }


def _index(place: Place, name: str | None, opened: ExitStack) -> Any:
    """The index of whoever answers questions; where nobody can, it is opened for this search alone."""
    from local_rag.runtime.opening import open_indexes

    try:
        return opened.enter_context(place.using(name)).index
    except (EngineError, NotLocal):  # a search asks no model
        return opened.enter_context(open_indexes(place.settings_of(name)))


ENDPOINTS = (
    Endpoint("POST", "/api/search", search, Search, Passages, summary="the passages that fit a query", heavy=True),
)
