"""An index answers with the right passages, says what it is, and refuses what did not make it."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from support.fakes_index import HashingEmbedder, remembering_minilm

from local_rag.core import cancel
from local_rag.core.documents import Catalog
from local_rag.core.errors import IndexDamaged, IndexMismatch, IndexMissing, Stopped, UsageError
from local_rag.index.header import HEADER_WEIGHT, document_header, passage_header
from local_rag.index.index import Index
from local_rag.index.within import matching

pytestmark = pytest.mark.usefixtures("converted")

KEYS = (
    "source title author date modified page heading start end chunk_id named score sparse rank_score origin url".split()
)

NOTES = {
    "light.md": "# Lighthouse\n\n## Lamp\n\nThe keeper lights the lamp at dusk and puts it out at dawn.\n\n"
    "## Fog\n\nIn fog the horn sounds every ninety seconds, by order XK-42.\n",
    "boats/supply.txt": "The supply boat brings coal and bread on the first Monday of the month.",
    "boats/rescue.txt": "The rescue boat is kept ready with two oars and a rope of forty metres.",
    "taxes.html": "<html><head><title>Taxes</title></head><body><h1>Taxes</h1>"
    "<p>Income tax is due in May. Late payment costs interest of six percent a year.</p></body></html>",
}


def make_notes(folder):
    for name, text in NOTES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The notes, indexed with MiniLM; nobody changes it."""
    folder = make_notes(tmp_path_factory.mktemp("notes"))
    with Index.open(tmp_path_factory.mktemp("data") / "index", remembering_minilm(), create=True) as index:
        index.sync([folder])
        index.notes = folder
        yield index


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The notes, and an index of them, as every test finds them."""
    base = tmp_path_factory.mktemp("built")
    make_notes(base / "notes")
    with open_at(base) as made:
        made.sync([base / "notes"])
    shutil.copytree(base / "notes", base / "kept")
    return base


@pytest.fixture
def notes(built):
    shutil.rmtree(built / "notes")
    return shutil.copytree(built / "kept", built / "notes")


def open_at(tmp_path, embedder=None, **options):
    options = {"chunk_size": 40, "create": True} | options
    return Index.open(tmp_path / "index", embedder or HashingEmbedder(), **options)


@pytest.fixture
def index(tmp_path, notes, built):
    shutil.copytree(built / "index", tmp_path / "index")
    with open_at(tmp_path) as made:
        yield made


def headers_of(index):
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db:
        return db.execute("SELECT count(*) FROM headers").fetchone()[0]


def names(documents):
    return [Path(document.metadata["source"]).name for document in documents]


class TestSearch:
    def test_the_meaning_finds_the_passage(self, real):
        assert names(real.search("When does one have to pay the state?", 1)) == ["taxes.html"]
        assert names(real.search("What is eaten on the island, and when does it come?", 1)) == ["supply.txt"]

    def test_rare_words_find_what_meaning_does_not(self, real):
        for mode in ("hybrid", "words"):
            assert "XK-42" in real.search("XK-42", 1, mode=mode)[0].page_content

    def test_every_key_of_the_metadata_is_there_and_true(self, real):
        for document in real.search("lamp fog boat tax", 10):
            about = document.metadata
            assert list(about) == KEYS
            assert about["origin"] == "files" and about["url"] == "" and about["page"] is None
            assert Path(about["source"]).is_file() and about["title"]
            assert about["sparse"] is None or 0 < about["sparse"] <= 1
            assert 0 <= about["start"] < about["end"] and isinstance(about["chunk_id"], str)
            if about["source"].endswith((".md", ".txt")):
                stored = Path(about["source"]).read_text(encoding="utf-8")
                assert stored[about["start"] : about["end"]] == document.page_content
        lamp = real.search("Who lights the lamp at dusk?", 1)[0]
        assert (lamp.metadata["heading"], lamp.metadata["title"]) == ("Lighthouse > Lamp", "Lighthouse")

    @pytest.mark.parametrize("mode", ["hybrid", "dense", "words"])
    def test_scores_are_cosines_in_every_mode(self, real, mode):
        question = "Which boat is kept ready?"
        documents = real.search(question, 4, mode=mode)
        query = remembering_minilm().embed_queries([question])[0]
        for document in documents:
            name = document.metadata
            header = passage_header(document_header(name["source"], name["title"]), name["heading"])
            text, named = remembering_minilm().embed_documents([document.page_content, header])
            vector = text + HEADER_WEIGHT * named
            cosine = float(vector / np.linalg.norm(vector) @ query)
            assert document.metadata["score"] == pytest.approx(cosine, abs=1e-4)
        ranks = [document.metadata["rank_score"] for document in documents]
        assert documents and ranks == sorted(ranks, reverse=True)

    def test_hybrid_adds_the_share_of_bm25_to_the_cosine(self, real):
        question = "boat ready"
        by_words = {d.metadata["chunk_id"]: d.metadata["rank_score"] for d in real.search(question, 9, mode="words")}
        documents = real.search(question, 9)
        assert by_words.keys() < {document.metadata["chunk_id"] for document in documents}
        first = max(by_words, key=by_words.__getitem__)
        assert documents[0].metadata["chunk_id"] == first
        without = [d.metadata["score"] for d in documents if d.metadata["chunk_id"] not in by_words]
        assert without == sorted(without, reverse=True)

    def test_k_is_kept_and_nothing_asked_is_nothing_found(self, index):
        assert [len(index.search("boat", k)) for k in (1, 2, 3)] == [1, 2, 3]
        assert len(index.search("boat", 100)) == index.status().chunks
        assert index.search("boat", 0) == index.search("  \n", 4) == []
        assert len(index.search("?! \udce9", 2)) == 2

    def test_the_same_text_in_two_files_comes_once(self, index, notes):
        (notes / "copy.txt").write_text(NOTES["boats/rescue.txt"], encoding="utf-8")
        index.sync()
        documents = index.search("rescue boat rope", 10)
        assert len({document.page_content for document in documents}) == len(documents)
        assert index.status().files == 5

    def test_many_copies_do_not_crowd_out_the_rest(self, index, notes):
        for number in range(80):
            (notes / f"copy{number}.txt").write_text("The rescue boat has a rope.", encoding="utf-8")
        index.sync()
        assert len(index.search("The rescue boat has a rope.", 4)) == 4

    def test_excluded_passages_stay_away(self, index):
        first = index.search("rescue boat", 2)
        again = index.search("rescue boat", 2, exclude={first[0].metadata["chunk_id"]})
        assert again[0].metadata["chunk_id"] == first[1].metadata["chunk_id"]
        assert first[0].metadata["chunk_id"] not in {d.metadata["chunk_id"] for d in again}

    def test_only_these_files(self, index, notes, monkeypatch):
        for wish in ("boats", str(notes / "boats"), "boats/*.txt", str(notes / "**" / "*.txt")):
            assert sorted(names(index.search("lamp tax boat", 9, within=[wish]))) == ["rescue.txt", "supply.txt"]
        assert set(names(index.search("boat", 9, within=["light.md", "taxes.html"]))) == {"light.md", "taxes.html"}
        monkeypatch.chdir(notes / "boats")
        assert names(index.search("lamp", 9, within=["./rescue.txt"])) == ["rescue.txt"]
        with pytest.raises(UsageError, match=r"no indexed file matches 'boots'"):
            index.search("boat", 4, within=["boots"])

    def test_an_empty_index_has_nothing(self, tmp_path):
        with open_at(tmp_path) as empty:
            assert empty.search("boat", 4) == [] and empty.files() == []
            assert empty.catalog() == Catalog() and empty.status().last_sync == ""

    def test_a_stop_is_heard(self, index):
        stop = cancel.Cancel()
        stop.stop()
        with cancel.scope(stop), pytest.raises(Stopped):
            index.search("boat", 4)

    def test_many_threads(self, index):
        expected = [d.metadata["chunk_id"] for d in index.search("rescue boat", 3)]
        rankings, threads = [], []

        def search():
            for _ in range(10):
                rankings.append([d.metadata["chunk_id"] for d in index.search("rescue boat", 3)])

        for _ in range(6):
            threads.append(threading.Thread(target=search))
            threads[-1].start()
        for thread in threads:
            thread.join()
        assert rankings == [expected] * 60


def test_within_by_hand():
    paths = ["/n/a.md", "/n/x/b.md", "/n/x/y/c.pdf", "/m/[d].md", "/m/handbook.pdf", "/n/xx/b.txt", "C:\\n\\e.md"]
    expected = {
        "/n/x": ["/n/x/b.md", "/n/x/y/c.pdf"],
        "/n/*.md": ["/n/a.md"],
        "/n/**/*.md": ["/n/a.md", "/n/x/b.md"],
        "x/*": ["/n/x/b.md", "/n/x/y/c.pdf"],
        "[d].md": ["/m/[d].md"],
        "[!a-d]*.pdf": ["/m/handbook.pdf"],
        "?.md": ["/n/a.md", "/n/x/b.md", "C:\\n\\e.md"],
        "book.pdf": [],
        "..": [],
        "": [],
    }
    assert {wish: matching(paths, [wish]) for wish in expected} == expected
    assert matching(["/n/Verein/a.md", "/n/verein.txt"], ["verein", "VEREIN.txt"]) == [
        "/n/Verein/a.md",
        "/n/verein.txt",
    ]
    assert matching(["/n/A.md", "/n/a.md"], ["a.MD"]) == ["/n/A.md", "/n/a.md"]
    assert matching(["/n/A.md", "/n/a.md"], ["a.md"]) == ["/n/a.md"], "as it is typed, where that is there"
    assert matching(paths, ["book.pdf", "a.md", "/m"]) == ["/n/a.md", "/m/[d].md", "/m/handbook.pdf"]


def test_no_glob_is_tried_in_every_way():
    name = "/" + "a" * 200
    assert matching([name + "b", name], ["*a" * 60 + "b", "**/*a/**/*a/**/*c"]) == [name + "b"]
    assert matching(["/n/a", "/n/z"], ["[z-a]", "/n[!b]a"]) == []


class TestStatus:
    def test_it_says_what_is_there(self, index, notes):
        status = index.status()
        assert (status.files, status.documents, status.embedder, status.chunk_size) == (4, 4, "hashing", 40)
        assert status.roots == (str(notes),) and status.fingerprint == "hashing-64-100" and status.cache_fresh
        assert status.bytes == sum(entry.stat().st_size for entry in status.path.iterdir())
        assert abs(datetime.fromisoformat(status.last_sync).timestamp() - datetime.now().timestamp()) < 60
        assert Index.inspect(index.path) == status

    def test_the_files(self, index, notes):
        rows = {Path(file.path).relative_to(notes).as_posix(): file for file in index.files()}
        assert set(rows) == set(NOTES)
        assert rows["light.md"].chunks == 2 and rows["light.md"].size == len(NOTES["light.md"])
        assert sum(file.chunks for file in rows.values()) == index.status().chunks

    def test_the_catalog_is_made_of_the_files(self, index, notes):
        catalog = index.catalog()
        assert (catalog.documents, catalog.chunks) == (4, index.status().chunks)
        assert {"Lighthouse", "Taxes"} <= set(catalog.titles) and catalog.terms[0] == "boat"
        assert not {"the", "is"} & set(catalog.terms)
        (notes / "new.md").write_text("# Whales\n\nWhales sing.", encoding="utf-8")
        index.sync()
        assert "Whales" in index.catalog().titles

    def test_a_person_says_what_it_is_about(self, index, notes, tmp_path):
        summary = index.status(outlined=True).summary
        assert summary.startswith(f"{len(NOTES)} files (") and "among them: " in summary
        index.set_about("  The lighthouse,\n its boats\x1b[31m ")
        assert index.catalog().about == index.status().about == "The lighthouse, its boats"
        index.sync()
        assert Index.inspect(index.path).about == "The lighthouse, its boats"
        index.set_about("")
        assert (index.status().about, index.status(outlined=True).summary) == ("", summary)
        with pytest.raises(UsageError, match="at most 600 characters, and this one has 601"):
            index.set_about("x" * 601)

    def test_topics_go_with_their_files_and_follow_great_changes(self, index, notes):
        assert {"supply.txt", "Lighthouse", "Taxes"} <= set(index.catalog().topics)
        (notes / "boats" / "supply.txt").unlink()
        index.sync()
        assert "supply.txt" not in index.catalog().topics
        for number in range(5):
            (notes / f"new-{number}.txt").write_text(f"Whales of kind {number} are seen in June.")
        index.sync()
        assert any(name.startswith("new-") for name in index.catalog().topics)

    def test_document_frequency(self, index):
        terms = ["boat", "boats", "The", "keeper's", "whale", "rescue-boat", "sound"]
        expected = {"boat": 2, "boats": 2, "keeper's": 1, "whale": 0, "rescue-boat": 1, "sound": 1}
        frequencies = index.document_frequency(terms)
        assert {term: count for term, count in frequencies.items() if term != "The"} == expected
        assert frequencies["The"] >= 3

    def test_verify(self, index):
        index.verify()
        with closing(sqlite3.connect(index.path / "index.sqlite")) as db, db:
            db.execute("DELETE FROM vectors")
        with pytest.raises(IndexDamaged, match="passages without a vector"):
            index.verify()

    def test_a_retriever_for_langchain(self, index):
        retriever = index.as_retriever(k=2, within=["boats"])
        assert isinstance(retriever, BaseRetriever)
        assert retriever.invoke("boat") == index.search("boat", 2, within=["boats"])
        assert len(retriever.invoke("boat", k=1)) == 1


class TestOpening:
    def test_nothing_there(self, tmp_path):
        with pytest.raises(IndexMissing) as caught:
            open_at(tmp_path, create=False)
        assert (
            caught.value.hint == f"local-rag index PATH… --index {tmp_path / 'index'}"
            and not (tmp_path / "index").exists()
        )

    def test_another_embedder_is_refused_with_the_command(self, index, tmp_path):
        with pytest.raises(IndexMismatch, match=r"embedder 'hashing'.* not with 'hashing2'") as caught:
            open_at(tmp_path, HashingEmbedder(salt="2"))
        assert caught.value.hint == f"local-rag index --reembed --index {index.path}"

    @pytest.mark.parametrize(
        ("options", "typed", "name"),
        [
            ({"chunk_size": 60}, "--chunk-size 60 --chunk-overlap 0", "index-60"),
            ({"chunk_overlap": 5}, "--chunk-size 40 --chunk-overlap 5", "index-40-5"),
        ],
    )
    def test_another_chunking_is_refused_with_the_command(self, index, tmp_path, notes, options, typed, name):
        with pytest.raises(IndexMismatch, match="has passages of 40 tokens with 0 shared") as caught:
            open_at(tmp_path, **options)
        assert caught.value.hint == f"local-rag index {notes} {typed} --index {index.path.with_name(name)}"

    @pytest.mark.parametrize("options", [{"chunk_size": 101}, {"chunk_overlap": 21}, {"chunk_overlap": -1}])
    def test_impossible_sizes(self, tmp_path, options):
        with pytest.raises(UsageError, match="tokens"):
            open_at(tmp_path, **options)
        assert not (tmp_path / "index").exists()

    def test_two_at_once_make_one(self, tmp_path):
        made, threads = [], []
        for _ in range(4):
            threads.append(threading.Thread(target=lambda: made.append(open_at(tmp_path))))
            threads[-1].start()
        for thread in threads:
            thread.join()
        assert len(made) == 4 and {opened_index.status().chunks for opened_index in made} == {0}

    def test_destroy(self, index):
        index.close()
        Index.destroy(index.path)
        assert not index.path.exists()
        with pytest.raises(IndexMissing):
            Index.destroy(index.path)


class TestReembedding:
    def test_new_vectors_for_the_old_passages(self, index, tmp_path, notes):
        other = HashingEmbedder(dimension=32, salt="2")
        seen = []
        with open_at(tmp_path, other, reembed=True) as opened:
            with pytest.raises(IndexMismatch):
                opened.search("boat", 4)
            assert opened.reembed(seen.append) == index_size(opened) == other.embedded - headers_of(opened)
            assert seen[-1].done == seen[-1].total == index_size(opened)
            documents = opened.search("rescue boat", 4)
            assert opened.reembed() == 0 and opened.status().fingerprint == other.fingerprint
        with pytest.raises(IndexMismatch):
            index.search("boat", 4)
        fresh = Index.open(tmp_path / "fresh", other, chunk_size=40, create=True)
        fresh.sync([notes])
        assert documents == fresh.search("rescue boat", 4)

    def test_an_interruption_keeps_the_old_vectors_and_the_new_work(self, index, tmp_path, monkeypatch):
        from local_rag.index import recipes

        monkeypatch.setattr(recipes, "BATCH", 2)
        expected = index.search("rescue boat", 4)
        budget = iter(range(2))
        other = HashingEmbedder(salt="2", before_batch=lambda: next(budget))
        with open_at(tmp_path, other, reembed=True) as opened, pytest.raises(StopIteration):
            opened.reembed()
        assert index.search("rescue boat", 4) == expected
        again = HashingEmbedder(salt="2")
        with open_at(tmp_path, again, reembed=True) as opened:
            assert opened.reembed() == index_size(opened) - 4

    def test_passages_that_are_too_long_for_it_are_refused(self, index, tmp_path):
        short = HashingEmbedder(salt="2", window=40)
        short.token_ends = lambda text: list(range(1, len(text) + 1))
        with open_at(tmp_path, short, reembed=True) as opened, pytest.raises(IndexMismatch, match="reads 40 tokens"):
            opened.reembed()
        assert len(index.search("boat", 4)) == 4

    def test_another_chunking_cannot_be_re_embedded(self, index, tmp_path):
        opened = open_at(tmp_path, HashingEmbedder(salt="2"), chunk_size=60, reembed=True)
        with pytest.raises(IndexMismatch, match="passages of 40 tokens"):
            opened.reembed()


def index_size(opened):
    return opened.status().chunks


def test_the_stored_vector_of_a_passage_is_known_by_its_text(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("The lamp is lit at dusk.\n\nIt is put out at dawn.", encoding="utf-8")
    with Index.open(tmp_path / "index", HashingEmbedder(), chunk_size=40, create=True) as index:
        assert index.count() == 0
        index.sync([tmp_path / "notes"])
        assert index.count() == index.status().chunks == 1
        document = index.search("lamp", 1)[0]
        other = Document("The lamp is lit at dusk.", metadata=document.metadata)
        stranger = Document(document.page_content, metadata=document.metadata | {"chunk_id": "none"})
        rows = index.vectors([document, other, stranger, Document("from the web")])
        assert rows[1:] == [None, None, None]
        assert np.array_equal(rows[0], HashingEmbedder().embed_documents([document.page_content])[0])


SCHEMA_1 = """
DROP INDEX documents_by_file;
DROP INDEX documents_by_header_version;
DROP INDEX chunks_of_digest;
DROP INDEX chunks_of_header;
CREATE INDEX documents_of_file ON documents (file);
ALTER TABLE documents DROP COLUMN author;
ALTER TABLE documents DROP COLUMN date;
ALTER TABLE documents DROP COLUMN subject;
ALTER TABLE documents DROP COLUMN name;
ALTER TABLE documents DROP COLUMN folders;
ALTER TABLE documents DROP COLUMN header;
ALTER TABLE documents DROP COLUMN header_version;
ALTER TABLE roots DROP COLUMN follow_links;
ALTER TABLE roots DROP COLUMN links_reported;
ALTER TABLE files DROP COLUMN ctime_ns;
ALTER TABLE files DROP COLUMN inode;
ALTER TABLE documents DROP COLUMN url;
ALTER TABLE chunks DROP COLUMN header;
CREATE VIRTUAL TABLE words USING fts5(text, heading, title, content='', tokenize='porter unicode61');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
INSERT INTO words (rowid, text, heading, title)
    SELECT chunks.id, substr(text, start + 1, end - start), heading, title FROM chunks
    JOIN documents ON documents.id = document;
