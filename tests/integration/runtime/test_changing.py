"""Test Rag.from_files, and how a program changes an index: sync, add and remove."""

from pathlib import Path

import pytest
from langchain_core.documents import Document
from support.fakes import FakeCorpus, ScriptedEngine

from local_rag import Rag
from local_rag.core.errors import UsageError

pytestmark = pytest.mark.usefixtures("converted")

ABOUT = {"title": "A visit to the roof", "author": "Ann Lee", "date": "2023-05-04"}
ROOF = Document("The roof is repaired before winter 2028.", id="crm/42", metadata=ABOUT)
GATE = Document("The gate opens at seven.", id="https://Example.org/gate")


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """Return the current folder of notes, with a folder for temporary files beside it."""
    for folder in ("notes", "empty", "temporary"):
        (tmp_path / folder).mkdir()
    (tmp_path / "notes/lease.md").write_text("The lease ends on 31 March 2027.")
    (tmp_path / "notes/pool.md").write_text("No glass at the pool.")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "notes"


def names(rag):
    return {Path(file.path).name for file in rag.index.files()}


def test_an_index_without_a_name_is_deleted_when_the_rag_closes(notes):
    with Rag.from_files(["notes"], engine="extractive") as rag:
        answer, folder = rag.ask("When does the lease end?", record=False), Path(rag.folder).parent
        assert folder.stat().st_mode & 0o077 == 0
    assert (answer.status, answer.citations[0].source) == ("grounded", str(notes / "lease.md"))
    for wrong, options in ((["nowhere"], {}), (["empty"], {}), ([], {"engine": object()})):
        with pytest.raises(UsageError):
            Rag.from_files(wrong, **options)
    assert not list(folder.parent.glob("local-rag-index-*")), "the parser that tests share may have its folder here"


def test_a_named_index_is_kept_and_brought_up_to_date(notes):
    Rag.from_files("notes", index="garden").close()
    (notes / "fence.md").write_text("The fence is green.")
    with Rag.from_files(["notes"], index="garden", engine=ScriptedEngine(), k=7) as rag:
        assert (rag.settings.values.k, rag.engine.name) == (7, "scripted")
    with Rag.open(index="garden") as rag:
        assert names(rag) == {"fence.md", "lease.md", "pool.md"}


def test_documents_are_added_replaced_and_removed_and_no_sync_changes_that(notes):
    with Rag.from_files(["notes"]) as rag:
        assert rag.add([ROOF, GATE]).new == ("document://crm/42", "https://example.org/gate")
        (roof,) = rag.index.search("repaired", 1, within=["document://crm/*"])
        assert [roof.metadata[name] for name in ABOUT] == [*ABOUT.values()]
        later = Document("The roof was repaired in spring.", id=ROOF.id)
        assert rag.add([ROOF, later]).updated == ("document://crm/42",)
        (notes / "fence.md").write_text("The fence is green.")
        assert rag.sync().new == (str(notes / "fence.md"),)
        assert rag.index.search("roof", 1)[0].page_content == "The roof was repaired in spring."

        assert len(rag.remove("crm/42", "notes/pool.md")) == 2
        assert not rag.sync().new and names(rag) == {"lease.md", "fence.md", "gate"}
        with pytest.raises(UsageError, match="crm/42 is not in the index"):
            rag.remove("crm/42")
        rag.remove(notes)
        assert names(rag) == {"gate"}


def test_an_index_of_documents_alone():
    with Rag.from_files([]) as rag:
        with pytest.raises(UsageError, match="nothing has been indexed yet"):
            rag.sync()
        for wrong in (Document("no id"), Document(" ", id="1"), "a text"):
            with pytest.raises(UsageError, match="a document of LangChain with an id and a text"):
                rag.add([ROOF, wrong])
        rag.add([ROOF])
        assert not rag.sync().removed and names(rag) == {"42"}


def test_a_corpus_cannot_be_changed():
    with Rag.open(corpus=FakeCorpus(), engine=ScriptedEngine()) as rag:
        for change in rag.sync, lambda: rag.add([ROOF]), lambda: rag.remove("42"):
            with pytest.raises(UsageError, match="only a Rag of one index can change it"):
                change()
