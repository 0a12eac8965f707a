"""A corpus whose passages are put in another order by a reranker."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.documents import Document

from local_rag.core.narrowing import Narrowing
from local_rag.core.protocols import Corpus, Reranker

WIDER = 5
"""How many times more passages are searched for than are wanted, for the reranker to choose from."""


class Reranked:
    """A corpus that searches wider and keeps what the reranker puts first; all else is the corpus's own."""

    def __init__(self, corpus: Corpus, reranker: Reranker) -> None:
        self._corpus = corpus
        self._reranker = reranker

    def search(
        self, query: str, k: int, *, within: Narrowing | Sequence[str] = (), exclude: Collection[str] = ()
    ) -> list[Document]:
        """The k best passages by the reranker, best first, its score in [0, 1] as their `rank_score`."""
        passages = self._corpus.search(query, WIDER * k, within=within, exclude=exclude)
        ranked = self._reranker.rerank(query, passages)[:k] if passages else []
        return [
            Document(passage.page_content, metadata={**passage.metadata, "rank_score": score})
            for passage, score in ranked
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._corpus, name)
