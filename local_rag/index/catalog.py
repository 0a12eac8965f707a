"""What an index tells of itself without a model: its status, and a catalog of its titles, headings, terms and
topics.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from local_rag.core.documents import Catalog
from local_rag.core.errors import UsageError
from local_rag.index.store import folder, reads, vectors, writes
from local_rag.index.store.schema import EMBEDDING_PACE, TEXT_PACE, Root
from local_rag.text.display import LONGEST_ABOUT, is_page, printable, summary
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import content_words, stem

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors
    from local_rag.index.store.store import Store

ABOUT = "about"
"""The row of `meta` with what a person said of the index."""

_FOLDERS, _TITLES, _TERMS = 8, 20, 30
_SAMPLE = 200
"""Passages that are read to learn the most frequent stems and how they are written. All of FTS5's vocabulary would be
more exact, and takes 17 s for 1,000,000 passages."""

TOPICS = 24
"""Centres of all vectors, whose nearest passages stand for the topics: what a prompt has room for."""

_TOPICS = "topics"
"""The row of `meta` that keeps them: ids of chunks and no text, so that a topic goes with its file."""

_CENTRED = 20_000
"""Vectors that the centres are made of, spread evenly over a larger index: k-means over them takes half a second."""

_CHANGED = 0.1
"""Share of the vectors that came or went since, from which topics are made anew."""

_ROUNDS, _SEED = 10, 5


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """`bytes` is on disk; sizes are in tokens. `last_sync` is when text or vectors were stored last, ISO 8601 in UTC,
    "" before the first.

    Of the `chunks` that many are `embedded`; the others are matched by their words only, until the next sync.
    `text_pace` and `embedding_pace` are those of the last run of each phase, in passages per second, 0 where there was
    none; `seconds_left` is what the rest of the second takes at that pace, None where that is not known. `pages` of the
    web are no `files`; documents and chunks are of both. `root_options` are the `roots` and how each is walked. `about`
    is what a person said of the index, `summary` what its catalog says.
    """

    path: Path
    files: int
    documents: int
    chunks: int
    bytes: int
    embedder: str
    fingerprint: str
    dimension: int
    chunk_size: int
    chunk_overlap: int
    roots: tuple[str, ...]
    last_sync: str
    cache_fresh: bool
    pages: int = 0
    root_options: tuple[Root, ...] = ()
    about: str = ""
    summary: str = ""
    embedded: int = 0
    text_pace: float = 0.0
    embedding_pace: float = 0.0
    seconds_left: float | None = None


def inspect(db: Connection, path: Path, outlined: bool) -> IndexStatus:
    """Its summary is read only where it is `outlined`, for that looks at every path."""
    counts = reads.counts(db)
    made, meta, roots = reads.settings(db), reads.meta(db), reads.roots(db)
    synced = meta.get("last_sync")
    text_pace, pace = (float(meta.get(name, 0)) for name in (TEXT_PACE, EMBEDDING_PACE))
    return IndexStatus(
        path=path,
        **counts._asdict(),
        bytes=folder.size(path),
        embedder=made.embedder,
        fingerprint=made.fingerprint,
        dimension=made.dimension,
        chunk_size=made.size,
        chunk_overlap=made.overlap,
        roots=tuple(root.path for root in roots),
        last_sync=datetime.fromtimestamp(float(synced), UTC).isoformat(timespec="seconds") if synced else "",
        cache_fresh=not vectors.is_due(db),
        root_options=tuple(roots),
        about=meta.get(ABOUT, ""),
        summary=summary(outline(db)) if outlined else "",
        text_pace=text_pace,
        embedding_pace=pace,
        seconds_left=max(0, counts.chunks - counts.embedded) / pace if pace else None,
    )


def catalog(db: Connection) -> Catalog:
    """Titles and headings with the most text first, and the frequent words of a sample, one of each stem."""
    counts: Counter[str] = Counter()
    for passage in reads.passages(db, reads.sample(db, "chunks", "id", _SAMPLE)):
        counts.update({word for word in content_words(passage.text) if word.isalpha() and len(word) > 2})
    terms: dict[str, str] = {stem(word): "" for word in STOP_WORDS}
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        terms.setdefault(stem(word), word)
    titles = tuple(reads.titles(db, _TITLES))
    headings = (path.rpartition(" > ")[2] for path in reads.headings(db, 2 * _TITLES))
    return replace(
        outline(db),
        titles=titles,
        headings=tuple(dict.fromkeys(name for name in headings if name not in titles))[:_TITLES],
        terms=tuple(filter(None, terms.values()))[:_TERMS],
    )


def outline(db: Connection) -> Catalog:
    """The catalog without what a sample of the texts says; quicker than all of it."""
    files, pages, documents, chunks, _ = reads.counts(db)
    folders: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for path in reads.paths(db):
        above, _, name = path.replace("\\", "/").rpartition("/")
        suffix = f".{name.rpartition('.')[2].lower()}" if "." in name[1:] else "no suffix"
        folders[urlsplit(path).hostname or path if is_page(path) else above.rpartition("/")[2]] += 1
        kinds["web page" if is_page(path) else suffix] += 1
    return Catalog(
        documents,
        chunks,
        files=files + pages,
        about=reads.meta(db).get(ABOUT, ""),
        folders=tuple(name for name, _ in folders.most_common(_FOLDERS) if name),
        kinds=tuple(f"{kind} {count:,}" for kind, count in kinds.most_common()),
        topics=_topic_titles(db),
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


# --- topics


class _Topics(NamedTuple):
    """Ids of chunks, of the largest cluster first; count and highest number of the vectors they were made of."""

    ids: tuple[int, ...] = ()
    vectors: int = 0
    last: int = 0

    @classmethod
    def of(cls, db: Connection) -> _Topics | None:
        """Those of an index, None before there are any."""
        known = reads.meta(db).get(_TOPICS)
        return cls(*json.loads(known)) if known else None


def renew_topics(store: Store) -> None:
    """Make the topics anew where much of the index has changed. The caller holds the writer's lock.

    Topics of a part would say too little of the whole: while passages wait for their vectors, the old ones stay.
    """
    if made := store.read(_new_topics):
        with store.writing() as db:
            writes.set_meta(db, {_TOPICS: json.dumps(made)})


def _new_topics(db: Connection) -> _Topics | None:
    *_, chunks, embedded = reads.counts(db)
    (last,) = db.execute("SELECT coalesce(max(seq), 0) FROM embedded").fetchone()
    if embedded < chunks:
        return None
    if old := _Topics.of(db):
        later = last - old.last
        gone = old.vectors + later - embedded
        if later + gone <= _CHANGED * old.vectors:
            return None
    ids, matrix = vectors.sample(db, _CENTRED, reads.settings(db).dimension)
    return _Topics(tuple(int(ids[row]) for row in representatives(matrix)), embedded, last)


def _topic_titles(db: Connection) -> tuple[str, ...]:
    """The titles of the passages that stand for the topics; a heading or the file's name where there is no title.

    Until there are topics the titles with the most text stand in.
    """
    topics = _Topics.of(db)
    if topics is None:
        return tuple(reads.titles(db, TOPICS))
    labels = reads.labels(db, topics.ids)
    return tuple(
        dict.fromkeys(title or heading.rpartition(" > ")[2] or Path(path).name for title, heading, path in labels)
    )


def representatives(matrix: Vectors) -> Sequence[int]:
    """The row nearest to each centre of unit vectors (n, d), of the largest cluster first, each once.

    Spherical k-means, seeded: the same vectors give the same rows.
    """
    import faiss
    import numpy as np

    count, dimension = matrix.shape
    if not count:
        return []
    means = faiss.Kmeans(
        dimension,
        min(TOPICS, count),
        niter=_ROUNDS,
        seed=_SEED,
        spherical=True,
        min_points_per_centroid=1,  # a small index is no reason for a warning
        max_points_per_centroid=count,  # and no vector is left out
    )
    means.train(np.ascontiguousarray(matrix))
    similarities = matrix @ np.asarray(means.centroids).T
    sizes = np.bincount(similarities.argmax(axis=1), minlength=similarities.shape[1])
    nearest = similarities.argmax(axis=0)
    return list(dict.fromkeys(int(nearest[centre]) for centre in np.argsort(-sizes, kind="stable") if sizes[centre]))
