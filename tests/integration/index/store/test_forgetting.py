"""What was removed is in no byte of the files of an index, whatever came in between."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from support.fakes_index import indexed

from local_rag.core import cancel
from local_rag.core.documents import Heading, LoadedDocument
from local_rag.core.errors import Stopped
from local_rag.index.store.sqlite import connection, vectors
from local_rag.index.store.sqlite.store import SqliteStore

RARE = "xylozanthium"


@pytest.fixture
def diary(tmp_path):
    """A file among others."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(9):
        (folder / f"{number}.txt").write_text(f"The lamp {number} is lit at dusk. " * 9)
    (folder / "diary.txt").write_text(f"The diary says {RARE}. " * 20)
    return folder / "diary.txt"


@pytest.fixture
def index(tmp_path, diary, monkeypatch):
    """An index that stays open, as a chat has it, with a file of vectors."""
    monkeypatch.setattr(vectors, "COMPARED", 0)
    with indexed(tmp_path / "index", {}) as made:
        made.sync([diary.parent])
        assert holds(made) and made.has_forgotten()
        yield made


def holds(index, word=RARE):
    """The files of the index in whose bytes the word is."""
    held = word if isinstance(word, bytes) else word.encode()
    return {file.name for file in index.path.iterdir() if held in file.read_bytes()}


def rewritten(index, diary):
    diary.write_text("Nothing of that.")
    index.sync()


def deleted(index, diary):
    diary.unlink()
    index.sync()


WAYS = {
    "the file is gone": deleted,
    "the file is another": rewritten,
    "removed by name": lambda index, diary: index.remove([diary]),
    "texts": lambda index, diary: index.sync_texts([(str(diary), LoadedDocument("Nothing of that."))]),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_word_and_its_vector_are_gone_from_all_files(index, diary, way):
    index.search("lamp dusk", 3)
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db:
        sql = "SELECT vector FROM vectors JOIN chunks USING (digest) JOIN documents ON documents.id = document"
        (vector,) = db.execute(f"{sql} WHERE text LIKE ?", (f"%{RARE}%",)).fetchone()
    (before,) = index.path.glob("vectors.faiss.*")
    assert holds(index, vector)
    way(index, diary)
    assert len(index.search("lamp dusk", 3)) == 3 and index.verify(deep=True) and index.has_forgotten()
    assert holds(index) == holds(index, vector) == set() and not before.exists()
    assert diary.exists() or holds(index, "diary.txt") == set()
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db:  # older versions of SQLite can read it
        assert db.execute("SELECT * FROM full_text_config").fetchall() == [("version", 4)]


def test_what_a_file_says_of_itself_is_gone_from_all_files(index):
    rare = "quorvelith"
    for column in ("title", "author", "date", "subject", "headings", "url"):
        said = (Heading(0, 1, rare),) if column == "headings" else rare
        told = replace(LoadedDocument("The lamp is lit at dusk."), **{column: said})
        index.sync_texts([("told", told)])
        assert holds(index, rare) and (column == "url" or index.search(rare, 1, mode="words")), column
        index.sync_texts([("told", LoadedDocument("The lamp is lit at dawn."))])
        assert holds(index, rare) == set() and index.verify(deep=True), column


def test_a_stop_is_heard_and_the_next_writer_goes_on(index, diary, monkeypatch):
    stop, plain = cancel.Cancel(), SqliteStore.forget

    def forget(self):
        stop.stop()
        plain(self)

    monkeypatch.setattr(SqliteStore, "forget", forget)
    with cancel.scope(stop), pytest.raises(Stopped):
        index.remove([diary])
    assert index.search(RARE, 1, mode="words") == [] and holds(index) and not index.has_forgotten()
    diary.unlink()
    index.sync()
    assert holds(index) == set()


def test_what_a_reader_holds_up_is_done_later(index, diary, monkeypatch):
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    index.close()
    with closing(sqlite3.connect(index.path / "index.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM files").fetchone()
        deleted(index, diary)
        assert holds(index) and not index.has_forgotten()
    index.sync()
    assert holds(index) == set() and index.has_forgotten()
