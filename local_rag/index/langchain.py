"""LangChain: the index as a retriever, whose `filter` people know from vector stores, and documents to be indexed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langsmith import tracing_context

from local_rag.core.asynchronous import on_a_thread
from local_rag.core.documents import LoadedDocument, Narrowing
from local_rag.core.errors import UsageError
from local_rag.index.filters import Within
from local_rag.index.parse import parsed_file
from local_rag.index.parse.properties import from_mapping
from local_rag.text.display import is_url, normal, shorten

_LISTS = {"type": "types", "author": "authors", "from": "authors", "source": "within"}
_CONDITIONS = {(key, operator): name for key, name in _LISTS.items() for operator in ("$eq", "$in")} | {
    ("after", "$eq"): "after",
    ("before", "$eq"): "before",
    ("date", "$gte"): "after",
    ("date", "$lt"): "before",
}
"""The condition that a key of a filter and an operator stand for."""

_HINT = 'filter={"type": "pdf", "author": {"$in": ["Ann", "Ben"]}, "date": {"$gte": "2023", "$lt": "2024"}}'


class IndexRetriever(BaseRetriever):
    """A retriever of the `k` best passages of an Index that `narrowing` leaves.

    `invoke(query, k=8)` returns another number of them, and `invoke(query, filter={"type": "pdf"})` filters one search
    further.
    """

    index: Any
    k: int = 4
    narrowing: Narrowing = Narrowing()

    def invoke(self, input: str, config: RunnableConfig | None = None, **options: Any) -> list[Document]:
        """Return the best passages. LangSmith never sees them, whatever the environment says."""
        with tracing_context(enabled=False):
            return super().invoke(input, config, **options)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **options: Any) -> list[Document]:
        """Return the best passages as `invoke` does."""
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
        wanted = narrowing_of(filter, self.narrowing)
        documents: list[Document] = self.index.search(query, self.k if k is None else k, within=wanted)
        return documents

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        synchronous = run_manager.get_sync()
        return await on_a_thread(lambda: self._get_relevant_documents(query, run_manager=synchronous, **options))


def retriever_of(
    index: object,
    k: int,
    within: Within = (),
    filter: Mapping[str, Any] | None = None,
    search_kwargs: Mapping[str, Any] | None = None,
) -> BaseRetriever:
    """Return the search of an index, or of several as one, as a retriever.

    `filter` is by metadata, {"type": "pdf", "after": "2023"}; `search_kwargs` are k and filter, as vector stores take
    them. Raises UsageError for what no search knows.
    """
    options = {"k": k, "filter": filter, **(search_kwargs or {})}
    if unknown := sorted(options.keys() - {"k", "filter"}):
        raise UsageError(f"search_kwargs knows k and filter, and not {unknown[0]}", hint='search_kwargs={"k": 4}')
    return IndexRetriever(index=index, k=options["k"], narrowing=narrowing_of(options["filter"], within))


def narrowing_of(filter: Mapping[str, Any] | None, within: Within = ()) -> Narrowing:
    """Return a filter as a narrowing, together with `within`.

    Keys are type, author (or from), source, after, before and date. A value is a text, a list of texts of which any
    counts, or a mapping with `$eq` or `$in`; that of date has `$gte` and `$lt`. All keys hold. Raises UsageError for
    anything else, and for a condition that is set twice.
    """
    if not isinstance(filter, Mapping | None):
        raise UsageError(f"a filter is a mapping of metadata, not {type(filter).__name__}", hint=_HINT)
    conditions: dict[str, Any] = asdict(Narrowing.of(within))
    for key, value in (filter or {}).items():
        for operator, operand in (value if isinstance(value, Mapping) else {"$eq": value}).items():
            name = _CONDITIONS.get((key, operator))
            if name is None:
                known = ", ".join(f"{name} {sign}" for name, sign in _CONDITIONS)
                raise UsageError(f"a filter knows {known}, and not {key} {operator}", hint=_HINT)
            if conditions[name]:
                raise UsageError(f"the filter sets {name} twice", hint=_HINT)
            conditions[name] = operand
    return Narrowing(**conditions)


def source_of(identity: str) -> str:
    """Return the `source` of a document that a program adds under an id: `document://ID`, or the id where that is a
    URL.
    """
    return normal(identity if is_url(identity) else f"document://{identity}")


def text_of(given: Document) -> tuple[str, LoadedDocument]:
    """Return a document of LangChain as its source and its text, with title, author, date and keywords of its metadata.

    Raises UsageError for one without an id or without text.
    """
    if not (isinstance(given, Document) and given.id and given.page_content.strip()):
        raise UsageError(
            f"what is added is a document of LangChain with an id and a text, not {shorten(repr(given), 80)}",
            hint='Document("The text.", id="42", metadata={"title": "…", "date": "2024-03-31"})',
        )
    text = parsed_file.clean(given.page_content)
    return source_of(given.id), parsed_file.document(text, properties=from_mapping(given.metadata))
