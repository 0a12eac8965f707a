"""An index of an earlier version is named with the command that makes it anew, and goes once the new one is whole."""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import IndexMismatch
from local_rag.index.index import Index

URL = "https://a.test/boats?a=1&b=2"


@pytest.fixture
def earlier(home):
    """The folder of one with some notes and a page."""
    folder, notes = Settings.load().index_path, home / "my notes"
    notes.mkdir()
    for letter in "ab":
        (notes / f"{letter}.txt").write_text(f"The letter {letter}.")
    with Index.open(folder, HashingEmbedder(window=300), create=True) as index:
        index.sync([notes], excludes=["b.*"])
        index.sync_pages([URL], lambda url: LoadedDocument("Boats float.", "Boats", url=url))
    with closing(sqlite3.connect(folder / "index.sqlite")) as db, db:
        db.execute("UPDATE meta SET value = '3' WHERE name = 'schema'")
    (folder / "vectors.cache.0123456789abcdef").touch()
    return folder


def test_commands_say_in_a_line_how_to_make_it_anew(earlier, home, capsys):
    before = (earlier / "index.sqlite").read_bytes()
    for command in (["search", "letter"], ["status"], ["index"]):
        assert run(command) == 1
        error, hint = (line for line in capsys.readouterr().err.splitlines() if line)
        assert "was made by an earlier version" in error
        words = ["local-rag", "index", str(home / "my notes"), URL, "--exclude", "b.*", "--index", "default"]
        assert shlex.split(hint.removeprefix("hint: ").split("   ")[0]) == words
    assert (earlier / "index.sqlite").read_bytes() == before


def test_it_stays_until_the_new_one_is_embedded(earlier, home):
    with pytest.raises(IndexMismatch, match="earlier version"):
        Index.open(earlier, HashingEmbedder(window=300))
    for embed in (False, True):
        with Index.open(earlier, HashingEmbedder(window=300), create=True) as index:
            assert index.sync([home / "my notes"], embed=embed).unchanged == (2 if embed else 0)
            assert len(index.search("letter", 9)) == 2
            assert (earlier / "earlier-index.sqlite").exists() is not embed
    assert {file.name for file in earlier.iterdir()} == {"index.sqlite", "writer.lock"}
    Index.destroy(earlier)
    assert not earlier.exists()
