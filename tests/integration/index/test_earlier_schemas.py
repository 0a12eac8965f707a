"""Indexes of earlier versions answer as they are, and the next sync brings them up to date without embedding a text."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.earlier_indexes import NAMES, PAGE, placed, rows
from support.fakes_index import remembering_minilm

from local_rag.core.errors import FileSkipped
from local_rag.index.header import HEADER_VERSION
from local_rag.index.index import Index
from local_rag.index.parse.parser import Parser
from local_rag.index.store import full_text, upgrade, writes

pytestmark = pytest.mark.usefixtures("converted")

QUESTIONS = {
    "When does one pay the state?": "TaxReturn2023.html",
    "spare wick workshop": "letter.eml",
    "What do red rockets mean?": "rescue.txt",
    "How heavy may goods for the crane be?": "supply_boat.txt",
    "When does high water come?": PAGE,
}
FILES = 5


class Counting:
    """MiniLM, which keeps the texts that it embeds."""

    def __init__(self):
        self.inner, self.texts = remembering_minilm(), []

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def embed_documents(self, texts):
        self.texts += texts
        return self.inner.embed_documents(texts)


@contextmanager
def opened(path, embedder=None):
    with Index.open(path, embedder or remembering_minilm(), chunk_size=None, chunk_overlap=None) as index:
        yield index


@pytest.fixture(params=NAMES)
def earlier(request, tmp_path):
    """The folder of an index that an earlier version made."""
    return placed(request.param, tmp_path)


def answers_all(path):
    with opened(path) as index:
        for mode in ("hybrid", "dense"):
            for question, name in QUESTIONS.items():
                assert Path(index.search(question, 1, mode=mode)[0].metadata["source"]).name == Path(name).name
        assert index.search("fathoms bandages", 1, mode="words")[0].metadata["source"].endswith("rescue.txt")


def vectors_of(path):
    return dict(rows(path, "SELECT digest, vector FROM chunks JOIN vectors ON chunk = chunks.id"))


def state_of(path):
    """What an upgrade leads to, without the numbers and folders that depend on its steps and place."""
    name = f"substr(path, CASE WHEN path LIKE 'http%' THEN 1 ELSE {len(str(path.parent)) + 1} END) AS place"
    documents = f"SELECT {name}, title, author, date, documents.header, header_version, name, folders FROM documents"
    files = "JOIN documents ON documents.id = document JOIN files ON files.id = file ORDER BY place, start"
    chunks = f"SELECT {name}, start, end, h.text FROM chunks LEFT JOIN headers AS h ON h.id = chunks.header"
    seen = f"SELECT {name}, start, embedded.header IS chunks.header FROM embedded JOIN chunks ON chunks.id = chunk"
    return (
        rows(path, f"{documents} JOIN files ON files.id = file ORDER BY place"),
        rows(path, f"{chunks} {files}"),
        rows(path, f"{seen} {files}"),
        rows(path, "SELECT term, doc, cnt FROM stems"),
    )


def test_it_answers_as_it_is(earlier):
    before = (earlier / "index.sqlite").read_bytes()
    answers_all(earlier)
    with opened(earlier) as index:
        (note,) = index.upgrade_notes()
        assert "made by an earlier version" in note and f"`local-rag index --index {earlier}`" in note
        assert index.verify(deep=True) and index.status().files == FILES
        assert len(index.search("lamp", 20, within=[str(earlier.parent / "notes" / "light-house.md")])) == 3
    assert (earlier / "index.sqlite").read_bytes() == before


def test_the_next_sync_embeds_headers_and_no_text(earlier):
    vectors, passages = vectors_of(earlier), rows(earlier, "SELECT count(*) FROM chunks")
    embedder = Counting()
    with opened(earlier, embedder) as index:
        report = index.sync()
        assert (report.upgraded, report.unchanged, report.new, report.updated) == (FILES + 1, FILES, (), ())
        assert (report.embedded, report.not_embedded) == (0, 0), "headers are no passages"
        assert index.upgrade_notes() == [] and index.verify(deep=True) and index.has_forgotten()
        headers = {text for (text,) in rows(earlier, "SELECT text FROM headers")}
        assert sorted(embedder.texts) == sorted(headers)
        letter = index.search("spare wick workshop", 1)[0].metadata
        assert (letter["author"], letter["date"][:10]) == ("Anna Lind <anna@example.org>", "2023-02-07")
        assert index.sync().upgraded == 0 and len(embedder.texts) == len(headers)
    assert vectors_of(earlier) == vectors and rows(earlier, "SELECT count(*) FROM embedded") == passages
    assert not rows(earlier, "SELECT name FROM sqlite_schema WHERE name LIKE '%words%' OR name = 'vocabulary'")
    assert not rows(earlier, "SELECT 1 FROM headers WHERE vector IS NULL")
    answers_all(earlier)


STEPS = [
    (writes, "write", 0),
    (writes, "write", 2),
    (upgrade, "head", 0),
    (full_text, "retire", 0),
    (full_text, "drop_step", 1),
]


@pytest.mark.parametrize(("module", "name", "calls"), STEPS)
def test_what_a_stop_in_the_middle_left_is_done_by_the_next_sync(tmp_path, monkeypatch, module, name, calls):
    expected = placed("schema2", tmp_path / "whole")
    with opened(expected) as index:
        index.sync()
    path = placed("schema2", tmp_path / "stopped")
    vectors, plain, done = vectors_of(path), getattr(module, name), []

    def stopping(*arguments, **options):
        if len(done) == calls:
            raise KeyboardInterrupt
        done.append(arguments)
        return plain(*arguments, **options)

    with monkeypatch.context() as patched, opened(path) as index:
        patched.setattr(module, name, stopping)
        with pytest.raises(KeyboardInterrupt):
            index.sync()
    answers_all(path)
    with opened(path) as index:
        assert bool(index.upgrade_notes()) is (name != "drop_step") and index.verify(deep=True)
        assert not index.has_forgotten()
        report = index.sync()
        assert report.unchanged == FILES and index.upgrade_notes() == [] and index.verify(deep=True)
        assert index.has_forgotten()
    assert vectors_of(path) == vectors
    assert state_of(path) == state_of(expected)


def test_what_is_removed_while_the_earlier_full_text_goes_is_forgotten(tmp_path, monkeypatch):
    path = placed("schema2", tmp_path)
    with monkeypatch.context() as patched, opened(path) as index:
        patched.setattr(full_text, "drop_step", stopped)
        with pytest.raises(KeyboardInterrupt):
            index.sync()
    assert rows(path, "SELECT 1 FROM sqlite_schema WHERE name = 'earlier_words'") and holding(path, "bandag")
    with opened(path) as index:
        assert index.remove([tmp_path / "notes" / "rescue.txt"]) and index.has_forgotten()
    assert not holding(path, "bandag")


def stopped(*_, **__):
    raise KeyboardInterrupt


def holding(path, word):
    """The files of an index in whose bytes a word or its stem is."""
    return [file.name for file in path.iterdir() if word.encode() in file.read_bytes()]


def test_an_upgraded_index_has_the_indexes_of_a_new_one(earlier, tmp_path):
    with opened(earlier) as index:
        index.sync()
    Index.open(tmp_path / "new", remembering_minilm(), create=True).close()
    names = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
    assert rows(earlier, names) == rows(tmp_path / "new", names)


def test_what_cannot_be_read_again_gets_its_header_from_what_is_stored(earlier):
    notes = earlier.parent / "notes"
    notes.rename(earlier.parent / "unmounted")
    with opened(earlier) as index:
        report = index.sync()
        assert report.upgraded == FILES + 1 and not report.removed
        assert index.upgrade_notes() == [] and index.header_version() == HEADER_VERSION
    answers_all(earlier)
    versions = dict(rows(earlier, "SELECT path, header_version FROM documents JOIN files ON files.id = file"))
    assert versions.pop(PAGE) == HEADER_VERSION and set(versions.values()) == {-HEADER_VERSION}
    assert all(header for (header,) in rows(earlier, "SELECT header FROM documents"))
    (earlier.parent / "unmounted").rename(notes)
    vectors = vectors_of(earlier)
    with opened(earlier) as index:
        report = index.sync()
        assert (report.upgraded, report.unchanged, report.updated) == (FILES, FILES, ())
        assert index.search("red rockets", 1)[0].metadata["source"] == str(notes / "rescue.txt")
        assert index.sync().upgraded == 0
    assert vectors_of(earlier) == vectors
    assert set(rows(earlier, "SELECT header_version FROM documents")) == {(HEADER_VERSION,)}


def test_a_file_that_the_parser_cannot_read_any_more_keeps_answering(earlier, monkeypatch):
    plain, tried = Parser.parse, []

    def parse(self, path, password=None):
        tried.append(path.name)
        if path.suffix == ".eml":
            raise FileSkipped("is damaged")
        return plain(self, path, password)

    monkeypatch.setattr(Parser, "parse", parse)
    with opened(earlier) as index:
        report = index.sync()
        assert (report.upgraded, report.unchanged, report.removed) == (FILES + 1, FILES, ())
        answers_all(earlier)
        tried.clear()
        assert index.sync().unchanged == FILES and not tried


def test_another_root_waits_for_its_own_sync(earlier):
    (earlier.parent / "more").mkdir()
    shutil.copy(earlier.parent / "notes" / "rescue.txt", earlier.parent / "more" / "signals.txt")
    embedder = Counting()
    with opened(earlier, embedder) as index:
        report = index.sync([earlier.parent / "more"])
        texts = {text for (text,) in rows(earlier, "SELECT text FROM headers")}
        assert set(embedder.texts) <= texts and len(report.new) == 1
        assert index.sync().upgraded == FILES
