"""A search, also as a LangChain retriever, brings only what its filter leaves; one that leaves nothing is named."""

import asyncio
import os
import shlex
from datetime import datetime
from pathlib import Path

import pytest
from langchain_core.retrievers import BaseRetriever
from support.fakes_index import add, indexed, markdown

from local_rag.core.documents import Narrowing
from local_rag.core.errors import UsageError
from local_rag.index.filters import matching
from local_rag.index.store import words
from local_rag.index.store.sqlite import vectors

FILES = {
    "notes/plan.md": ("The roof of the boat house is due for paint.", "2023-03-31 00:00"),
    "notes/list.txt": ("Buy paint for the boat and its oars, draft of a list.", "2023-03-30 23:59"),
    "notes/last.markdown": ("The paint of the boat is dry.", "2024-01-01 00:00"),
    "page.html": ("<title>Paint</title><p>Paint the boat twice.</p>", "2022-06-01"),
}
STATED = {
    "/own/month.epub": markdown("Boats need paint.", author="Ann Ash", date="2020-05"),
    "/own/year.epub": markdown("A boat without paint.", author="Ash, Ben; Ann Oak", date="2020"),
}


@pytest.fixture(scope="module", params=["few chunks", "many chunks", pytest.param("a server", marks=pytest.mark.slow)])
def index(request, tmp_path_factory):
    """Files of different kinds and days, and texts that state their own; nobody changes it."""
    folder = tmp_path_factory.mktemp("files")
    for name, (text, changed) in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        moment = datetime.fromisoformat(changed).timestamp()
        os.utime(folder / name, (moment, moment))
    on_server = request.param == "a server"
    place = request.getfixturevalue("server").index("filters") if on_server else folder / "index"
    with pytest.MonkeyPatch.context() as patched, indexed(place, STATED) as made:
        if request.param == "many chunks":
            patched.setattr(words, "NARROW", 0)
            patched.setattr(vectors, "COMPARED", 0)
        made.sync([folder / "notes", folder / "page.html"])
        yield made


def left(index, mode="hybrid", **conditions):
    """The names of the files whose passages a search brings."""
    return files_of(index.search("paint boat", 9, within=Narrowing(**conditions), mode=mode))


def files_of(passages):
    return " ".join(sorted(Path(passage.metadata["source"]).name.partition(".")[0] for passage in passages))


@pytest.mark.parametrize(
    ("conditions", "names"),
    [
        ({}, "last list month page plan year"),
        ({"types": ["markdown"]}, "last plan"),
        ({"authors": ["Ben Ash", "nobody"]}, "year"),
        ({"after": "2023-03-31"}, "last plan"),
        ({"after": "1066", "before": "2020-05-02"}, "month year"),
        ({"after": "2020-06", "before": "2021"}, "year"),
        ({"within": ["notes"], "types": ["markdown"], "before": "2024"}, "plan"),
        ({"within": ["/own/*.epub", "page.html"]}, "month page year"),
        ({"phrases": ["boat houses"]}, ""),
        ({"without": ["house", "twice"], "after": "2022"}, "last list"),
        ({"phrases": ["the boat"], "types": ["markdown"], "without": ["dry"]}, "plan"),
    ],
)
def test_a_search_brings_what_is_left(index, conditions, names):
    assert [left(index, mode, **conditions) for mode in ("hybrid", "dense", "words")] == [names] * 3
    if not conditions.keys() & {"phrases", "without"}:
        listed = [Path(file.path).name.partition(".")[0] for file in index.files(Narrowing(**conditions))]
        assert sorted(listed) == names.split()


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (
            {"types": ["pfd"]},
            "no indexed file is of type 'pfd': there are epub (2), html (1), markdown (1), md (1) and txt (1)",
        ),
        ({"authors": ["Zoe"]}, "no indexed document is by 'Zoe': there are 'Ann Ash' and 'Ash, Ben; Ann Oak'"),
        ({"within": ["boots", "b"]}, "no indexed file matches 'boots' or 'b'"),
        (
            {"within": ["notes"], "types": ["md"], "after": "2024"},
            "no indexed document in notes of type md is dated since 2024",
        ),
    ],
)
def test_what_leaves_nothing_is_named(index, conditions, message):
    for look in (lambda wanted: index.search("paint", 4, within=wanted), index.files):
        with pytest.raises(UsageError) as caught:
            look(Narrowing(**conditions))
        assert str(caught.value) == message
        assert shlex.split(caught.value.hint) == ["local-rag", "files", "--index", str(index.path)]


@pytest.mark.parametrize(
    ("opening", "asking", "names"),
    [
        ({"filter": {"type": "md", "date": {"$gte": "2023", "$lt": "2024"}}}, {}, "plan"),
        ({"search_kwargs": {"k": 9, "filter": {"type": {"$eq": "epub"}, "before": "2020-05"}}}, {}, "year"),
        ({"within": Narrowing(types=["book"])}, {"filter": {"from": {"$in": ["Oak", "Zoe"]}}}, "year"),
        ({"filter": {"source": "notes", "type": {"$in": ["txt", "pdf"]}}}, {}, "list"),
        ({"k": 2}, {"k": 5, "filter": {"after": "2022"}}, "last list page plan"),
    ],
)
def test_a_retriever_takes_filters_as_vector_stores_do(index, opening, asking, names):
    retriever = index.as_retriever(**{"k": 9} | opening)
    passages = retriever.invoke("paint boat", **asking)
    assert isinstance(retriever, BaseRetriever) and files_of(passages) == names
    assert asyncio.run(retriever.ainvoke("paint boat", **asking)) == passages


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filter": {"year": 2023}}, r"a filter knows type \$eq, .* and not year \$eq"),
        ({"filter": {"date": {"$gt": "2023"}}}, r"and not date \$gt"),
        ({"filter": {"after": "last year"}}, "takes a date as 2023"),
        ({"filter": {"author": "Ann", "from": "Ben"}}, "sets authors twice"),
        ({"filter": lambda metadata: True}, "a filter is a mapping of metadata, not function"),
        ({"search_kwargs": {"fetch_k": 9}}, "search_kwargs knows k and filter, and not fetch_k"),
    ],
)
def test_a_filter_that_is_none_is_refused(index, options, message):
    with pytest.raises(UsageError, match=message):
        index.as_retriever(**options)


