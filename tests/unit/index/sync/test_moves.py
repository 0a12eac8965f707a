"""What has moved, judged by contents; and what is excluded at a new place because it was at the old one."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from local_rag.core import cancel
from local_rag.core.documents import Moved
from local_rag.core.errors import Stopped
from local_rag.index.store.schema import Root
from local_rag.index.sync.moves import moves, named, paired
from local_rag.index.sync.read_files import fingerprinted
from local_rag.index.sync.roots import carried, rebased
from local_rag.index.sync.walk import walk


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    for number in range(10):
        file = folder / f"sub{number % 2}" / f"n{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"This is note {number}.")
    return folder


def known_of(*roots):
    """The rows of all files below these roots."""
    rows = [fingerprinted(path, root) for path, root in walk([Root(str(root)) for root in roots]).files.items()]
    return {row.path: row for row in rows}


def ways(found, *roots):
    return [(way.old, way.new, way.files) for way in named(found.files, {str(root) for root in roots})]


def test_a_folder_that_is_renamed_below_its_root(notes):
    known = known_of(notes)
    (notes / "sub0").rename(notes / "even")
    found = moves(walk([Root(str(notes))]), known)
    assert ways(found, notes) == [(str(notes / "sub0"), str(notes / "even"), 5)] and not found.roots
    row = found.files[str(notes / "sub0" / "n4.txt")]
    assert row.path == str(notes / "even" / "n4.txt") and row.inode == known[str(notes / "sub0" / "n4.txt")].inode


def test_a_copy_is_no_move_and_what_is_gone_altogether_neither(notes):
    known = known_of(notes)
    shutil.copytree(notes / "sub0", notes / "copy")
    assert not moves(walk([Root(str(notes))]), known).files
    shutil.rmtree(notes / "copy")
    (notes / "sub0" / "n4.txt").unlink()
    (notes / "new.txt").write_text("This is note X.")  # as long as the one that is gone
    assert not moves(walk([Root(str(notes))]), known).files


def test_a_root_that_is_elsewhere_as_a_whole(notes, tmp_path):
    known = known_of(notes)
    new = tmp_path / "archive" / "papers"
    new.parent.mkdir()
    notes.rename(new)
    (new / "sub1" / "n9.txt").write_text("Edited on the way.")
    found = moves(walk([Root(str(new.parent))]), known)
    assert found.roots == {str(notes): str(new)}
    assert ways(found, notes, new.parent) == [(str(notes), str(new), 9)]


@pytest.mark.parametrize("gone", ["unmounted", "empty mount point"])
def test_a_disk_that_is_not_mounted_has_not_moved_unless_nearly_all_of_it_is_elsewhere(notes, tmp_path, gone):
    known = known_of(notes)
    part = tmp_path / "part"
    shutil.copytree(notes / "sub0", part / "sub0")
    shutil.rmtree(notes)
    if gone == "empty mount point":
        notes.mkdir()
    found = moves(walk([Root(str(part))]), known)
    assert not found.files and not found.roots, "half of its files were copied, the others are still on the disk"


def test_files_of_a_root_that_is_not_looked_at_are_not_taken_from_it(notes, tmp_path):
    """The root is there and one file of it is gone, which now lies below the root that is looked at."""
    known = known_of(notes)
    other = tmp_path / "other"
    other.mkdir()
    (notes / "sub0" / "n4.txt").rename(other / "four.txt")
    found = moves(walk([Root(str(other))]), known)
    assert ways(found, notes, other) == [(str(notes / "sub0" / "n4.txt"), str(other / "four.txt"), 1)]


def test_of_equal_files_that_with_the_more_similar_path_is_meant(notes, tmp_path):
    for folder in ("sub0", "sub1"):
        (notes / folder / "same.txt").write_text("The same text.")
    known = known_of(notes)
    new = tmp_path / "new"
    notes.rename(new)
    found = moves(walk([Root(str(new))]), known)
    assert {old[len(str(notes)) :]: row.path[len(str(new)) :] for old, row in found.files.items()} == {
        path[len(str(notes)) :]: path[len(str(notes)) :] for path in known
    }


def test_of_equal_files_every_one_has_moved_and_those_with_other_names_go_in_their_order(notes, tmp_path):
    for number in range(300):
        (notes / f"same{number:03}.txt").write_text("The same text.")
    known = known_of(notes)
    new = tmp_path / "new"
    notes.rename(new)
    (new / "same007.txt").rename(new / "other.txt")
    files = moves(walk([Root(str(new))]), known).files
    assert len(files) == 310 and len({row.path for row in files.values()}) == 310
    assert files[str(notes / "same200.txt")].path == str(new / "same200.txt")
    assert files[str(notes / "same007.txt")].path == str(new / "other.txt")


def test_equal_files_are_matched_until_somebody_stops(notes, tmp_path):
    known = known_of(notes)
    gone, rows = (
        [known[path] for path in sorted(known)],
        [replace(row, path=f"/new{row.path}") for row in known.values()],
    )
    scope = cancel.Cancel()
    scope.stop()
    with cancel.scope(scope), pytest.raises(Stopped):
        list(paired(gone, {row.sha256: [row] for row in rows}))


def test_the_folder_that_went_is_the_highest_that_is_gone_below_its_root(notes, tmp_path):
    """What both paths end with does not say how much of it went along."""
    archive = notes / "archive"
    archive.mkdir()
    known = known_of(notes)
    (notes / "sub0").rename(archive / "sub0")
    found = moves(walk([Root(str(notes))]), known)
    assert ways(found, notes) == [(str(notes / "sub0"), str(archive / "sub0"), 5)]


def test_files_that_went_without_their_folder_are_counted_and_nothing_above_a_root_is_named(notes, tmp_path):
    known = known_of(notes)
    (notes / "even").mkdir()
    for name in ("n2", "n4"):
        (notes / "sub0" / f"{name}.txt").rename(notes / "even" / f"{name}.txt")
    found = moves(walk([Root(str(notes))]), known)
    assert ways(found, notes) == [(str(notes / "sub0"), str(notes / "even"), 2)]
    (tmp_path / "a").mkdir()
    notes.rename(tmp_path / "a" / "notes")
    (tmp_path / "a").rename(tmp_path / "b")
    root = tmp_path / "b" / "notes"
    before = {path.replace(str(notes), str(tmp_path / "a" / "notes")): row for path, row in known.items()}
    before = {path: replace(row, path=path, root=str(tmp_path / "a" / "notes")) for path, row in before.items()}
    found = moves(walk([Root(str(root))]), before)
    assert (str(tmp_path / "a" / "notes"), str(root), 8) in ways(found, tmp_path / "a" / "notes", root)


def test_a_file_that_may_not_be_looked_at_is_not_gone(notes, monkeypatch):
    known = known_of(notes)
    moved = replace(known[str(notes / "sub0" / "n4.txt")], path="\0no path", root=str(notes))
    known = {row.path: row for row in known.values() if row.path != str(notes / "sub0" / "n4.txt")} | {
        moved.path: moved
    }
    monkeypatch.setattr("os.lstat", lambda path: (_ for _ in ()).throw(PermissionError(13, "no", path)))
    assert not moves(walk([Root(str(notes))]), known).files


def test_what_was_excluded_stays_excluded_at_the_new_place():
    known = [Root("/a", ("*.bak", "/notes/private", "/other", "!/notes/keep.bak")), Root("/a/notes/deep", ("x",))]
    below = carried("/a/notes", "/a/papers", known)
    assert {root.path: root.excludes for root in below} == {
        "/a/papers/deep": ("x",),
        "/a": (*known[0].excludes, "/papers/private", "!/papers/keep.bak"),
    }
    out = carried("/a/notes", "/b/papers", known)
    assert {root.path: root.excludes for root in out} == {
        "/b/papers/deep": ("x",),
        "/b/papers": ("*.bak", "/private", "!/keep.bak"),
    }


def test_a_root_that_moves_takes_its_options_along_or_leaves_what_it_excludes_to_the_root_above():
    known = [Root("/a", ("*.bak", "/private"), secrets=True, follow_links=True), Root("/b", ("x",))]
    (alone,) = carried("/a", "/c", known)
    assert alone == replace(known[0], path="/c")
    (above,) = carried("/a", "/b/new/a", known)
    assert above == Root("/b", ("x", "/new/a/**/*.bak", "/new/a/private"))
    (there,) = carried("/a", "/b", known)
    assert there == Root("/b", ("x", "*.bak", "/private"))


@pytest.mark.parametrize(
    ("pattern", "there"),
    [
        ("*.bak", "/in/**/*.bak"),
        ("build/", "/in/**/build/"),
        ("/top", "/in/top"),
        ("a/b", "/in/a/b"),
        ("!keep", "!/in/**/keep"),
    ],
)
def test_a_pattern_for_the_folder_above(pattern, there):
    assert rebased(pattern, "in") == there


def test_moves_are_named_as_folders_where_several_files_went_the_same_way():
    def row(path):
        return replace(fingerprinted(__file__, "/"), path=path)

    files = {
        "/a/x/1.txt": row("/b/x/1.txt"),
        "/a/2.txt": row("/b/2.txt"),
        "/a/3.txt": row("/c/three.txt"),
    }
    assert named(files, {"/a", "/b"}) == (Moved("/a", "/b", 2), Moved("/a/3.txt", "/c/three.txt", 1))
