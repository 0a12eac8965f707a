"""A corpus whose passages are put in another order by a reranker that a program gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document

from local_rag.core.documents import Narrowing
from local_rag.core.protocols import Corpus, Reranker

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

WIDER = 5
"""How many times more passages are searched for than are wanted, for the reranker to choose from."""


class Reranked:
    """A corpus that searches wider and keeps what the reranker puts first; all else is the corpus's own."""

    def __init__(self, corpus: Corpus, reranker: Reranker) -> None:
        self._corpus = corpus
        self._reranker = reranker

    def search(
        self,
        query: str,
        k: int,
        *,
        within: Narrowing | Sequence[str] = (),
        exclude: Collection[str] = (),
        **options: Any,
    ) -> list[Document]:
        """The k best of WIDER * k passages, best first, with the score of the reranker as their `rank_score`.

        `options` are further ones of the corpus; a search by words or by meaning alone (`mode`) is not reranked.
        """
        search, within = self._corpus.search, Narrowing.of(within)
        if options.get("mode", "hybrid") != "hybrid" or k < 1:
            return search(query, k, within=within, exclude=exclude, **options)
        passages = search(query, WIDER * k, within=within, exclude=exclude, **options)
        ranked = self._reranker.rerank(query, passages)[:k] if passages else []
        return [
            Document(passage.page_content, metadata={**passage.metadata, "rank_score": score})
            for passage, score in ranked
        ]

    def as_retriever(self, k: int = 4, within: Narrowing | Sequence[str] = (), **options: Any) -> BaseRetriever:
        """The same search as a LangChain retriever, as `Index.as_retriever`."""
        from local_rag.index.langchain import retriever_of

        return retriever_of(self, k, within, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._corpus, name)
