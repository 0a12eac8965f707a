"""The documents of an earlier version that no file gave again, brought up to date from what is stored of them."""

from __future__ import annotations

from collections.abc import Collection

from local_rag.core import cancel
from local_rag.index.store import full_text, upgrade
from local_rag.index.store.store import Store

DOCUMENTS = 50
"""That get their header in one transaction."""

ROWS = 2000
"""Rows of the earlier full text, of 4 kB each, that one transaction deletes."""


def finish(store: Store, in_vain: Collection[str] = ()) -> int:
    """Give every document that has none a header of this version; the number of their files and pages.

    `in_vain` are files that were read again and could not be. Each step is a transaction: what an interrupted run did
    is done. Then the full text of the earlier version goes. The caller holds the writer's lock. Raises Stopped.
    """
    paths = set(in_vain)
    for path in in_vain:
        with store.writing() as db:
            upgrade.head(db, upgrade.documents_at(db, path), lasting=True)
    while documents := store.read(upgrade.behind, DOCUMENTS):
        cancel.check()
        with store.writing() as db:
            upgrade.head(db, documents)
        paths |= store.read(upgrade.paths_of, documents)
    while store.read(full_text.has_earlier):
        cancel.check()
        with store.writing() as db:
            full_text.drop_step(db, ROWS)
    return len(paths)
