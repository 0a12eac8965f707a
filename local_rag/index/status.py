"""What an index tells of itself without a model: its status, and a catalog of its titles, headings and terms."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from local_rag.core.documents import Catalog
from local_rag.core.narrowing import Narrowing
from local_rag.index.narrowed import selected_paths
from local_rag.index.outline import about, outline
from local_rag.index.store import embedded, folder, reads, upgrade
from local_rag.index.store.schema import EMBEDDING_PACE, TEXT_PACE, IndexedFile, Root
from local_rag.index.store.store import Store
from local_rag.text.description import summary
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import content_words, stem

_TITLES = 20
_HEADINGS = 20
_TERMS = 30
_SAMPLE = 200
"""Passages that are read to learn the most frequent stems and how they are written. All of FTS5's vocabulary would be
more exact, and takes 17 s for 1,000,000 passages."""


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """`bytes` is on disk, with caches; sizes are in tokens.

    `last_sync` is when text or vectors were stored last, ISO 8601 in UTC, "" before the first.

    Of the `chunks` that many are `embedded`; the others are matched by their words only, until the next sync.
    `text_pace` and `embedding_pace` are those of the last run of each phase, in passages per second, 0 where there was
    none; `seconds_left` is what the rest of the second takes at that pace, None where that is not known.
    `pages` of the web are no `files`; documents and chunks are of both. `root_options` are the `roots` and how each is
    walked. `about` is what a person said of the index, `summary` what its catalog says.
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


def inspect(store: Store, *, outlined: bool = False) -> IndexStatus:
    """Read it from the store; its summary only where it is `outlined`, for that looks at every path."""
    files, documents, chunks = store.read(reads.counts)
    pages = store.read(reads.page_count)
    recipe = store.read(reads.recipe)
    roots = tuple(store.read(reads.roots))
    meta = store.read(reads.meta)
    synced = meta.get("last_sync")
    text_pace, pace = (float(meta.get(name, 0)) for name in (TEXT_PACE, EMBEDDING_PACE))
    with_vector, _ = store.read(embedded.counts)
    return IndexStatus(
        path=store.folder,
        files=files - pages,
        documents=documents,
        chunks=chunks,
        bytes=folder.size(store.folder),
        embedder=recipe.embedder,
        fingerprint=recipe.fingerprint,
        dimension=recipe.dimension,
        chunk_size=recipe.size,
        chunk_overlap=recipe.overlap,
        roots=tuple(root.path for root in roots),
        last_sync=datetime.fromtimestamp(float(synced), UTC).isoformat(timespec="seconds") if synced else "",
        cache_fresh=store.cache_is_fresh(),
        pages=pages,
        root_options=roots,
        about=about(store),
        summary=summary(outline(store)) if outlined else "",
        embedded=with_vector,
        text_pace=text_pace,
        embedding_pace=pace,
        seconds_left=max(0, chunks - with_vector) / pace if pace else None,
    )


def listed(store: Store, narrowing: Narrowing) -> list[IndexedFile]:
    """The files of which a narrowing leaves something. Raises UsageError if there is none."""
    chosen = selected_paths(store, narrowing)
    return [file for file in store.read(reads.indexed_files) if chosen is None or file.path in chosen]


def catalog(store: Store) -> Catalog:
    """Titles and headings with the most text first, and the frequent words of a sample, as they are mostly spelt."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    frequent: Counter[str] = Counter()
    for passage in store.read(reads.passages, store.read(reads.sample, _SAMPLE)):
        spelt = [word for word in content_words(passage.text) if word.isalpha() and len(word) > 2]
        frequent.update({stem(word) for word in spelt})
        for word in spelt:
            spellings[stem(word)][word] += 1
    stops = {stem(word) for word in STOP_WORDS}
    stems = [name for name, _ in sorted(frequent.items(), key=lambda item: (-item[1], item[0])) if name not in stops]
    terms = [spellings[name].most_common(1)[0][0] for name in stems[:_TERMS]]
    titles = tuple(store.read(reads.titles, _TITLES))
    headings = (path.rpartition(" > ")[2] for path in store.read(reads.headings, 2 * _HEADINGS))
    return replace(
        outline(store),
        titles=titles,
        headings=tuple(dict.fromkeys(name for name in headings if name not in titles))[:_HEADINGS],
        terms=tuple(terms),
    )


def upgrade_notes(store: Store) -> Iterator[str]:
    """That an earlier version made the index, and what brings it up to date, in a line; nothing where none did."""
    if store.read(upgrade.is_due):
        command = f"local-rag index --index {folder.index_name(store.folder)}"
        yield f"this index was made by an earlier version; the next `{command}` brings it up to date in place"
