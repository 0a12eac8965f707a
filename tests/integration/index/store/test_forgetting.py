"""What was removed is in no byte of the files of an index, whatever came in between."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from local_rag.index.store.quantized_vectors import QuantizedVectors
from support.fakes_index import HashingEmbedder

from local_rag.core import cancel
from local_rag.core.documents import Heading, LoadedDocument
from local_rag.core.errors import Stopped
from local_rag.index.index import Index
from local_rag.index.store import connection, forgetting, vector_index
from local_rag.index.store.folder import VECTORS

TESTS = Path(__file__).parents[3]
RARE = "xylozanthium"

KILLED = """
import os, signal, sys
from pathlib import Path
from support.fakes_index import HashingEmbedder
from local_rag.index.index import Index
from local_rag.index.store import forgetting

forgetting.merge = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
Index.open(Path(sys.argv[1]), HashingEmbedder(), chunk_size=40).sync()
"""


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}.txt").write_text(f"The lamp {number} is lit at dusk. " * 9, encoding="utf-8")
    (folder / "diary.txt").write_text(f"The diary says {RARE}. " * 20, encoding="utf-8")
    return folder


@pytest.fixture
def index(tmp_path, notes, monkeypatch):
    """An index that stays open, as a chat has it, with a file of quantized vectors."""
    monkeypatch.setattr(vector_index, "TAIL", 10)
    with Index.open(tmp_path / "index", HashingEmbedder(), chunk_size=40, create=True) as made:
        made.sync([notes])
        yield made


def holds(index, word=RARE):
    """The files of the index in whose bytes the word is."""
    return {file.name for file in index.path.iterdir() if word.encode() in file.read_bytes()}


def diary(notes):
    return notes / "diary.txt"


@pytest.mark.parametrize("how", ["the file is gone", "the file is another", "removed by name", "texts"])
def test_the_word_is_gone_from_all_files(index, notes, how):
    assert holds(index)
    if how == "removed by name":
        index.remove([diary(notes)])
    elif how == "texts":
        index.sync_texts([(str(diary(notes)), LoadedDocument("Nothing of that.", "t", None))])
    else:
        diary(notes).unlink() if how == "the file is gone" else diary(notes).write_text("Nothing of that.")
        index.sync()
    assert len(index.search("lamp dusk", 3)) == 3 and index.verify(deep=True)
    assert holds(index) == set()
    if how in ("the file is gone", "removed by name"):
        assert holds(index, "diary.txt") == set()


@pytest.mark.parametrize("column", ["title", "author", "date", "subject", "headings", "url"])
def test_what_a_file_says_of_itself_is_gone_from_all_files(index, column):
    rare = "quorvelith"
    said = (Heading(0, 1, rare),) if column == "headings" else rare
    told = replace(LoadedDocument("The lamp is lit at dusk."), **{column: said})
    index.sync_texts([("told", told)])
    assert holds(index, rare) and (column == "url" or index.search(rare, 1, mode="words"))
    index.sync_texts([("told", LoadedDocument("The lamp is lit at dawn."))])
    assert holds(index, rare) == set() and index.verify(deep=True)


def test_codes_of_removed_passages_are_gone(index, notes):
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db:
        sql = "SELECT seq FROM embedded JOIN chunks ON chunks.id = chunk"
        sql += " JOIN documents ON documents.id = document JOIN files ON files.id = file"
        removed = {row[0] for row in db.execute(f"{sql} WHERE path = ?", (str(diary(notes)),))}
    assert removed <= set(codes_of(index))
    index.remove([diary(notes)])
    assert not removed & set(codes_of(index)) and len(codes_of(index)) > 50


def codes_of(index):
    (file,) = (entry for entry in index.path.iterdir() if entry.name.startswith(VECTORS))
    return QuantizedVectors.mapped(file, file.suffix[1:], 64).ids.tolist()


def test_older_versions_of_sqlite_can_read_it(index, notes):
    index.remove([diary(notes)])
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db:
        assert db.execute("SELECT * FROM full_text_config").fetchall() == [("version", 4)]


@pytest.mark.slow
def test_the_writer_after_a_kill_forgets(index, notes):
    diary(notes).unlink()
    index.close()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-c", KILLED, str(index.path)], env=environment)
    assert done.returncode == -signal.SIGKILL
    assert index.search(RARE, 1, mode="words") == [] and holds(index)
    index.sync()
    assert holds(index) == set()


def test_a_stop_is_heard_between_two_steps(index, notes, monkeypatch):
    stop = cancel.Cancel()
    plain = forgetting.merge

    def merge(db, **options):
        stop.stop()
        return plain(db, **options)

    monkeypatch.setattr(forgetting, "merge", merge)
    monkeypatch.setattr(forgetting, "PAGES", 1)
    with cancel.scope(stop), pytest.raises(Stopped):
        index.remove([diary(notes)])
    diary(notes).unlink()
    assert index.search(RARE, 1, mode="words") == [] and holds(index)
    monkeypatch.setattr(forgetting, "merge", plain)
    index.sync()
    assert holds(index) == set()


def test_what_a_reader_holds_up_is_done_later(index, notes, monkeypatch):
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    index.close()
    diary(notes).unlink()
    with closing(sqlite3.connect(index.path / "index.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM files").fetchone()
        index.sync()
        assert holds(index) and not index.has_forgotten()
    index.sync()
    assert holds(index) == set() and index.has_forgotten()


def test_what_an_earlier_version_removed_is_forgotten_with_the_upgrade(index, notes):
    diary(notes).unlink()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(forgetting, "is_due", lambda db: False)
        index.sync()
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db, db:
        db.execute("DELETE FROM meta WHERE name = ?", (forgetting.DUE,))
        db.execute("UPDATE meta SET value = '1' WHERE name = 'schema'")
    assert holds(index)
    index.sync()
    assert holds(index) == set()


def test_without_a_removal_nothing_is_merged(index, notes, monkeypatch):
    (notes / "new.txt").write_text("A new lamp.", encoding="utf-8")
    monkeypatch.setattr(forgetting, "merge", None)
    assert len(index.sync().new) == 1
