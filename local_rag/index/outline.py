"""What an index is about: as a person says it, and where its files lie, of which kinds, and on which topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from local_rag.core.documents import Catalog
from local_rag.core.errors import UsageError
from local_rag.index.store import embedded, reads, topics, writes
from local_rag.index.store.store import Store
from local_rag.text.description import LONGEST_ABOUT
from local_rag.text.display import printable
from local_rag.text.urls import is_page

ABOUT = "about"
"""The row of `meta` with what a person said of the index."""
_FOLDERS = 8


def about(store: Store) -> str:
    """What a person said of the index; empty where nobody did."""
    return store.read(reads.meta).get(ABOUT, "")


def outline(store: Store) -> Catalog:
    """The catalog without what a sample of the texts says; quicker than all of it."""
    files, documents, chunks = store.read(reads.counts)
    folders, kinds = _places(store.read(reads.paths))
    return Catalog(
        documents,
        chunks,
        files=files,
        about=about(store),
        folders=folders,
        kinds=kinds,
        topics=topic_titles(store),
    )


def _places(paths: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the folders with the most files, and the kinds of files with their counts; pages by their hosts."""
    folders: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for path in paths:
        if is_page(path):
            folders[urlsplit(path).hostname or path] += 1
            kinds["web page"] += 1
        else:
            folder, _, name = path.replace("\\", "/").rpartition("/")
            folders[folder.rpartition("/")[2]] += 1
            kinds[f".{name.rpartition('.')[2].lower()}" if "." in name[1:] else "no suffix"] += 1
    named = tuple(name for name, _ in folders.most_common(_FOLDERS) if name)
    return named, tuple(f"{kind} {count:,}" for kind, count in kinds.most_common())


def topic_titles(store: Store) -> tuple[str, ...]:
    """The titles of the passages that stand for the topics; a heading or the file's name where there is no title.

    An index that an earlier version wrote has none until its next sync: no question waits for them to be made, and the
    titles with the most text stand in.
    """
    known = store.read(topics.kept)
    if known is None:
        return tuple(store.read(reads.titles, topics.TOPICS))
    places = store.read(reads.places, known.ids)
    return tuple(
        dict.fromkeys(title or heading.rpartition(" > ")[2] or Path(path).name for title, heading, path in places)
    )


def set_about(store: Store, about: str) -> None:
    """Keep what a person says of the index, on one line; an empty one goes back to the summary.

    The caller holds the writer's lock. Raises UsageError for one of more than `LONGEST_ABOUT` characters.
    """
    line = " ".join(printable(about).split())
    if len(line) > LONGEST_ABOUT:
        raise UsageError(
            f"a description has at most {LONGEST_ABOUT} characters, and this one has {len(line):,}",
            hint='local-rag index --about "what the files are about, in a sentence or two"',
        )
    with store.writing() as db:
        writes.set_meta(db, {ABOUT: line})


def renew_topics(store: Store, dimension: int) -> None:
    """Make the topics anew where much of the index has changed. The caller holds the writer's lock.

    Topics of a part would say too little of the whole: while passages wait for their vectors, the old ones stay.
    """
    with_vector, chunks = store.read(embedded.counts)
    if with_vector == chunks and store.read(topics.are_due):
        made = store.read(topics.made, dimension)
        with store.writing() as db:
            writes.set_meta(db, {topics.ROW: made.row})
