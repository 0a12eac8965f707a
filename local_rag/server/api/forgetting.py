"""Files, pages and folders that leave an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from local_rag.server.endpoints import Endpoint, OfIndex
from local_rag.server.errors import NotFound
from local_rag.server.file_listings import listings_of, shown
from local_rag.server.indexing import indexing_of
from local_rag.server.page_pictures import pictures_of
from local_rag.text.display import is_url, plural

if TYPE_CHECKING:
    from local_rag.server.place import Place


class Forget(OfIndex):
    """Files, pages and roots by their IDs; `keep_out` leaves them out of an indexed folder from now on, too."""

    files: Sequence[str] = Field(min_length=1, max_length=10_000)
    keep_out: bool = False


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many files have left the index, what is kept out from now on, and what still quotes them."""

    removed: int
    kept_out: Sequence[str]
    notes: Sequence[str]


def forget(place: Place, request: Forget) -> Forgotten:
    from local_rag.diagnostics.kept import about, kept
    from local_rag.runtime.opening import open_index

    settings = place.settings_of(request.index)
    listing = listings_of(place).of(settings.index_path)
    if unknown := [identity for identity in request.files if identity not in listing.paths]:
        raise NotFound(f"{plural(len(unknown), 'of these is', 'of these are')} not in the index (any more)")
    names = [listing.paths[identity] for identity in request.files]
    roots = {root.path for root in listing.roots}
    files = [Path(name) for name in names if not is_url(name) and name not in roots]
    with indexing_of(place).alone(), open_index(settings, reembed=True) as opened:
        patterns = opened.keep_out(files) if request.keep_out and files else []
        removed = opened.remove([name if is_url(name) else Path(name) for name in names], missing_ok=True)
    pictures_of(place).forget()
    quoting = about(kept(settings), removed)
    notes = (
        [
            f"{plural(len(quoting), 'chat, run or report', 'chats, runs and reports')} may still quote what has left"
            " the index: local-rag kept   lists and deletes them"
        ]
        if quoting
        else []
    )
    return Forgotten(len(removed), [shown(pattern) for pattern in patterns], notes)


ENDPOINTS = (Endpoint("POST", "/api/index/forget", forget, Forget, Forgotten, summary="take files out of the index"),)
