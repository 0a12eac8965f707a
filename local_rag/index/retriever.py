"""The index as a LangChain retriever."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langsmith import tracing_context


class IndexRetriever(BaseRetriever):
    """`invoke(query)` gives the `k` best passages of an Index; `invoke(query, k=8)` another number of them."""

    index: Any
    k: int = 4
    within: tuple[str, ...] = ()

    def invoke(self, input: str, config: RunnableConfig | None = None, **options: Any) -> list[Document]:
        """The best passages. LangSmith never sees them, whatever the environment says."""
        with tracing_context(enabled=False):
            return super().invoke(input, config, **options)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **options: Any) -> list[Document]:
        """As `invoke`."""
        with tracing_context(enabled=False):
            return await super().ainvoke(input, config, **options)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        documents: list[Document] = self.index.search(query, self.k if k is None else k, within=self.within)
        return documents
