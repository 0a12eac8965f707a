"""Rare words of the passages nearest to a question, which a rewritten query may borrow."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.words import content_stems, stem, words

if TYPE_CHECKING:
    from local_rag.core.protocols import Corpus

NEIGHBOURS, MAX_TERMS = 4, 30
"""Passages that are looked at, and how many terms there are in all."""


def terms_near(question: str, corpus: Corpus | None) -> list[str]:
    """Words of the nearest passages that the question lacks, best first by tf·idf; none without a corpus."""
    if corpus is None:
        return []
    known = set(content_stems(question)) | STOP_WORDS
    counts = Counter(
        word
        for document in corpus.search(question, NEIGHBOURS)
        for word in words(document.page_content)
        if len(word) > 3 and word.isalpha() and stem(word) not in known and word not in known
    )
    frequency = corpus.document_frequency(sorted(counts))
    chunks = 1 + corpus.count()
    weight = {word: count * math.log(1 + chunks / (1 + frequency.get(word, 0))) for word, count in counts.items()}
    return sorted(weight, key=lambda word: (-weight[word], word))[:MAX_TERMS]
