"""SQLite is the truth: nothing that happens to the cache, the disk or another process makes the two disagree."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from local_rag.index.store.lock import write_lock
from local_rag.index.store.removal import destroy
from support import storing

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import (
    DiskFull,
    IndexBusy,
    IndexDamaged,
    IndexMismatch,
    IndexMissing,
    LocalRagError,
    UsageError,
)
from local_rag.index.store import bm25, checks, connection, full_text, reads, schema, vector_index, writes
from local_rag.index.store.folder import VECTORS
from local_rag.index.store.schema import FileRow, Recipe
from local_rag.index.store.store import Store
from local_rag.text.chunking import Chunk

RECIPE = Recipe("toy", "toy-1", 4, 50, 0)


def unit(*numbers):
    row = np.array(numbers, dtype=np.float32)
    return row / np.linalg.norm(row)


def put(opened, path, *texts, rows=None, page=None):
    """One document per text, each one passage."""
    rows = rows or [unit(*(hash_of(text, i) for i in range(4))) for text in texts]
    documents = [
        (LoadedDocument(text, "A title", page), [Chunk(0, len(text), "A > B")], [row])
        for text, row in zip(texts, rows, strict=True)
    ]
    with opened.writing() as db:
        storing.write(db, FileRow(path, "/", "hash", 1, 1), documents)


def hash_of(text, i):
    return 1 + sum((position + i) * ord(letter) for position, letter in enumerate(text, 1)) % (97 + i)


@pytest.fixture
def opened(tmp_path):
    made = Store.create(tmp_path / "index", RECIPE)
    yield made
    made.close()


def ids_of(opened, query):
    return [chunk for chunk, _ in opened.read(full_text.matching, " OR ".join(bm25.terms_of(query)), 10, None, ())]


def texts(opened, ids):
    return [passage.text for passage in opened.read(reads.passages, ids)]


def test_what_was_written_is_ranking_by_words_and_by_vectors(opened):
    put(opened, "/a", "the lamps are burning", "a boat", rows=[unit(1, 0, 0, 0), unit(0, 1, 0, 0)], page=3)
    (lamp,) = ids_of(opened, "burn lamp")
    assert [chunk for chunk, _ in opened.nearest(unit(1, 0.1, 0, 0), 5, None, ())] == [lamp, lamp + 1]
    (ranking,) = opened.read(reads.passages, [lamp])
    assert (ranking.source, ranking.title, ranking.page, ranking.heading, ranking.text) == (
        "/a",
        "A title",
        3,
        "A > B",
        "the lamps are burning",
    )
    assert opened.cosines(unit(1, 1, 0, 0), [lamp, 999])[lamp] == pytest.approx(0.7071, abs=1e-4)


def test_writing_a_file_again_replaces_it_everywhere(opened):
    put(opened, "/a", "the old lamp", "an old boat")
    put(opened, "/b", "another lamp")
    before = opened.read(reads.passages, ids_of(opened, "another"))[0]
    put(opened, "/a", "the new lamp")
    assert ids_of(opened, "old") == ids_of(opened, "boat") == []
    assert sorted(texts(opened, ids_of(opened, "lamp"))) == ["another lamp", "the new lamp"]
    assert opened.read(full_text.frequencies, ["lamp", "old", "boat"]) == {"lamp": 2}
    assert len(opened.nearest(unit(1, 1, 1, 1), 9, None, ())) == 2
    with opened.writing() as db:
        writes.remove(db, ["/a"])
    assert opened.read(reads.counts) == (1, 1, 1) and opened.read(checks.damage) == ""
    assert opened.read(reads.passages, ids_of(opened, "lamp")) == [before]


def test_keys_stay_the_same_for_the_same_text_in_the_same_place(opened):
    put(opened, "/a", "one", "two")
    keys = [passage.key for passage in opened.read(reads.passages, opened.read(reads.chunk_ids).tolist())]
    put(opened, "/a", "one", "2")
    again = [passage.key for passage in opened.read(reads.passages, opened.read(reads.chunk_ids).tolist())]
    assert again[0] == keys[0] and again[1] != keys[1] and len(set(keys + again)) == 3


def test_narrowing_by_file_and_by_passage(opened):
    for name in "abc":
        put(opened, f"/{name}", f"lamp {name}", f"boat {name}")
    numbers = {file.path: file.id for file in opened.read(reads.files)}
    ids = opened.read(reads.chunks_of, [numbers["/b"]])
    for ranking in (
        opened.nearest(unit(1, 1, 1, 1), 9, storing.of_files([numbers["/b"]]), ()),
        opened.read(full_text.matching, "lamp OR boat", 9, json.dumps(ids), ()),
    ):
        assert sorted(chunk for chunk, _ in ranking) == sorted(ids)
    for ranking in (
        opened.nearest(unit(1, 1, 1, 1), 9, None, ids),
        opened.read(full_text.matching, "lamp OR boat", 9, None, ids),
    ):
        assert len(ranking) == 4 and not {chunk for chunk, _ in ranking} & set(ids)


def test_a_failed_transaction_leaves_nothing(opened):
    put(opened, "/a", "the lamp")
    generation = opened.read(reads.meta)["generation"]
    with pytest.raises(RuntimeError), opened.writing() as db:
        writes.remove(db, ["/a"])
        raise RuntimeError
    assert len(ids_of(opened, "lamp")) == 1 and opened.read(reads.meta)["generation"] == generation


@pytest.fixture(scope="module")
def empty():
    with memory() as db:
        yield db


class TestQueries:
    @settings(max_examples=3 * settings().max_examples)
    @given(st.text(max_size=60))
    @example('"lamp')
    @example("lamp AND (boat OR")
    @example("NEAR(a b, 3) - ^x * : {text} col:y")
    @example("\0 ' \" \ud83d\ude00 lamp\0boat")
    @example(" ".join(f"w{n}" for n in range(5000)))
    def test_no_text_is_a_syntax_error(self, empty, text):
        if query := " OR ".join(bm25.terms_of(text)):
            full_text.matching(empty, query, 5, None, ())

    def test_stop_words_count_only_when_there_is_nothing_else(self):
        assert " OR ".join(bm25.terms_of("What is the lamp?")) == '"lamp"'
        assert " OR ".join(bm25.terms_of("To be or not to be")) != ""
        assert " OR ".join(bm25.terms_of("?! —")) == ""

    def test_compounds_are_phrases_and_words(self):
        assert " OR ".join(bm25.terms_of("self-RAG don't")) == '"self RAG" OR "self" OR "RAG" OR "don\'t"'

    @pytest.mark.parametrize(
        ("text", "query"),
        [("Cafés", "cafe"), ("cafe", "café"), ("Relational", "relate"), ("don’t", "don't"), ("日本", "日本")],
    )
    def test_spellings_that_are_the_same_word(self, opened, text, query):
        put(opened, "/a", f"one {text} two")
        assert len(ids_of(opened, query)) == 1


_MEMORY = {}


def memory():
    if "db" not in _MEMORY:
        _MEMORY["db"] = sqlite3.connect(":memory:", check_same_thread=False)
        _MEMORY["db"].executescript(schema.TABLES + schema.NEW_TABLES)
        _MEMORY["db"].execute("INSERT INTO full_text (rowid, text) VALUES (1, 'lamp boat')")
    return _MEMORY["db"]


class TestFiles:
    def test_nobody_else_may_read(self, tmp_path, monkeypatch):
        monkeypatch.setattr(vector_index, "TAIL", 0)
        old = os.umask(0)
        try:
            opened = Store.create(tmp_path / "data" / "index", RECIPE)
            put(opened, "/a", "secret")
            opened.refresh()
            modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in opened.folder.iterdir()}
            assert {"index.sqlite", "index.sqlite-wal", "writer.lock"} < set(modes)
            assert any(name.startswith(VECTORS) for name in modes)
            assert set(modes.values()) == {0o600}
            assert stat.S_IMODE(opened.folder.stat().st_mode) == 0o700
            opened.close()
        finally:
            os.umask(old)

    def test_a_folder_of_other_things_is_left_alone(self, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        mode = tmp_path.stat().st_mode
        with pytest.raises(UsageError, match="holds other files"):
            Store.create(tmp_path, RECIPE)
        with pytest.raises(UsageError, match="is a file"):
            Store.create(tmp_path / "notes.txt", RECIPE)
        assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"] and tmp_path.stat().st_mode == mode

    def test_destroy_deletes_what_is_ours_and_nothing_else(self, opened):
        put(opened, "/a", "text")
        opened.refresh()
        opened.close()
        (opened.folder / "mine.txt").write_text("mine")
        destroy(opened.folder)
        assert [entry.name for entry in opened.folder.iterdir()] == ["mine.txt"]
        with pytest.raises(IndexMissing):
            destroy(opened.folder)

    def test_destroy_knows_the_databases_of_others(self, tmp_path):
        sqlite3.connect(tmp_path / "index.sqlite").close()
        (tmp_path / "index.sqlite").write_bytes(b"somebody else's")
        with pytest.raises(IndexMissing):
            destroy(tmp_path)
        assert (tmp_path / "index.sqlite").read_bytes() == b"somebody else's"

    def test_a_creation_that_was_killed_is_done_again(self, tmp_path):
        folder = tmp_path / "index"
        folder.mkdir()
        for name in ("new-index.sqlite", "new-index.sqlite-wal", "writer.lock", "vectors.cache.0123456789abcdef"):
            (folder / name).write_bytes(b"")
        (folder / "new-index.sqlite").write_bytes(b"half")
        opened = Store.create(folder, RECIPE)
        assert opened.read(reads.counts) == (0, 0, 0)
        opened.close()


class TestTrouble:
    def test_missing(self, tmp_path):
        with pytest.raises(IndexMissing) as caught:
            Store(tmp_path / "nowhere")
        assert caught.value.hint == f"local-rag index PATH… --index {tmp_path / 'nowhere'}"

    def test_not_a_database(self, opened):
        opened.close()
        (opened.folder / "index.sqlite").write_bytes(b"not a database at all" * 500)
        with pytest.raises(IndexDamaged) as caught:
            Store(opened.folder)
        assert "local-rag remove --index" in caught.value.hint

    def test_pages_overwritten(self, opened):
        put(opened, "/a", *(f"text {n} " * 300 for n in range(50)))
        with opened.writing() as db:
            writes.remove(db, ["/none"])
        opened.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        opened.close()
        file = opened.folder / "index.sqlite"
        data = file.read_bytes()
        file.write_bytes(data[:160_000] + b"\xff" * (len(data) - 164_000) + data[-4_000:])
        again = Store(opened.folder)
        with pytest.raises(IndexDamaged):
            again.read(reads.passages, list(range(1, 50)))
        again.close()

    def test_lost_vectors(self, opened):
        put(opened, "/a", "one", "two")
        with opened.writing() as db:
            db.execute("UPDATE vectors SET vector = x'00' WHERE chunk = 2")
        for harm in ("", "DELETE FROM vectors WHERE chunk = 2"):
            with opened.writing() as db:
                db.execute(harm)
            assert opened.read(checks.damage) == "" and opened.read(checks.unusable_vectors) == [2]
            with pytest.raises(IndexDamaged, match="1 passage without a vector") as caught:
                opened.nearest(unit(1, 1, 1, 1), 2, None, ())
            assert caught.value.hint == f"local-rag index --reembed --index {opened.folder}"

    @pytest.mark.parametrize(
        ("version", "age", "hint"), [("0", "older", "index-new"), ("99", "newer", "quickstart.py")]
    )
    def test_another_schema(self, opened, version, age, hint):
        with opened.writing() as db:
            writes.set_meta(db, {"schema": version})
        with pytest.raises(IndexMismatch, match=f"schema '{version}', which is {age}") as caught:
            Store(opened.folder)
        assert hint in caught.value.hint

    def test_a_full_disk_loses_nothing_that_was_there(self, opened):
        put(opened, "/a", "the lamp")
        pages = opened.connection.execute("PRAGMA page_count").fetchone()[0]
        opened.connection.execute(f"PRAGMA max_page_count = {pages + 5}")
        with pytest.raises(DiskFull, match="no space left") as caught:
            put(opened, "/b", *(f"text {n} " * 500 for n in range(100)))
        assert "continues where it stopped" in caught.value.hint
        assert opened.read(reads.counts) == (1, 1, 1) and opened.read(checks.damage) == ""
        opened.connection.execute("PRAGMA max_page_count = 1000000")
        put(opened, "/b", "the boat")
        assert len(ids_of(opened, "boat")) == 1

    def test_a_lock_that_is_none(self, opened):
        (opened.folder / "writer.lock").write_bytes(b"no database " * 500)
        with pytest.raises(LocalRagError, match="now it is not") as caught, opened.locked():
            pass
        assert caught.value.hint.startswith(f"rm {opened.folder / 'writer.lock'}")
        (opened.folder / "writer.lock").unlink()
        with opened.locked():
            pass

    def test_another_writer(self, opened, monkeypatch):
        monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
        with write_lock(opened.folder), pytest.raises(IndexBusy, match="another process is writing"):
            destroy(opened.folder)
        impatient = Store(opened.folder)
        with opened.writing(), pytest.raises(IndexBusy):
            put_elsewhere(impatient)
        with write_lock(opened.folder):
            pass


def put_elsewhere(impatient):
    with impatient.writing():
        pass


def test_a_connection_ends_with_its_thread(opened):
    put(opened, "/a", "the lamp")
    held = []

    def search():
        opened.nearest(unit(1, 1, 1, 1), 1, None, ())
        held.append(opened.connection)

    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        held[0].execute("SELECT 1")
    assert opened.read(reads.counts) == (1, 1, 1)
