"""Commits are whole, one process writes at a time, and an index is made of its own files alone."""

import os
import sqlite3
import stat
from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder, add, indexed
from support.marks import posix

from local_rag.core.errors import IndexBusy, IndexMissing, UsageError
from local_rag.index.index import Index
from local_rag.index.store.sqlite import connection, vectors
from local_rag.index.store.sqlite.store import SqliteStore
from local_rag.index.store.values import IndexSettings

SETTINGS = IndexSettings("toy", "toy-1", 64, 40, 0)
OTHERS = """
index.sqlite.backup-2025 index.sqlite-old index.sqlite.txt new-index.sqlite.bak writer.lock.txt vectors.faiss.backup
vectors.faiss.0123456789abcdeg vectors.faiss.0123456789abcdef0 my-index.sqlite
""".split()


def test_another_writer_waits_in_vain(tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    store, other = (SqliteStore.create(tmp_path / "index", SETTINGS) for _ in range(2))
    with store.locked():
        for act in (Index.destroy, lambda folder: SqliteStore.create(folder, SETTINGS)):
            with pytest.raises(IndexBusy, match="another process is writing"):
                act(store.address)
        with Index.open(store.address) as reader:
            assert reader.files() == []
    with store.writing(), pytest.raises(IndexBusy), other.writing():
        pass
    with other.locked(), pytest.raises(IndexBusy), store.locked():
        pass
    for each in (store, other):
        each.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An index with all kinds of files, a WAL and a draft included."""
    monkeypatch.setattr(vectors, "COMPARED", 0)
    with indexed(tmp_path / "index", {"/lamp": "the lamp", "/boat": "the boat"}) as index:
        for name in ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "index.sqlite-journal"):
            (index.path / f"new-{name}").write_bytes(b"half")
        kept = sqlite3.connect(index.path / "index.sqlite")  # as a reader that stays keeps the WAL
        kept.execute("SELECT count(*) FROM files").fetchone()
        add(index, {"horn": "the horn"})
    yield tmp_path / "index"
    kept.close()


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@posix  # files have no modes there
def test_nobody_else_may_read(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "COMPARED", 0)
    old = os.umask(0)
    try:
        with indexed(tmp_path / "data" / "index", {"lamp": "the lamp"}) as index:
            modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in index.path.iterdir()}
            assert {"index.sqlite", "index.sqlite-wal", "writer.lock"} < set(modes) and set(modes.values()) == {0o600}
            assert any(name.startswith("vectors.faiss.") for name in modes)
            assert stat.S_IMODE(index.path.stat().st_mode) == 0o700
    finally:
        os.umask(old)


def test_files_of_others_stay(folder):
    for name in OTHERS:
        (folder / name).write_text("mine")
    with Index.open(folder, HashingEmbedder()) as index:
        index.remove(["/lamp"])  # which writes vectors anew
    (folder / "writer.lock").unlink()  # its tables tell it, too
    Index.destroy(folder)
    assert names(folder) == sorted(OTHERS)
    with pytest.raises(IndexMissing):
        Index.destroy(folder)
    mode = folder.stat().st_mode
    for place, message in ((folder, "holds other files, such as index.sqlite-old"), (folder / OTHERS[0], "is a file")):
        with pytest.raises(UsageError, match=message):
            SqliteStore.create(place, SETTINGS)
    assert names(folder) == sorted(OTHERS) and folder.stat().st_mode == mode


class Killed(BaseException):
    pass


@pytest.mark.parametrize("count", range(9))
def test_a_removal_that_is_killed_at_any_file_can_be_repeated(folder, monkeypatch, count):
    plain, deleted = Path.unlink, []

    def unlink(path, missing_ok=False):
        if path.exists():
            if len(deleted) == count:
                raise Killed
            deleted.append(path)
            plain(path)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Path, "unlink", unlink)
        Index.destroy(folder)
    if count:
        with pytest.raises(IndexMissing):
            SqliteStore(folder)
    else:
        assert Index.inspect(folder).files == 3
    Index.destroy(folder)
    assert not folder.exists()


LEFT_OVER = {
    "an empty database without a lock": {"index.sqlite": b""},
    "all but the database": {
        "writer.lock": b"",
        "index.sqlite-wal": b"old",
        "index.sqlite-shm": b"old",
        "vectors.faiss.0123456789abcdef": b"old",
    },
    "a creation that was killed": {"writer.lock": b"", "new-index.sqlite": b"half", "new-index.sqlite-wal": b"half"},
    "the log of another database": {"writer.lock": b"", "index.sqlite-wal": None},
}


@pytest.mark.parametrize("files", LEFT_OVER.values(), ids=LEFT_OVER)
def test_what_is_left_over_is_no_dead_end(tmp_path, folder, files):
    log = (folder / "index.sqlite-wal").read_bytes()
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        for name, data in files.items():
            (tmp_path / str(number) / name).write_bytes(log if data is None else data)
    with pytest.raises(IndexMissing, match="there is no index at"):
        Index.inspect(tmp_path / "0")
    Index.destroy(tmp_path / "0")
    assert not (tmp_path / "0").exists()
    with indexed(tmp_path / "1", {"lamp": "the lamp"}) as index:
        assert index.count() == 1 and index.verify(deep=True)
