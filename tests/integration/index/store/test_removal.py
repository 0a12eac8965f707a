"""Removing an index deletes what is the index's by its exact name, all of it, and again after a kill."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from local_rag.index.store.removal import destroy
from support import storing
from support.permissions import bound_by_permissions

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import IndexMissing, LocalRagError
from local_rag.index.store import reads, vector_index
from local_rag.index.store.checks import is_index
from local_rag.index.store.folder import has_database
from local_rag.index.store.schema import FileRow, Recipe
from local_rag.index.store.store import Store
from local_rag.text.chunking import Chunk

RECIPE = Recipe("toy", "toy-1", 4, 50, 0)

OTHERS = """
index.sqlite.backup-2025 index.sqlite-old index.sqlite.txt new-index.sqlite.bak writer.lock.txt vectors.cache.backup
vectors.cache.0123456789abcdeg vectors.cache.0123456789abcdef0 my-index.sqlite
""".split()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An index with all kinds of files, a WAL and a draft included."""
    monkeypatch.setattr(vector_index, "TAIL", 0)
    opened = Store.create(tmp_path / "index", RECIPE)
    put(opened, "the lamp")
    opened.refresh()
    put(opened, "the boat")
    (opened.folder / "new-index.sqlite").write_bytes(b"half")
    for side in ("-wal", "-shm", "-journal"):
        (opened.folder / f"new-index.sqlite{side}").write_bytes(b"half")
    kept = sqlite3.connect(opened.folder / "index.sqlite")  # as a reader that stays keeps the WAL
    kept.execute("SELECT count(*) FROM files").fetchone()
    opened.close()
    yield opened.folder
    kept.close()


def put(opened, text):
    row = np.array([1, 0, 0, 0], dtype=np.float32)
    with opened.writing() as db:
        document = (LoadedDocument(text, "t", None), [Chunk(0, len(text), "")], [row])
        storing.write(db, FileRow(f"/{text}", "/", "hash", 1, 1), [document])


def test_exact_names_only(folder):
    for name in OTHERS:
        (folder / name).write_text("mine")
    opened = Store(folder)
    put(opened, "a third file")
    opened.refresh()  # which deletes earlier files of vectors
    opened.close()
    destroy(folder)
    assert sorted(file.name for file in folder.iterdir()) == sorted(OTHERS)


def test_a_creation_deletes_exact_names_only(tmp_path):
    folder = tmp_path / "index"
    Store.create(folder, RECIPE).close()
    for name in OTHERS:
        (folder / name).write_text("mine")
    (folder / "index.sqlite").unlink()
    with pytest.raises(LocalRagError, match=r"holds other files, such as index\.sqlite-old"):
        Store.create(folder, RECIPE)
    destroy(folder)
    assert sorted(file.name for file in folder.iterdir()) == sorted(OTHERS)


class Killed(BaseException):
    pass


def killed_after(count, patched):
    """The process ends when it would delete another file than so many."""
    plain, deleted = Path.unlink, []

    def unlink(path, missing_ok=False):
        if path.exists():
            if len(deleted) == count:
                raise Killed
            deleted.append(path)
            plain(path)

    patched.setattr(Path, "unlink", unlink)


@pytest.mark.parametrize("count", range(9))
def test_a_removal_that_is_killed_at_any_file_can_be_repeated(folder, tmp_path, monkeypatch, count):
    with monkeypatch.context() as patched, pytest.raises(Killed):
        killed_after(count, patched)
        destroy(folder)
    assert is_index(folder)
    if has_database(folder):
        half = Store(shutil.copytree(folder, tmp_path / "half"))
        assert [Path(file.path).name for file in half.read(reads.files)] == ["the boat", "the lamp"]
        half.close()
    else:
        assert count > 6
        with pytest.raises(IndexMissing):
            Store(folder)
    destroy(folder)
    assert not folder.exists()


LEFT_OVER = {
    "an empty database without a lock": {"index.sqlite": b""},
    "an empty database": {"index.sqlite": b"", "writer.lock": b""},
    "a lock": {"writer.lock": b""},
    "all but the database": {
        "writer.lock": b"",
        "index.sqlite-wal": b"old",
        "index.sqlite-shm": b"old",
        "vectors.cache.0123456789abcdef": b"old",
    },
    "a creation that was killed": {"writer.lock": b"", "new-index.sqlite": b"half", "new-index.sqlite-wal": b"half"},
}


@pytest.mark.parametrize("files", LEFT_OVER.values(), ids=LEFT_OVER)
def test_what_is_left_over_is_no_dead_end(tmp_path, files):
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        for name, data in files.items():
            (tmp_path / str(number) / name).write_bytes(data)
    with pytest.raises(IndexMissing, match="there is no index at"):
        Store(tmp_path / "0")
    destroy(tmp_path / "0")
    assert not (tmp_path / "0").exists()
    opened = Store.create(tmp_path / "1", RECIPE)
    put(opened, "the lamp")
    assert opened.read(reads.counts) == (1, 1, 1)
    opened.close()


def test_a_new_database_does_not_get_the_wal_of_an_old_one(tmp_path, folder):
    wal = (folder / "index.sqlite-wal").read_bytes()
    assert wal
    again = tmp_path / "again"
    again.mkdir()
    (again / "index.sqlite-wal").write_bytes(wal)
    (again / "writer.lock").write_bytes(b"")
    opened = Store.create(again, RECIPE)
    assert opened.read(reads.counts) == (0, 0, 0)
    opened.close()


def test_an_index_without_its_lock_is_one(folder):
    (folder / "writer.lock").unlink()
    destroy(folder)
    assert not folder.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no modes there")
@pytest.mark.parametrize("act", [destroy, Store, lambda folder: Store.create(folder, RECIPE)])
def test_a_folder_that_nobody_may_enter(tmp_path, act):
    folder = tmp_path / "index"
    Store.create(folder, RECIPE).close()
    folder.chmod(0)
    try:
        with pytest.raises(LocalRagError, match="no permission to read the index"):
            bound_by_permissions(lambda: act(folder))
    finally:
        folder.chmod(0o700)


class TestOfOtherPrograms:
    @pytest.fixture
    def theirs(self, tmp_path):
        with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
            db.executescript("CREATE TABLE meta (name, value); CREATE TABLE files (path); CREATE TABLE photos (a);")
        return tmp_path

    @pytest.mark.parametrize("content", ["tables", "garbage"])
    def test_their_database_is_safe(self, theirs, content):
        if content == "garbage":
            (theirs / "index.sqlite").write_bytes(b"no database at all" * 100)
        before = (theirs / "index.sqlite").read_bytes()
        with pytest.raises(IndexMissing, match="no index of local-rag"):
            destroy(theirs)
        with pytest.raises(LocalRagError, match="is no index of local-rag") as caught:
            Store(theirs)
        assert caught.value.hint == f"local-rag index PATH… --index {theirs / 'index'}"
        assert [file.name for file in theirs.iterdir()] == ["index.sqlite"]
        assert (theirs / "index.sqlite").read_bytes() == before

    def test_an_empty_folder_is_nobodys(self, tmp_path):
        with pytest.raises(IndexMissing):
            destroy(tmp_path)
        assert tmp_path.exists()
