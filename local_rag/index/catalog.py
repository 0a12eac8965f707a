"""What an index is about, told by the index itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from local_rag.index import lookups
from local_rag.index.store import Store
from local_rag.text import STOP_WORDS, content_words, stem, words
from local_rag.types import Catalog

_TITLES = 20
_HEADINGS = 20
_TERMS = 30
_SAMPLE = 200
"""Passages that are read to learn how the most frequent stems are written."""


def catalog(store: Store) -> Catalog:
    """Titles and headings with the most text first, and the words of most passages, as they are mostly written."""
    _, documents, chunks = store.read(lookups.counts)
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for passage in store.read(lookups.passages, store.read(lookups.sample, _SAMPLE)):
        for word in content_words(passage.text):
            if word.isalpha():
                spellings[stem(word)][word] += 1
    stems = store.read(lookups.frequent_stems, 10 * _TERMS)
    stops = {stem(word) for word in STOP_WORDS}
    telling = [one for one in stems if one in spellings and one not in stops]
    terms = [spellings[one].most_common(1)[0][0] for one in telling[:_TERMS]]
    titles = tuple(store.read(lookups.titles, _TITLES))
    headings = (path.rpartition(" > ")[2] for path in store.read(lookups.headings, 2 * _HEADINGS))
    return Catalog(
        documents=documents,
        chunks=chunks,
        titles=titles,
        headings=tuple(dict.fromkeys(name for name in headings if name not in titles))[:_HEADINGS],
        terms=tuple(terms),
    )


def document_frequency(store: Store, terms: Sequence[str]) -> dict[str, int]:
    """In how many chunks each term occurs, as a word or as a stem; a term of several words counts as its rarest."""
    parts = {term: [(word, stem(word)) for word in words(term)] for term in terms}
    known = store.read(lookups.frequencies, {form for forms in parts.values() for pair in forms for form in pair})
    return {
        term: min((max(known.get(form, 0) for form in pair) for pair in forms), default=0)
        for term, forms in parts.items()
    }
