"""What has moved, after a sync: what was excluded stays out, and former paths and keys last as long as the file."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.core.documents import Moved
from local_rag.core.errors import UsageError
from local_rag.index.header import HEADER_VERSION
from local_rag.index.index import Index


@pytest.fixture
def index(tmp_path):
    with Index.open(tmp_path / "index", HashingEmbedder(), chunk_size=40, create=True) as made:
        yield made


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    for name in ("notes/a", "notes/b", "notes/private/secret", "other"):
        file = folder / f"{name}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join(f"{name} {n}: " + f"word{n} " * 30 for n in range(3)), "utf-8")
    (folder / "archive").mkdir()
    return folder


def names(index):
    return sorted(os.path.basename(file.path) for file in index.files())  # noqa: PTH119


def former(index, *files):
    return set(Index.former_paths(index.path, files))


@pytest.mark.parametrize("files", [2, 1])
def test_what_was_excluded_below_a_folder_that_moves_stays_out(index, home, files):
    """The name of the folder stays the same, so that what both paths end with is more than what moved."""
    if files == 1:
        (home / "notes" / "b.txt").unlink()
    index.sync([home], excludes=["/notes/private/"])
    assert "secret.txt" not in names(index)
    before = names(index)
    (home / "notes").rename(home / "archive" / "notes")
    report = index.sync()
    assert report.moved == (Moved(str(home / "notes"), str(home / "archive" / "notes"), files),)
    assert names(index) == before == names_after(index)
    assert "/archive/notes/private/" in index.status().root_options[0].excludes


def names_after(index):
    index.sync()
    return names(index)


def test_what_a_root_excluded_stays_out_where_its_folder_is_still_there(index, tmp_path, home):
    """An empty mount point, and the disk at another place."""
    index.sync([home / "notes"], excludes=["/private/"])
    new = tmp_path / "media"
    (home / "notes").rename(new)
    (home / "notes").mkdir()
    assert index.sync([new]).moved
    assert names(index) == ["a.txt", "b.txt"]


def test_a_folder_whose_parts_go_to_two_places_is_excluded_from_at_both(index, home):
    index.sync([home], excludes=["/notes/private/"])
    for place in ("one", "two"):
        (home / place / "private").mkdir(parents=True)
        (home / place / "private" / "hidden.txt").write_text("hidden", "utf-8")
    (home / "notes" / "a.txt").rename(home / "one" / "a.txt")
    (home / "notes" / "b.txt").rename(home / "two" / "b.txt")
    (home / "notes" / "private" / "secret.txt").rename(home / "two" / "private" / "secret.txt")
    (home / "notes" / "private").rmdir()
    (home / "notes").rmdir()
    index.sync()
    assert names(index) == ["a.txt", "b.txt", "other.txt"]


def test_a_file_that_takes_the_name_of_another_in_a_folder_that_has_moved(index, tmp_path):
    notes, new = tmp_path / "notes", tmp_path / "papers"
    notes.mkdir()
    for number in range(20):
        (notes / f"f{number}.txt").write_text(f"This is file {number}.", "utf-8")
    index.sync([notes])
    notes.rename(new)
    (new / "f1.txt").replace(new / "f0.txt")
    report = index.sync([new])
    assert report.moved == (
        Moved(str(notes), str(new), 18),
        Moved(str(notes / "f1.txt"), str(new / "f0.txt"), 1),
    )
    assert {file.path for file in index.files()} >= {str(file) for file in new.iterdir()}
    assert index.verify(deep=True)


def test_former_paths_last_through_an_edit_until_the_file_goes(index, home):
    index.sync([home])
    old, new = home / "notes" / "a.txt", home / "archive" / "a.txt"
    quoted = {passage.key for passage in index.passages() if passage.source == str(old)}
    old.rename(new)
    index.sync()
    new.write_text(new.read_text("utf-8") + "\n\nOne more paragraph.", "utf-8")
    assert index.sync().updated == (str(new),)
    assert former(index, new) == {str(old)}
    assert len(Index.stored(index.path, quoted).passages) >= len(quoted) - 1, "all but the last, which has grown"
    again = home / "archive" / "again.txt"
    new.rename(again)
    index.sync()
    again.write_text("Edited again.", "utf-8")
    index.sync()
    assert former(index, again) == {str(old), str(new)}
    again.unlink()
    report = index.sync()
    assert report.removed == (str(again),) and set(report.formerly) == {str(old), str(new)}


def test_a_file_edited_on_the_way_keeps_its_former_path(index, tmp_path):
    notes, new = tmp_path / "notes", tmp_path / "papers"
    notes.mkdir()
    for number in range(10):
        (notes / f"f{number}.txt").write_text(f"This is file {number}.", "utf-8")
    index.sync([notes])
    notes.rename(new)
    (new / "f0.txt").write_text("Edited on the way.", "utf-8")
    assert index.sync([new]).updated == (str(new / "f0.txt"),)
    assert former(index, new / "f0.txt") == {str(notes / "f0.txt")}


def test_what_moves_before_its_header_is_brought_up_to_date_is_read_at_its_new_place(index, home):
    index.sync([home])
    old, new = home / "notes" / "a.txt", home / "archive" / "a.txt"
    quoted = {passage.key for passage in index.passages() if passage.source == str(old)}
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db, db:
        db.execute("UPDATE documents SET header_version = 0")
    old.rename(new)
    report = index.sync()
    assert report.upgraded == 4 and report.unchanged == 4
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db:
        assert db.execute("SELECT DISTINCT header_version FROM documents").fetchall() == [(HEADER_VERSION,)]
    assert former(index, new) == {str(old)}
    assert Index.stored(index.path, quoted).passages.keys() == quoted


def test_moved_onto_what_is_indexed_already_leaves_the_former_path_there(index, home, tmp_path):
    index.sync([home / "notes"])
    quoted = {passage.key for passage in index.passages() if passage.source.endswith("/a.txt")}
    new = tmp_path / "papers"
    (home / "notes").rename(new)
    (home / "notes").mkdir()
    (home / "notes" / "stays.txt").write_text("This one stays.", "utf-8")
    for name in ("a", "b"):
        (new / f"{name}.txt").write_text((new / f"{name}.txt").read_text("utf-8") + "\n\nEdited.", "utf-8")
    index.sync([new])
    assert len(index.files()) == 6, "one of three is not nearly all: every file stands at both places"
    index.move(home / "notes", new)
    assert sorted({file.path for file in index.files()}) == sorted(map(str, new.rglob("*.txt")))
    assert str(home / "notes" / "a.txt") in former(index, new / "a.txt")
    assert Index.stored(index.path, quoted).passages
    assert index.verify(deep=True)


def test_moved_takes_paths_as_a_person_writes_them(index, home, tmp_path, monkeypatch):
    index.sync([home])
    (home / "notes").rename(home / "archive" / "notes")
    (tmp_path / "link").symlink_to(home)
    monkeypatch.chdir(home / "archive")
    old, new = tmp_path / "link" / "other" / ".." / "notes", home / "archive" / "notes"
    assert index.move(old, new).moved == (Moved(str(home / "notes"), str(new), 3),)
    (home / "notes").symlink_to(new)
    new.rename(home / "archive" / "papers")
    assert index.move(type(old)("../archive/notes"), home / "archive" / "papers").moved[0].files == 3


def test_moved_knows_a_path_above_which_a_link_was_put_later(index, home, tmp_path):
    index.sync([home])
    disk = tmp_path / "disk"
    home.rename(disk)
    home.symlink_to(disk)
    report = index.move(home / "notes", disk / "notes")
    assert report.moved == (Moved(str(home / "notes"), str(disk / "notes"), 3),)


def test_a_file_that_is_moved_to_a_folder_lies_in_it(index, home):
    index.sync([home])
    (home / "notes" / "a.txt").rename(home / "archive" / "a.txt")
    index.move(home / "notes" / "a.txt", home / "archive")
    assert str(home / "archive" / "a.txt") in {file.path for file in index.files()}
    assert not index.sync().new


def test_moved_refuses_what_is_still_there_and_what_is_of_another_kind(index, home):
    index.sync([home / "notes"])
    files = {file.path for file in index.files()}
    for old, new, why in (
        (home / "notes" / "a.txt", home / "notes" / "b.txt", "is still there"),
        (home / "notes", home / "archive", "is still there|lies in"),
        (home / "notes", home / "notes" / "a.txt", "is a folder of the index"),
        (home / "notes", home / "notes", "both the old and the new path"),
        (home / "notes" / "a.txt", home / "notes", "both the old and the new path"),
    ):
        with pytest.raises(UsageError, match=why):
            index.move(old, new)
    assert {file.path for file in index.files()} == files
    assert index.status().roots == (str(home / "notes"),)
