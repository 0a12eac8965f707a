"""The documents of an earlier version that no file gave again, brought up to date from what is stored of them."""

from __future__ import annotations

from collections.abc import Sequence

from local_rag.core import cancel
from local_rag.index.store import full_text, upgrade
from local_rag.index.store.store import Store

DOCUMENTS = 50
"""That get their header in one transaction."""


def head_unread(store: Store, paths: Sequence[str]) -> int:
    """Give the documents of files that were read again, and could not be, their header for good; how many files.

    The caller holds the writer's lock.
    """
    for path in paths:
        with store.writing() as db:
            upgrade.head(db, upgrade.documents_at(db, path), lasting=True)
    return len(paths)


def finish(store: Store) -> int:
    """Give every document that has none a header of this version; the number of their files and pages.

    Each step is a transaction: what an interrupted run did is done. Then the new full text answers; that of the earlier
    version goes with `Store.forget`. The caller holds the writer's lock. Raises Stopped.
    """
    paths: set[str] = set()
    while documents := store.read(upgrade.behind, DOCUMENTS):
        cancel.check()
        with store.writing() as db:
            upgrade.head(db, documents)
        paths |= store.read(upgrade.paths_of, documents)
    if store.read(full_text.has_earlier):
        with store.writing() as db:
            full_text.retire(db)
    return len(paths)
