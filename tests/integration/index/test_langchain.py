"""The index as a LangChain retriever, with filters as vector stores take them."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.retrievers import BaseRetriever
from support.fakes_index import indexed, markdown

from local_rag.core.errors import UsageError
from local_rag.core.narrowing import Narrowing

TEXTS = {
    "/notes/plan.md": markdown("The boat is due for paint.", author="Ann Ash", date="2023-03-31"),
    "/notes/list.txt": markdown("Buy paint for the boat and its oars.", author="Ben Oak", date="2023-03"),
    "/last.md": markdown("The paint of the boat is dry.", author="Ann Oak", date="2024"),
    "/page.html": markdown("Paint the boat twice.", date="2022"),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with indexed(tmp_path_factory.mktemp("paint") / "index", TEXTS) as made:
        yield made


@pytest.mark.parametrize(
    ("opening", "asking", "names"),
    [
        ({}, {}, "last list page plan"),
        ({"filter": {"type": "md", "date": {"$gte": "2023", "$lt": "2024"}}}, {}, "plan"),
        ({"search_kwargs": {"k": 9, "filter": {"type": {"$eq": "md"}, "before": "2024"}}}, {}, "plan"),
        ({"within": Narrowing(types=["md"])}, {"filter": {"author": "Ann"}}, "last plan"),
        ({"within": ["/notes"]}, {"filter": {"after": "2023-03-31"}}, "list plan"),
        ({"filter": {"$and": [{"source": "plan.md"}, {"type": {"$in": ["md", "pdf"]}}]}}, {}, "plan"),
        ({"filter": {"from": {"$in": ["Ben", "Oak"]}}}, {}, "last list"),
    ],
)
def test_filters_of_vector_stores(index, opening, asking, names):
    retriever = index.as_retriever(**{"k": 9} | opening)
    found = retriever.invoke("paint boat", **asking)
    assert " ".join(sorted(one.metadata["source"].rpartition("/")[2].partition(".")[0] for one in found)) == names
    assert asyncio.run(retriever.ainvoke("paint boat", **asking)) == found


def test_it_is_the_search_of_the_index(index):
    retriever = index.as_retriever(k=2)
    assert isinstance(retriever, BaseRetriever) and retriever.invoke("paint boat") == index.search("paint boat", 2)
    assert len(retriever.invoke("paint boat", k=3)) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filter": {"year": 2023}}, r"a filter knows type \$eq, .* and not year \$eq"),
        ({"filter": {"type": {"$ne": "pdf"}}}, r"and not type \$ne"),
        ({"filter": {"date": {"$gt": "2023"}}}, r"and not date \$gt"),
        ({"filter": {"after": "last year"}}, "takes a date as 2023"),
        ({"filter": {"type": 7}}, "--type takes a text, not 7"),
        ({"filter": {"$and": [{"type": "md"}, {"type": "pdf"}]}}, "sets types twice"),
        ({"filter": lambda metadata: True}, "a filter is a mapping of metadata, not function"),
        ({"search_kwargs": {"fetch_k": 9}}, "search_kwargs knows k and filter, and not fetch_k"),
    ],
)
def test_a_filter_that_is_none_is_refused(index, options, message):
    with pytest.raises(UsageError, match=message):
        index.as_retriever(**options)
