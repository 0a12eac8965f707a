"""The status of an index, and its catalog of titles, headings and terms, both made without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from local_rag.config.server_index import IndexAddress
from local_rag.core.documents import Catalog
from local_rag.core.errors import UsageError
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import EMBEDDING_PACE, TEXT_PACE, Root
from local_rag.text.display import LONGEST_ABOUT, is_page, printable, summary
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import content_words, stem

ABOUT, UNREAD = "about", "unread"
"""Rows of `meta`: the description that a person gave of the index, and the language that a warning was given for."""

_FOLDERS, _TITLES, _TERMS = 8, 20, 30
_SAMPLE = 200
"""Passages that are read to find the most frequent words. All of FTS5's vocabulary would be more exact, and takes 17 s
for 1,000,000 passages.
"""

TOPICS = 24
"""Titles, spread evenly over the index, that stand for its topics: as many as a prompt has room for."""


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The status of an index. `bytes` is on disk; sizes are in tokens.

    `last_sync` is when text or vectors were last stored, ISO 8601 in UTC, "" before the first time. `embedded` counts
    those of the `chunks` that have vectors; the others are matched by their words only, until the next sync.
    `text_pace` and `embedding_pace` are those of the last run of each phase, in passages per second, 0 where there was
    none; `seconds_left` is the time that the rest of the second phase takes at that pace, None where that is not known.
    `pages` of the web are no `files`; documents and chunks are of both, and `dated` documents have a date.
    `root_options` are the `roots` with the options of each. `about` is the description that a person gave, `summary`
    that of the catalog.
    """

    path: IndexAddress
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
    pages: int
    root_options: tuple[Root, ...]
    about: str
    summary: str
    embedded: int
    dated: int
    text_pace: float
    embedding_pace: float
    seconds_left: float | None


def inspect(store: Store, outlined: bool) -> IndexStatus:
    """Return the status of an index, with its summary only where it is `outlined`, for that looks at every path."""
    counts = store.counts()
    made, meta, roots = store.settings(), store.meta(), store.roots()
    synced = meta.get("last_sync")
    text_pace, pace = (float(meta.get(name, 0)) for name in (TEXT_PACE, EMBEDDING_PACE))
    return IndexStatus(
        path=store.address,
        **counts._asdict(),
        bytes=store.size(),
        embedder=made.embedder,
        fingerprint=made.fingerprint,
        dimension=made.dimension,
        chunk_size=made.size,
        chunk_overlap=made.overlap,
        roots=tuple(root.path for root in roots),
        last_sync=datetime.fromtimestamp(float(synced), UTC).isoformat(timespec="seconds") if synced else "",
        cache_fresh=store.is_fresh(),
        root_options=tuple(roots),
        about=meta.get(ABOUT, ""),
        summary=summary(outline(store)) if outlined else "",
        text_pace=text_pace,
        embedding_pace=pace,
        seconds_left=max(0, counts.chunks - counts.embedded) / pace if pace else None,
    )


def catalog(store: Store) -> Catalog:
    """Return titles, headings and the words that are most frequent in a sample, one word of each stem."""
    titles, headings, counts = Counter[str](), Counter[str](), Counter[str]()
    for passage in store.passages(store.sample(_SAMPLE)):
        titles[passage.title] += 1
        headings[passage.heading.rpartition(" > ")[2]] += 1
        counts.update({word for word in content_words(passage.text) if word.isalpha() and len(word) > 2})
    terms: dict[str, str] = {stem(word): "" for word in STOP_WORDS}
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        terms.setdefault(stem(word), word)
    return replace(
        outline(store),
        titles=tuple(name for name, _ in titles.most_common() if name)[:_TITLES],
        headings=tuple(name for name, _ in headings.most_common() if name and name not in titles)[:_TITLES],
        terms=tuple(filter(None, terms.values()))[:_TERMS],
    )


def outline(store: Store) -> Catalog:
    """Return the catalog without what a sample of the texts says; quicker than all of it."""
    _, _, documents, chunks, *_ = store.counts()
    paths = store.paths()
    folders = Counter(urlsplit(path).hostname or path if is_page(path) else Path(path).parent.name for path in paths)
    kinds = Counter("web page" if is_page(path) else Path(path).suffix.lower() or "no suffix" for path in paths)
    return Catalog(
        documents,
        chunks,
        files=len(paths),
        about=store.meta().get(ABOUT, ""),
        folders=tuple(name for name, _ in folders.most_common(_FOLDERS) if name),
        kinds=tuple(f"{kind} {count:,}" for kind, count in kinds.most_common()),
        topics=tuple(dict.fromkeys(title or Path(path).name for title, path in store.titles(TOPICS))),
    )


def unread_language(store: Store, reads: Callable[[str], bool], embedder: str) -> str:
    """Return the code of the language of most documents that the embedder does not read; once, and "" from then on.

    The caller holds the writer's lock.
    """
    counts = store.languages()
    language = max(counts, key=counts.__getitem__, default="")
    if not language or 2 * counts[language] <= store.counts().documents or reads(language):
        return ""
    told = f"{language} {embedder}"
    if store.meta().get(UNREAD) == told:
        return ""
    with store.writing():
        store.set_meta({UNREAD: told})
    return language


def set_about(store: Store, about: str) -> None:
    """Store a person's description of the index, on one line; an empty one goes back to the summary.

    The caller holds the writer's lock. Raises UsageError for more than `LONGEST_ABOUT` characters.
    """
    line = " ".join(printable(about).split())
    if len(line) > LONGEST_ABOUT:
        raise UsageError(
            f"a description has at most {LONGEST_ABOUT} characters, and this one has {len(line):,}",
            hint='local-rag index --about "what the files are about, in a sentence or two"',
        )
    with store.writing():
        store.set_meta({ABOUT: line})