DROP TABLE stems;
DROP TABLE full_text;
DROP TABLE embedded;
DROP TABLE fresh_headers;
DROP TABLE headers;
DROP TABLE failures;
DROP TABLE reported;
DROP TABLE excluded;
DELETE FROM meta WHERE name = 'topics';
UPDATE meta SET value = '1' WHERE name = 'schema';
"""


class TestAnIndexOfSchema1:
    @pytest.fixture
    def old(self, tmp_path):
        notes = make_notes(tmp_path / "notes")
        with Index.open(tmp_path / "index", remembering_minilm(), create=True) as index:
            index.sync([notes])
        with closing(sqlite3.connect(tmp_path / "index" / "index.sqlite")) as db:
            db.executescript(SCHEMA_1)
        with Index.open(tmp_path / "index", remembering_minilm()) as index:
            yield index

    def test_it_is_searched_and_described_as_it_is(self, old):
        assert old.search("the supply boat brings coal", 1)[0].metadata["source"].endswith("supply.txt")
        assert old.status().files == len(NOTES)
        assert "among them: " in old.status(outlined=True).summary
        with closing(sqlite3.connect(old.path / "index.sqlite")) as db:
            assert db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() == ("1",)

    def test_a_sync_brings_it_up_to_date_and_reads_nothing_anew(self, old):
        report = old.sync()
        assert (report.unchanged, report.new, report.updated) == (len(NOTES), (), ())
        with closing(sqlite3.connect(old.path / "index.sqlite")) as db:
            assert db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() == ("3",)
            db.execute("SELECT path, sha256, parser, reason FROM failures")

    def test_an_early_index_of_schema_2_gets_the_column_that_it_lacks(self, old):
        with closing(sqlite3.connect(old.path / "index.sqlite")) as db:
            db.execute("UPDATE meta SET value = '2' WHERE name = 'schema'")
            db.commit()
        (old.path.parent / "notes" / "page.html").write_text(
            '<head><link rel="canonical" href="https://example.org/lamp"></head><p>The lamp is lit at dusk.</p>',
            "utf-8",
        )
        assert old.addresses([str(path) for path in old.path.parent.rglob("*")]) == {}
        page = str(old.path.parent / "notes" / "page.html")
        assert old.sync().new == (page,)
        assert old.addresses([page, "/elsewhere"]) == {page: "https://example.org/lamp"}
