"""A corpus in place of the web: saved pages, or another index. Nothing leaves, so nothing is asked or logged.

CRAG's "additional data source" (arXiv 2401.15884, section 4.5) behind the protocol of a web search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_rag.core.callbacks import retrieval
from local_rag.core.documents import WebResults
from local_rag.core.errors import LocalRagError, Stopped
from local_rag.index.index import Index
from local_rag.index.store import reads

if TYPE_CHECKING:
    from langchain_core.documents import Document


class FallbackCorpus:
    """An index as a web search. It belongs to this object, which closes it."""

    enabled = True
    engine = "fallback corpus"

    def __init__(self, index: Index, name: str) -> None:
        """`name` is what a person is told of the source: its folder, or the name of its index."""
        self.index = index
        self.fallback_corpus = name

    def words(self, query: str) -> str:
        """The whole query: nothing leaves."""
        return query

    def search(self, query: str, k: int) -> WebResults:
        """The k nearest passages. A search that fails has notes instead. Raises Stopped and DeadlineExceeded."""
        try:
            passages = retrieval("fallback corpus", query, lambda: self.index.search(query, k))
            addresses = self.index.read(reads.addresses, {str(passage.metadata["source"]) for passage in passages})
        except Stopped:
            raise
        except LocalRagError as error:
            return WebResults(notes=(f"{self.fallback_corpus} could not be searched: {error}",))
        return WebResults(tuple(self._of_this(passage, addresses) for passage in passages))

    def close(self) -> None:
        self.index.close()

    def _of_this(self, passage: Document, addresses: dict[str, str]) -> Document:
        """The passage as one of this source; `url` is where its page was saved from, or else where it lies."""
        source = str(passage.metadata["source"])
        own = {"origin": "web", "url": addresses.get(source, source), "fallback_corpus": self.fallback_corpus}
        return passage.model_copy(update={"metadata": passage.metadata | own})
