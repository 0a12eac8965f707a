"""A search brings only what its narrowing leaves; one that leaves nothing says which condition it is."""

from __future__ import annotations

import os
import shlex
from datetime import datetime
from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.core.errors import UsageError
from local_rag.core.narrowing import Narrowing
from local_rag.index.index import Index

FILES = {
    "notes/plan.md": ("# Plan\n\nThe roof of the boat house is due for paint.\n", "2023-03-31 00:00"),
    "notes/list.txt": ("Buy paint for the boat and its oars, draft of a list.\n", "2023-03-30 23:59"),
    "notes/last.markdown": ("# Last\n\nThe paint of the boat is dry.\n", "2024-01-01 00:00"),
    "page.html": (
        "<html><head><title>Paint</title></head><p>Paint the boat twice.</p></html>",
        "2022-06-01",
    ),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Some files of different kinds and days; nobody changes it."""
    folder = tmp_path_factory.mktemp("files")
    for name, (text, changed) in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        moment = datetime.fromisoformat(changed).timestamp()
        os.utime(path, (moment, moment))
    with Index.open(tmp_path_factory.mktemp("data") / "index", HashingEmbedder(window=250), create=True) as index:
        index.sync([folder])
        yield index


def left(index, query="paint boat", mode="hybrid", **conditions):
    """The names of the files whose passages a search brings."""
    passages = index.search(query, 9, within=Narrowing(**conditions), mode=mode)
    return sorted({Path(passage.metadata["source"]).name for passage in passages})


EVERY = ["last.markdown", "list.txt", "page.html", "plan.md"]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "words"])
@pytest.mark.parametrize(
    ("conditions", "names"),
    [
        ({}, EVERY),
        ({"types": ["txt"]}, ["list.txt"]),
        ({"types": ["markdown"]}, ["last.markdown", "plan.md"]),
        ({"types": ["md"]}, ["plan.md"]),
        ({"types": ["html", ".TXT"]}, ["list.txt", "page.html"]),
        ({"after": "2023-03-31"}, ["last.markdown", "plan.md"]),
        ({"before": "2023-03-31"}, ["list.txt", "page.html"]),
        ({"after": "2023-03"}, ["last.markdown", "list.txt", "plan.md"]),
        ({"after": "2023", "before": "2024"}, ["list.txt", "plan.md"]),
        ({"after": "2024"}, ["last.markdown"]),
        ({"before": "2024"}, ["list.txt", "page.html", "plan.md"]),
        ({"within": ["notes"], "types": ["markdown"], "before": "2024"}, ["plan.md"]),
        ({"phrases": ["the boat"]}, ["last.markdown", "list.txt", "page.html", "plan.md"]),
        ({"phrases": ["paint the boat"]}, ["page.html"]),
        ({"phrases": ["boat house", "for paint"]}, ["plan.md"]),
        ({"phrases": ["boat houses"]}, []),
        ({"without": ["draft"]}, ["last.markdown", "page.html", "plan.md"]),
        ({"without": ["house", "twice"]}, ["last.markdown", "list.txt"]),
        ({"phrases": ["the boat"], "types": ["markdown"], "without": ["dry"]}, ["plan.md"]),
    ],
)
def test_a_search_brings_what_is_left(index, mode, conditions, names):
    assert left(index, mode=mode, **conditions) == names


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"types": ["pfd"]}, "no indexed file is of type 'pfd': there are html (1), markdown (1), md (1) and txt (1)"),
        ({"after": "2031"}, "no indexed document is dated since 2031"),
        ({"after": "1990", "before": "1991-06"}, "no indexed document is dated since 1990 and before 1991-06"),
        ({"within": ["boots"]}, "no indexed file matches 'boots'"),
        (
            {"within": ["notes"], "types": ["html"]},
            "no indexed document in notes is of type html",
        ),
        (
            {"within": ["notes"], "types": ["md"], "after": "2024"},
            "no indexed document in notes of type md is dated since 2024",
        ),
    ],
)
def test_what_leaves_nothing_is_named(index, conditions, message):
    with pytest.raises(UsageError) as caught:
        index.search("paint", 4, within=Narrowing(**conditions))
    assert str(caught.value) == message
    assert shlex.split(caught.value.hint) == ["local-rag", "files", "--index", str(index.path)]


def test_files_are_listed_by_the_same_conditions(index):
    assert [Path(file.path).name for file in index.files(Narrowing(types=["markdown"]))] == ["last.markdown", "plan.md"]
    assert len(index.files()) == len(Index.listed(index.path)) == 4
    assert len(Index.listed(index.path, Narrowing(before="2023"))) == 1


def test_the_day_of_a_mail_is_that_of_the_clocks_here(clocks_in_berlin, tmp_path):
    mail = "From: ann@example.org\nSubject: {0}\nDate: {0}\n\nThe boat is painted.\n"
    sent = {"late.eml": "Sun, 31 Dec 2023 23:30:00 +0000", "early.eml": "Sun, 31 Dec 2023 17:30:00 -0500"}
    for name, date in sent.items():
        (tmp_path / name).write_text(mail.format(date))
    with Index.open(tmp_path / "index", HashingEmbedder(window=250), create=True) as index:
        index.sync([tmp_path / name for name in sent])
        assert left(index, after="2024") == left(index, after="2024-01-01", before="2024-01-02") == ["late.eml"]
        assert left(index, after="2023-12-31", before="2024") == left(index, before="2024") == ["early.eml"]


def test_a_change_of_the_index_is_seen_by_the_next_search(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.md").write_text("paint the boat", encoding="utf-8")
    with Index.open(tmp_path / "index", HashingEmbedder(window=250), create=True) as index:
        index.sync([tmp_path / "files"])
        assert left(index, types=["md"]) == ["a.md"]
        (tmp_path / "files" / "b.md").write_text("the boat needs paint", encoding="utf-8")
        (tmp_path / "files" / "a.md").unlink()
        index.sync()
        assert left(index, types=["md"]) == ["b.md"]


def test_a_retriever_takes_filters_as_vector_stores_do(index):
    def names(retriever, **options):
        return sorted(Path(document.metadata["source"]).name for document in retriever.invoke("paint boat", **options))

    for retriever in (
        index.as_retriever(9, filter={"type": "markdown", "date": {"$gte": "2023", "$lt": "2024"}}),
        index.as_retriever(search_kwargs={"k": 9, "filter": {"type": {"$eq": "md"}, "after": "2023"}}),
        index.as_retriever(9, Narrowing(types=["md"])),
        index.as_retriever(9, filter={"$and": [{"source": "plan.md"}, {"type": {"$in": ["md", "pdf"]}}]}),
    ):
        assert names(retriever) == ["plan.md"]
    every = index.as_retriever(9)
    assert names(every) == EVERY and names(every, filter={"type": "txt"}) == ["list.txt"]
    assert names(index.as_retriever(9, within=["notes"]), filter={"before": "2024"}) == ["list.txt", "plan.md"]


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"year": 2023}, "a filter knows type, author, from, source, after, before, date, .and, and not year"),
        ({"type": {"$ne": "pdf"}}, r"type in a filter takes \$eq or \$in, not {'\$ne': 'pdf'}"),
        ({"date": {"$gt": "2023"}}, "and not date: {'\\$gt': '2023'}"),
        ({"after": "last year"}, "takes a date as 2023"),
        ({"type": 7}, "--type takes a text, not 7"),
        ({"$and": [{"type": "md"}, {"type": "pdf"}]}, "sets types twice"),
        (lambda metadata: True, "a filter is a mapping of metadata, not function"),
    ],
)
def test_a_filter_that_is_none_is_refused(index, filter, message):
    with pytest.raises(UsageError, match=message):
        index.as_retriever(filter=filter)


def test_search_kwargs_know_nothing_else(index):
    with pytest.raises(UsageError, match="search_kwargs knows k and filter, and not fetch_k"):
        index.as_retriever(search_kwargs={"fetch_k": 9})