def test_the_day_of_a_mail_is_that_of_the_clocks_here(clocks_in_berlin, tmp_path):
    mails = {
        "/late.eml": markdown("The boat is painted.", date="2023-12-31T23:30Z"),
        "/early.eml": markdown("The boat is not painted.", date="2023-12-31T22:30Z"),
    }
    with indexed(tmp_path / "index", mails) as index:
        assert left(index, after="2024-01-01", before="2024-01-02") == "late"
        assert left(index, after="2023-12-31", before="2024") == "early"


def test_a_change_of_the_index_is_seen_by_the_next_search(tmp_path):
    with indexed(tmp_path / "index", {"/a.md": "paint the boat"}) as index:
        assert left(index, types=["md"]) == "a"
        add(index, {"/b.md": "the boat needs paint"})
        index.remove(["/a.md"])
        assert left(index, types=["md"]) == "b"


PATHS = "/n/a.md /n/x/b.md /n/x/y/c.pdf /m/[d].md /m/handbook.pdf /n/xx/b.txt C:\\n\\e.md /n/A.pdf https://a.test/n/".split()


@pytest.mark.parametrize(
    ("patterns", "places"),
    [
        (["/n/**/*.md"], [0, 1]),
        (["x/*"], [1, 2]),
        (["?.md"], [0, 1, 6]),
        (["a.PDF"], [7]),
        (["book.pdf"], []),
        ([".."], []),
        (["HTTPS://A.test/n#top"], [8]),
        (["https://a.test/*"], [8]),
        (["book.pdf", "a.md", "/m"], [0, 3, 4]),
    ],
)
def test_patterns_of_paths(patterns, places):
    assert matching(PATHS, patterns) == [PATHS[place] for place in places]


def test_a_pattern_is_read_from_the_current_folder_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here, there = str(tmp_path / "x" / "a.md"), "/n/x/a.md"
    assert matching([there, here], ["x"]) == [here] and matching([there, here], ["./x/a.md"]) == [here]
    assert matching(["/n/A.md", "/n/a.md"], ["a.md"]) == ["/n/a.md"], "as it is typed, where that is there"
    assert matching(["/n/A.md", "/n/a.md"], ["a.MD"]) == ["/n/A.md", "/n/a.md"]


def test_no_glob_is_tried_in_every_way():
    name = "/" + "a" * 200
    assert matching([name + "b", name], ["*a" * 60 + "b", "**/" * 40 + "*a/**/*a/**/*c"]) == [name + "b"]


@pytest.mark.parametrize("pattern", ["~nosuchuser/x", "notes/\0.md"])
def test_what_can_be_no_path_is_refused_in_a_line(index, pattern):
    with pytest.raises(UsageError, match="is no path or pattern of paths: ") as caught:
        index.search("paint", 4, within=[pattern])
    assert "\n" not in str(caught.value) and "\0" not in str(caught.value)


MAIL = """\
From: Ann Ash <ann@example.org>
Subject: The boat
Date: Fri, 31 Mar 2023 09:30:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/plain

The paint is attached.
--x
Content-Type: text/markdown
Content-Disposition: attachment; filename="report.md"

The paint of the boat is blue.
--x--
"""


def test_a_filter_of_a_mail_keeps_what_is_attached_to_it(tmp_path):
    (tmp_path / "boat.eml").write_text(MAIL)
    (tmp_path / "other.md").write_text("The paint of the boat is red.")
    filters = {"within": ["boat.eml"]}, {"types": ["mail"]}, {"authors": ["Ann Ash"]}, {"before": "2023-04"}
    with indexed(tmp_path / "index", {}) as index:
        index.sync([tmp_path])
        for conditions in filters:
            found = index.search("paint boat blue", 9, within=Narrowing(**conditions))
            names = [Path(each.metadata["source"]).name for each in found]
            assert names == ["boat.eml » report.md", "boat.eml"], conditions


def test_names_are_compared_however_the_disk_stores_their_marks(tmp_path, monkeypatch):
    """Names with a loose umlaut (NFD) are meant by names with a whole one, and the other way round."""
    monkeypatch.chdir(tmp_path)
    for name in ("Entwu\u0308rfe/old.md", "Ko\u0308ln.md", "M\u00fcnchen.md", "Ablagen\u00e4he/note.md"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(f"The rent of {len(name)} flats.")
    Path(".ragignore").write_text("Ablagena\u0308he\n")
    with indexed(tmp_path / "index", {}) as index:
        index.sync([tmp_path], excludes=["Entw\u00fcrfe/"])
        for pattern in ("K\u00f6ln.md", "Mu\u0308nchen.md"):
            assert len(index.search("rent", 9, within=[pattern])) == 1
        assert sorted(index.remove([Path("K\u00f6ln.md"), Path("Mu\u0308nchen.md")])) == sorted(
            str(tmp_path / name) for name in ("Ko\u0308ln.md", "M\u00fcnchen.md")
        )
        assert not index.files()
