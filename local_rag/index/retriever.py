"""The index as a LangChain retriever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langsmith import tracing_context

from local_rag.core.errors import UsageError
from local_rag.core.narrowing import Narrowing
from local_rag.index.metadata_filter import narrowing_of


class IndexRetriever(BaseRetriever):
    """`invoke(query)` gives the `k` best passages of an Index that `narrowing` leaves; `invoke(query, k=8)` another
    number of them, and `invoke(query, filter={"type": "pdf"})` narrows one search further.
    """

    index: Any
    k: int = 4
    narrowing: Narrowing = Narrowing()

    def invoke(self, input: str, config: RunnableConfig | None = None, **options: Any) -> list[Document]:
        """The best passages. LangSmith never sees them, whatever the environment says."""
        with tracing_context(enabled=False):
            return super().invoke(input, config, **options)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **options: Any) -> list[Document]:
        """As `invoke`."""
        with tracing_context(enabled=False):
            return await super().ainvoke(input, config, **options)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        narrowing = narrowing_of(filter, self.narrowing)
        documents: list[Document] = self.index.search(query, self.k if k is None else k, within=narrowing)
        return documents


def retriever_of(
    index: object,
    k: int,
    within: Narrowing | Sequence[str] = (),
    filter: Mapping[str, Any] | None = None,
    search_kwargs: Mapping[str, Any] | None = None,
) -> BaseRetriever:
    """The search of an index, or of several as one, as a retriever.

    `filter` narrows it by metadata, {"type": "pdf", "after": "2023"} (see `metadata_filter`); `search_kwargs` are k and
    filter, as vector stores take them. Raises UsageError for what no search knows.
    """
    options = {"k": k, "filter": filter} | dict(search_kwargs or {})
    if unknown := sorted(options.keys() - {"k", "filter"}):
        raise UsageError(f"search_kwargs knows k and filter, and not {unknown[0]}", hint='search_kwargs={"k": 4}')
    return IndexRetriever(index=index, k=options["k"], narrowing=narrowing_of(options["filter"], within))
