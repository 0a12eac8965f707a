"""What a file says of itself is found again wherever its passages are: search, retriever, citations, files."""

from __future__ import annotations

import mailbox
import shutil

import pytest
from support.fakes_index import minilm
from support.hostile import make_pdf

from local_rag.index.header import HEADER_VERSION, document_header
from local_rag.index.index import Index
from local_rag.index.store import upgrade, writes
from local_rag.text.citations import check

MAIL = "From: Ada Keeper <ada@example.org>\nSubject: {}\nDate: {}\n\nThe {} of the tower costs 70 euros.\n"


@pytest.fixture(scope="module")
def made(converted, tmp_path_factory):
    """The folder of an index of a few files."""
    folder = tmp_path_factory.mktemp("said")
    notes = folder / "notes"
    notes.mkdir()
    box = mailbox.mbox(notes / "box.mbox")
    for subject, date in (("Lamps", "Fri, 16 Dec 2022 09:00:00 +0100"), ("Glass", "Sat, 1 Apr 2023 09:00:00 +0000")):
        box.add(MAIL.format(subject, date, subject.lower()).encode())
    box.close()
    front = "---\ntitle: The ledger\nauthor: Ben Reed\ndate: 2021\n---\nOil is bought in May.\n"
    (notes / "pumps-0042.md").write_text(front)
    (notes / "plain.txt").write_text("the wick is trimmed at dusk by somebody\n")
    make_pdf(
        notes / "a.pdf", ["Ropes are kept in the cellar."], properties={"Author": "root", "CreationDate": "D:2020"}
    )
    with Index.open(folder / "index", minilm(), create=True) as index:
        index.sync([notes])
    return folder / "index"


@pytest.fixture
def index(made, tmp_path):
    """A copy of that index."""
    with Index.open(shutil.copytree(made, tmp_path / "index"), minilm()) as index:
        yield index


def properties_of(passage):
    return tuple(passage.metadata[name] for name in ("title", "author", "date"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("cost of lamps", ("Lamps", "Ada Keeper <ada@example.org>", "2022-12-16T08:00Z")),
        ("cost of glass", ("Glass", "Ada Keeper <ada@example.org>", "2023-04-01T09:00Z")),
        ("when is oil bought", ("The ledger", "Ben Reed", "2021")),
        ("where are the ropes kept", ("a.pdf", "", "2020")),
        ("the wick is trimmed", ("plain.txt", "", "")),
    ],
)
def test_a_passage_has_title_author_and_date_of_its_document(index, query, expected):
    (passage,) = index.search(query, 1)
    assert properties_of(passage) == expected
    assert properties_of(index.as_retriever(k=1).invoke(query)[0]) == expected


def test_a_citation_has_them_too(index):
    passages = index.search("when is oil bought", 1)
    (citation,) = check("Oil is bought in May [1].", passages).citations
    assert (citation.title, citation.author, citation.date) == ("The ledger", "Ben Reed", "2021")
    assert citation.quote == "Oil is bought in May"


def test_a_file_is_found_by_what_only_its_head_says(index):
    for query in ("pumps 42", "ledger by Reed", "mails of ada@example.org"):
        (passage, *_) = index.search(query, 3, mode="words")
        assert passage.metadata["author"].startswith(("Ben", "Ada")), query


def test_the_list_of_files_names_the_first_document(index):
    listed = {file.path.rpartition("/")[2]: (file.title, file.author, file.date) for file in index.files()}
    assert listed["box.mbox"] == ("Lamps", "Ada Keeper <ada@example.org>", "2022-12-16T08:00Z")
    assert listed["pumps-0042.md"] == ("The ledger", "Ben Reed", "2021")
    assert listed["plain.txt"] == ("plain.txt", "", "")


def test_headers_of_a_new_version_come_with_the_next_sync_and_cost_no_passage(index, monkeypatch):
    assert index.sync().upgraded == 0, "nothing is due"
    for module in (writes, upgrade):
        monkeypatch.setattr(module, "HEADER_VERSION", HEADER_VERSION + 1)
        monkeypatch.setattr(module, "document_header", lambda path, title: f"new {document_header(path, title)}")
    assert index.header_version() == HEADER_VERSION
    assert properties_of(index.search("when is oil bought", 1)[0])[0] == "The ledger", "it answers as it is"
    embedded = []
    plain = index.embedder.embed_documents
    monkeypatch.setattr(index.embedder, "embed_documents", lambda texts: (embedded.extend(texts), plain(texts))[1])
    assert index.sync().upgraded == 4
    assert embedded and all(text.startswith("new ") for text in embedded), "headers, and nothing else"
    assert index.header_version() == HEADER_VERSION + 1 and index.sync().upgraded == 0
    assert properties_of(index.search("when is oil bought", 1)[0])[0] == "The ledger"
