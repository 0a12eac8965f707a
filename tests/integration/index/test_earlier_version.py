"""An index of an earlier version is named with the command that makes it anew, and goes once the new one is whole."""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.core.documents import WebPage
from local_rag.core.errors import IndexBusy, IndexMismatch
from local_rag.index.index import Index
from local_rag.index.store import connection


@pytest.fixture
def earlier(home):
    """The folder of one with some notes and a page, and the words that make it anew."""
    folder, notes = Settings.load().index_path, home / "my notes"
    notes.mkdir()
    for letter in "ab":
        (notes / f"{letter}.txt").write_text(f"The letter {letter}.")
    url = "https://a.test/boats?a=1&b=2"
    with Index.open(folder, HashingEmbedder(window=300), create=True) as index:
        index.sync([notes], excludes=["b.*"])
        index.sync_pages([url], lambda url: WebPage(url, "Boats", "Boats float."))
    with closing(sqlite3.connect(folder / "index.sqlite")) as db, db:
        db.execute("UPDATE meta SET value = '3' WHERE name = 'schema'")
    (folder / "vectors.cache.0123456789abcdef").touch()
    return folder, ["local-rag", "index", str(notes), url, "--exclude", "b.*", "--index", "default"]


@pytest.mark.parametrize("command", [["search", "letter"], ["ask", "Which letter?"], ["status"], ["index"]], ids=str)
def test_commands_say_in_a_line_how_to_make_it_anew(earlier, capsys, command):
    folder, words = earlier
    before = (folder / "index.sqlite").read_bytes()
    assert run(command) == 1
    shown = [line for line in capsys.readouterr().err.splitlines() if line]
    assert len(shown) == 2 and "was made by an earlier version" in shown[0], shown
    assert shlex.split(shown[1].removeprefix("hint: ").split("   ")[0]) == words
    assert (folder / "index.sqlite").read_bytes() == before


def test_it_stays_until_the_new_one_is_embedded(earlier, home, monkeypatch):
    folder, _ = earlier
    kept = folder / "earlier-index.sqlite"
    with connection.write_lock(folder), monkeypatch.context() as patched, pytest.raises(IndexBusy):
        patched.setattr(connection, "BUSY_SECONDS", 0.1)
        Index.open(folder, HashingEmbedder(window=300), create=True)
    with pytest.raises(IndexMismatch, match="earlier version"):
        Index.open(folder, HashingEmbedder(window=300))
    for embed in (False, True):
        with Index.open(folder, HashingEmbedder(window=300), create=True) as index:
            assert index.sync([home / "my notes"], embed=embed).unchanged == (2 if embed else 0)
            assert len(index.search("letter", 9)) == 2 and kept.exists() is not embed
    assert {file.name for file in folder.iterdir()} == {"index.sqlite", "writer.lock"}
    Index.destroy(folder)
    assert not folder.exists()
