"""A corpus whose passages are put in another order by a reranker, such as the evaluator."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document

from local_rag.config.calibrated import RERANKED
from local_rag.core.narrowing import Narrowing
from local_rag.core.protocols import Corpus, Evaluator, Reranker
from local_rag.index.fusion import RRF

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

WIDER = 5
"""How many times more passages are searched for than are wanted, for the reranker to choose from."""

FIRST = 20
"""How many passages the evaluator reads of a search: docs/measurements.md."""

READ, ABOUT = 0.003, 0.5
"""What a reading counts for beside the search's own score, 1 / (60 + rank): READ times the probability that the passage
holds the answer, and ABOUT of that for the probability that it is on the matter without it."""


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
        """The k best passages, best first: those that the reranker was shown, its score as their `rank_score`, and then
        the others in the places and with the scores of the corpus.

        It is shown WIDER * k passages, or as many as its attribute `first` says.
        `options` are further ones of the corpus; a search by words or by meaning alone (`mode`) is not reranked.
        """
        search = self._corpus.search
        if options.get("mode", "hybrid") != "hybrid" or k < 1:
            return search(query, k, within=within, exclude=exclude, **options)
        shown = int(getattr(self._reranker, "first", WIDER * k))
        passages = search(query, max(k, shown), within=within, exclude=exclude, **options)
        ranked = self._reranker.rerank(query, passages[:shown])[:k] if passages else []
        best = [
            Document(passage.page_content, metadata={**passage.metadata, "rank_score": score})
            for passage, score in ranked
        ]
        return [*best, *passages[shown:]][:k]

    def as_retriever(self, k: int = 4, within: Narrowing | Sequence[str] = (), **options: Any) -> BaseRetriever:
        """The same search as a LangChain retriever, as `Index.as_retriever`."""
        from local_rag.index.retriever import retriever_of

        return retriever_of(self, k, within, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._corpus, name)


class EvaluatorReranker:
    """Adds what the evaluator reads in a passage to the score that the search gave it.

    The search knows what the evaluator does not: how rare the words are that a passage shares with the question, and
    which document the question names. So neither replaces the other.
    """

    first = FIRST

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    @property
    def fingerprint(self) -> str:
        """Changes whenever the scores would."""
        return f"{RERANKED}{FIRST} {READ:g} {ABOUT:g} {self._evaluator.fingerprint}"

    def rerank(self, question: str, documents: Sequence[Document]) -> list[tuple[Document, float]]:
        """The documents with their scores, best first: `rank_score` plus what is read counts for."""
        readings = self._evaluator.read(question, documents)
        scores = [
            float(document.metadata.get("rank_score") or 1 / (RRF + rank))
            + READ * (reading.present + ABOUT * reading.about)
            for rank, (document, reading) in enumerate(zip(documents, readings, strict=True), start=1)
        ]
        return sorted(zip(documents, scores, strict=True), key=lambda scored: -scored[1])
