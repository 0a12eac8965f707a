"""What an index is about, told by the index itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from local_rag.core.documents import Catalog
from local_rag.index.store import reads
from local_rag.index.store.store import Store
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import content_words, stem, words

_TITLES = 20
_HEADINGS = 20
_TERMS = 30
_SAMPLE = 200
"""Passages that are read to learn the most frequent stems and how they are written. All of FTS5's vocabulary would be
more exact, and takes 17 s for 1,000,000 passages."""


def catalog(store: Store) -> Catalog:
    """Titles and headings with the most text first, and the frequent words of a sample, as they are mostly spelt."""
    _, documents, chunks = store.read(reads.counts)
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
    known = store.read(reads.frequencies, {form for forms in parts.values() for pair in forms for form in pair})
    return {
        term: min((max(known.get(form, 0) for form in pair) for pair in forms), default=0)
        for term, forms in parts.items()
    }
