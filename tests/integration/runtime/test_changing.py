"""Rag.from_files, and what a program does to an index: sync, add and remove."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.documents import Document
from support.fakes import FakeCorpus, ScriptedEngine

from local_rag import Rag
from local_rag.core.errors import UsageError
from local_rag.runtime.indexing import NothingToIndex

pytestmark = pytest.mark.usefixtures("converted")

ROOF = Document(
    "The roof is repaired before winter 2028.",
    id="crm/42",
    metadata={"title": "A visit to the roof", "author": "Ann Lee", "date": "2023-05-04"},
)


@pytest.fixture
def notes(tmp_path):
    for name, text in {"lease.md": "The lease ends on 31 March 2027.", "pool.md": "No glass at the pool."}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def found(rag, query):
    return rag.index.search(query, 1)[0]


def sources(rag):
    return {Path(file.path).name for file in rag.index.files()}


def test_files_are_indexed_where_nobody_looks_until_the_rag_closes(notes, home):
    with Rag.from_files([notes], engine="extractive") as rag:
        answer = rag.ask("When does the lease end?", record=False)
        folder = Path(rag.folder)
        assert folder.exists() and not folder.is_relative_to(home)
        assert folder.parent.stat().st_mode & 0o077 == 0
    assert (answer.status, answer.citations[0].source) == ("grounded", str(notes / "lease.md"))
    assert not folder.parent.exists()


def test_a_named_index_is_kept_and_brought_up_to_date(notes):
    Rag.from_files([notes], index="garden").close()
    (notes / "fence.md").write_text("The fence is green.")
    with Rag.from_files(notes, index="garden", engine=ScriptedEngine(), k=7) as rag:
        assert sources(rag) == {"fence.md", "lease.md", "pool.md"}
        assert (rag.settings.values.k, rag.engine.name) == (7, "scripted")
    with Rag.open(index="garden") as rag:
        assert sources(rag) == {"fence.md", "lease.md", "pool.md"}


def test_nothing_is_left_of_what_cannot_be_opened(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "empty").mkdir()
    for paths, error in (["nowhere"], UsageError), ([tmp_path / "empty"], NothingToIndex):
        with pytest.raises(error):
            Rag.from_files(paths)
    with pytest.raises(UsageError):
        Rag.from_files([], engine=object())
    assert not list((tmp_path / "temporary").iterdir())


def test_documents_of_a_program_are_added_replaced_and_stay(notes):
    with Rag.from_files([notes]) as rag:
        gate = Document("The gate opens at seven.", id="https://Example.org/gate")
        assert rag.add([ROOF, gate]).new == ("document://crm/42", "https://example.org/gate")
        metadata = found(rag, "roof").metadata
        assert [metadata[name] for name in ("title", "author", "date")] == [*ROOF.metadata.values()]
        assert found(rag, "gate").metadata["url"] == "https://example.org/gate"
        assert rag.index.search("repaired", 4, within=["document://crm/*"])

        again = rag.add([ROOF, Document("The roof was repaired in spring.", id=ROOF.id)])
        assert (again.updated, again.new) == (("document://crm/42",), ())
        (notes / "fence.md").write_text("The fence is green.")
        (notes / "pool.md").unlink()
        report = rag.sync()
        assert [Path(name).name for name in (*report.new, *report.removed)] == ["fence.md", "pool.md"]
        assert found(rag, "roof").page_content == "The roof was repaired in spring."
        assert sources(rag) == {"lease.md", "fence.md", "42", "gate"}


def test_what_is_removed_stays_away(notes, monkeypatch):
    monkeypatch.chdir(notes)
    with Rag.from_files([notes]) as rag:
        rag.add([ROOF])
        assert set(rag.remove("crm/42", "pool.md")) == {"document://crm/42", str(notes / "pool.md")}
        rag.sync()
        assert sources(rag) == {"lease.md"}
        with pytest.raises(UsageError, match="crm/42 is not in the index"):
            rag.remove("crm/42")
        rag.remove(notes)
        assert not sources(rag)
        rag.sync(notes)
        assert sources(rag) == {"lease.md"}, "until the pattern is taken back"


def test_an_index_of_documents_alone():
    with Rag.from_files([]) as rag:
        with pytest.raises(UsageError, match="nothing has been indexed yet"):
            rag.sync()
        rag.add([ROOF])
        assert rag.sync().removed == ()
        assert found(rag, "roof").metadata["source"] == "document://crm/42"


@pytest.mark.parametrize("given", [Document("no id"), Document(" ", id="1"), "a text"])
def test_a_document_has_an_id_and_a_text(given):
    with Rag.from_files([]) as rag, pytest.raises(UsageError, match="a document of LangChain with an id and a text"):
        rag.add([given])


@pytest.mark.slow
@pytest.mark.parametrize("change", [Rag.sync, lambda rag: rag.add([ROOF]), lambda rag: rag.remove("42")])
def test_only_a_rag_of_one_index_changes_it(notes, change):
    for name in ("one", "two"):
        Rag.from_files([notes], index=name).close()
    for asked in ({"index": ["one", "two"]}, {"corpus": FakeCorpus(), "engine": ScriptedEngine()}):
        with Rag.open(**asked) as rag, pytest.raises(UsageError, match="only a Rag of one index can change it"):
            change(rag)
