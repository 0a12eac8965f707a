"""A sync takes in what changed, forgets what is gone, keeps what it cannot see, and survives being killed."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from support import TESTS
from support.fakes_index import HashingEmbedder
from support.hostile import SENTENCE, make_good, make_hostile, make_pdf
from support.permissions import bound_by_permissions

from local_rag.core import cancel
from local_rag.core.documents import Moved
from local_rag.core.errors import DiskFull, IndexBusy, Stopped, UsageError
from local_rag.index.index import Index
from local_rag.index.store import connection
from local_rag.index.store.lock import write_lock
from local_rag.index.sync import embedding, read_files
from local_rag.index.sync import sync as syncing
from local_rag.index.sync.walk import LEADS_OUT


def open_at(tmp_path, embedder=None, **options):
    options = {"chunk_size": 40, "create": True} | options
    return Index.open(tmp_path / "index", embedder or HashingEmbedder(), **options)


@pytest.fixture
def index(tmp_path):
    with open_at(tmp_path) as made:
        yield made


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        (folder / name).write_text(f"The file {Path(name).stem} is about its own letter.", encoding="utf-8")
    return folder


def names(paths):
    return sorted(Path(path).name for path in paths)


def indexed(index):
    return names(file.path for file in index.files())


def counts(report):
    return len(report.new), len(report.updated), report.unchanged, len(report.removed)


def back_in_time(*paths):
    """As if the files had been changed a minute ago, so that their times prove something."""
    then = time.time() - 60
    for path in paths:
        os.utime(path, (then, then))


def long_indexed(index):
    """As if the files had been indexed an hour after their last change, so that their times prove something."""
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db, db:
        db.execute("UPDATE files SET indexed_at = indexed_at + 3600")


@pytest.fixture
def read(monkeypatch):
    """The names of the files that are read to be compared."""
    names, sha256 = [], read_files.sha256
    monkeypatch.setattr(read_files, "sha256", lambda path: names.append(path.name) or sha256(path))
    return names


class TestIncremental:
    def test_new_unchanged_updated_removed(self, index, notes):
        first = index.sync([notes])
        assert counts(first) == (3, 0, 0, 0) and first.chunks == 3 and first.seconds > 0
        assert counts(index.sync()) == (0, 0, 3, 0)
        (notes / "a.txt").write_text("Now it is about whales.", encoding="utf-8")
        (notes / "b.txt").unlink()
        (notes / "d.txt").write_text("A fourth file.", encoding="utf-8")
        report = index.sync([notes])
        assert counts(report) == (1, 1, 1, 1)
        assert (names(report.new), names(report.updated), names(report.removed)) == (["d.txt"], ["a.txt"], ["b.txt"])
        assert indexed(index) == ["a.txt", "c.txt", "d.txt"]
        assert "whales" in index.search("whales", 1)[0].page_content
        assert not [d for d in index.search("letter b", 9) if d.metadata["source"].endswith("b.txt")]

    def test_only_content_counts(self, index, notes):
        index.sync([notes])
        embedder = index.embedder
        before = embedder.embedded
        back_in_time(notes / "a.txt")
        (notes / "b.txt").write_bytes((notes / "b.txt").read_bytes())
        assert counts(index.sync()) == (0, 0, 3, 0) and embedder.embedded == before

    def test_files_whose_state_stays_are_not_read(self, index, notes, read):
        index.sync([notes])
        assert read == ["a.txt", "b.txt", "c.txt"]
        long_indexed(index)
        read.clear()
        assert counts(index.sync()) == (0, 0, 3, 0) and read == []

    def test_files_that_change_places_are_seen_whatever_their_size_and_date(self, index, notes):
        index.sync([notes])
        back_in_time(notes / "a.txt", notes / "b.txt")
        index.sync()
        long_indexed(index)
        (notes / "a.txt").rename(notes / "swap")
        (notes / "b.txt").rename(notes / "a.txt")
        (notes / "swap").rename(notes / "b.txt")
        assert counts(index.sync()) == (0, 2, 1, 0)
        of_b = next(passage for passage in index.passages() if passage.text.startswith("The file b"))
        assert Path(of_b.source).name == "a.txt"

    def test_a_change_of_the_same_size_that_sets_the_date_back_is_seen(self, index, notes):
        index.sync([notes])
        long_indexed(index)
        times = (notes / "a.txt").stat()
        (notes / "a.txt").write_text("The file a is about its own LETTER.", encoding="utf-8")
        os.utime(notes / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
        assert counts(index.sync()) == (0, 1, 2, 0)

    def test_a_file_of_an_older_index_is_read_once_more(self, index, notes, read):
        index.sync([notes])
        long_indexed(index)
        with closing(sqlite3.connect(index.path / "index.sqlite")) as db, db:
            db.execute("UPDATE files SET ctime_ns = 0, inode = 0 WHERE path LIKE '%a.txt'")
        read.clear()
        assert counts(index.sync()) == (0, 0, 3, 0) and read == ["a.txt"]
        long_indexed(index)
        assert counts(index.sync()) == (0, 0, 3, 0) and read == ["a.txt"]

    def test_a_change_within_the_same_tick_is_seen(self, index, notes):
        index.sync([notes])
        times = (notes / "a.txt").stat()
        (notes / "a.txt").write_text("The file a is about its own LETTER.", encoding="utf-8")
        os.utime(notes / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
        assert counts(index.sync()) == (0, 1, 2, 0)

    def test_a_moved_file_is_neither_removed_nor_new(self, index, notes):
        index.sync([notes])
        (notes / "a.txt").rename(notes / "sub" / "moved.txt")
        report = index.sync()
        assert (report.new, report.removed, report.unchanged) == ((), (), 3)
        assert report.moved == (Moved(str(notes / "a.txt"), str(notes / "sub" / "moved.txt"), 1),)

    def test_progress_ends_at_the_end(self, index, notes):
        seen = []
        index.sync([notes], progress=seen.append)
        phases = [[progress for progress in seen if progress.phase == phase] for phase in ("text", "vectors")]
        assert seen == [*phases[0], *phases[1]]
        assert (seen[0].done, seen[0].total, seen[0].chunks) == (0, 3, 0)
        for phase in phases:
            assert (phase[-1].done, phase[-1].total, phase[-1].chunks, phase[-1].share) == (3, 3, 3, 1.0)
            assert [progress.seconds for progress in phase] == sorted(progress.seconds for progress in phase)
        assert {Path(progress.path).name for progress in phases[0]} == {"a.txt", "b.txt", "c.txt"}

    def test_progress_is_counted_in_step_with_the_files(self, index, tmp_path, monkeypatch):
        """Empty files, so that nothing else takes time: each addition of a size is counted."""
        additions = 0

        class Counted(int):
            def __add__(self, other):
                nonlocal additions
                additions += 1
                return Counted(int(self) + other)

            __radd__ = __add__

        monkeypatch.setattr(syncing, "size_of", lambda path: Counted(1))
        for number in range(300):
            (tmp_path / f"{number}.txt").touch()
        seen = []
        index.sync([tmp_path], progress=seen.append)
        assert len(seen) > 300 and seen[-1].share == 1
        assert additions <= 5 * 300


class TestRoots:
    def test_a_sync_of_one_root_leaves_the_others_alone(self, index, notes, tmp_path):
        other = shutil.copytree(notes, tmp_path / "other")
        index.sync([notes, other])
        shutil.rmtree(notes / "sub")
        (other / "a.txt").unlink()
        assert counts(index.sync([other])) == (0, 0, 2, 1)
        assert counts(index.sync()) == (0, 0, 4, 1)
        assert index.status().roots == (str(notes), str(other))

    def test_a_root_inside_another_keeps_its_files(self, index, notes):
        index.sync([notes])
        index.sync([notes / "sub"])
        (notes / ".ragignore").write_text("sub\n", encoding="utf-8")
        assert index.sync([notes]).removed == ()
        assert indexed(index) == ["a.txt", "b.txt", "c.txt"]

    def test_options_are_remembered_with_the_root(self, index, notes):
        (notes / ".env").write_text("PASSWORD=tulip\n", encoding="utf-8")
        report = index.sync([notes], excludes=["sub/"])
        assert indexed(index) == ["a.txt", "b.txt"] and names(s.path for s in report.skipped) == [".env"]
        assert counts(index.sync()) == (0, 0, 2, 0)
        index.sync(excludes=["b.txt"])
        assert indexed(index) == ["a.txt"]
        index.sync([notes], secrets=True)
        assert indexed(index) == [".env", "a.txt"]
        assert counts(index.sync()) == (0, 0, 2, 0)

    def test_what_is_excluded_stays_out_until_it_is_taken_back(self, index, notes):
        index.sync([notes], excludes=["b.txt"])
        report = index.sync([notes], excludes=["sub/"])
        assert indexed(index) == ["a.txt"]
        assert report.excludes == {str(notes): ("b.txt", "sub/")}
        assert counts(index.sync([notes])) == (0, 0, 1, 0)
        with pytest.raises(UsageError, match=r"'c.txt' is not excluded from there; excluded is 'b.txt' and 'sub/'"):
            index.sync([notes], no_excludes=["b.txt", "c.txt"])
        assert counts(index.sync(no_excludes=["b.txt"])) == (1, 0, 1, 0)
        assert counts(index.sync([notes], clear_excludes=True)) == (1, 0, 2, 0)
        assert index.sync().excludes == {}

    def test_what_is_excluded_stays_out_of_a_folder_that_is_named_later(self, index, notes):
        index.sync([notes], excludes=["c.txt"])
        (notes / "sub" / "d.txt").write_text("The letter d.", encoding="utf-8")
        report = index.sync([notes / "sub"])
        assert indexed(index) == ["a.txt", "b.txt", "d.txt"]
        assert report.excludes == {str(notes): ("c.txt",)}
        with pytest.raises(UsageError, match=r"'c\.txt' is not excluded from there; excluded is nothing") as caught:
            index.sync([notes / "sub"], no_excludes=["c.txt"])
        assert caught.value.hint == "local-rag index --no-exclude c.txt"
        index.sync([notes / "sub" / "c.txt"])
        assert "c.txt" in indexed(index)

    @pytest.mark.parametrize("forget", ["remove", "prune"])
    def test_what_is_excluded_stays_out_of_a_folder_that_was_forgotten(self, index, notes, forget):
        index.sync([notes], excludes=["b.txt"])
        if forget == "remove":
            index.remove([notes])
        else:
            notes.rename(notes.with_name("away"))
            index.sync(prune=True)
            notes.with_name("away").rename(notes)
        assert index.status().roots == ()
        report = index.sync([notes])
        assert indexed(index) == ["a.txt", "c.txt"] and report.excludes == {str(notes): ("b.txt",)}
        index.sync(no_excludes=["b.txt"])
        index.remove([notes])
        index.sync([notes])
        assert indexed(index) == ["a.txt", "b.txt", "c.txt"]

    @pytest.mark.parametrize("pattern", ["", "# notes", "[a", "!"])
    def test_a_pattern_that_leaves_nothing_out_is_an_error(self, index, notes, pattern):
        with pytest.raises(UsageError, match="leaves nothing out"):
            index.sync([notes], excludes=[pattern])
        assert index.status().roots == ()

    def test_files_that_rules_leave_out_are_forgotten_and_named(self, index, notes):
        index.sync([notes])
        (notes / "sub" / ".gitignore").write_text("c.*\n", encoding="utf-8")
        report = index.sync(excludes=["a.txt"])
        assert names(report.removed) == ["a.txt", "c.txt"]
        assert [(Path(file.path).name, file.reason) for file in report.forgotten] == [
            ("a.txt", "--exclude a.txt"),
            ("c.txt", ".gitignore: c.*"),
        ]
        (notes / "b.txt").unlink()
        assert index.sync(excludes=["*"]).forgotten == () and indexed(index) == ["b.txt"]

    def test_a_removed_file_can_be_kept_out_whatever_its_name(self, index, notes):
        odd = notes / "sub" / "[a] *b\\ "
        try:
            odd.write_text("An odd name.", encoding="utf-8")
        except OSError:
            odd = notes / "sub" / "[a] b.txt"
            odd.write_text("An odd name.", encoding="utf-8")
        index.sync([notes, odd])
        assert len(index.remove([odd])) == 1
        patterns = index.keep_out([odd, notes / "sub" / "c.txt"])
        assert len(patterns) == 2 and patterns[1] == "/sub/c.txt"
        assert names(index.sync().removed) == ["c.txt"]
        assert indexed(index) == ["a.txt", "b.txt"]
        index.sync(no_excludes=patterns)
        assert indexed(index) == sorted(["a.txt", "b.txt", "c.txt"])
        assert index.keep_out([notes]) == []

    def test_a_root_can_be_a_file(self, index, notes):
        index.sync([notes / "a.txt"])
        assert indexed(index) == ["a.txt"] and index.status().roots == (str(notes / "a.txt"),)

    def test_nothing_to_sync(self, index, tmp_path):
        with pytest.raises(UsageError, match="nothing has been indexed yet"):
            index.sync()
        with pytest.raises(UsageError, match="there is no file or folder"):
            index.sync([tmp_path / "nowhere"])
        assert index.status().roots == ()

    def test_remove_forgets_files_and_roots(self, index, notes):
        index.sync([notes])
        assert names(index.remove([notes / "a.txt"])) == ["a.txt"]
        assert index.status().roots == (str(notes),)
        assert names(index.remove([notes])) == ["b.txt", "c.txt"]
        assert index.status().roots == () and index.files() == [] and index.search("letter", 4) == []
        with pytest.raises(UsageError, match="is not in the index"):
            index.remove([notes])

    def test_the_index_does_not_index_itself(self, tmp_path, notes):
        with Index.open(notes / "index", HashingEmbedder(), chunk_size=40, create=True) as inside:
            report = inside.sync([notes])
            assert counts(report) == (3, 0, 0, 0) and not report.skipped


class TestUnseen:
    def test_a_missing_root_is_kept_unless_pruned(self, index, notes):
        index.sync([notes])
        notes.rename(notes.with_name("elsewhere"))
        report = index.sync()
        assert report.removed == () and indexed(index) == ["a.txt", "b.txt", "c.txt"]
        (kept,) = report.kept
        assert kept.path == str(notes) and "not mounted; 3 indexed files of it kept" in kept.reason
        assert len(index.search("letter", 9)) == 3
        assert index.sync([notes]).kept == report.kept
        report = index.sync(prune=True)
        assert len(report.removed) == 3 and report.kept == () and index.status().roots == ()

    def test_a_root_that_is_suddenly_empty_is_kept_unless_pruned(self, index, notes):
        index.sync([notes])
        shutil.rmtree(notes)
        notes.mkdir()
        report = index.sync()
        assert report.removed == () and "suddenly contains no file to index; 3 indexed files" in report.kept[0].reason
        assert len(index.sync(prune=True).removed) == 3
        assert index.status().roots == (str(notes),)

    def test_a_link_that_leads_nowhere_now_keeps_what_it_led_to(self, index, notes, tmp_path):
        target = tmp_path / "disk" / "far.txt"
        target.parent.mkdir()
        target.write_text("A file on another disk.", encoding="utf-8")
        (notes / "link.txt").symlink_to(target)
        index.sync([notes], follow_links=True)
        assert "far.txt" in indexed(index)
        shutil.rmtree(target.parent)
        report = index.sync()
        assert "far.txt" in indexed(index) and report.kept[0].path == str(target)
        (notes / "link.txt").unlink()
        assert names(index.sync().removed) == ["far.txt"]

    def test_an_unreadable_folder_is_kept(self, index, notes):
        index.sync([notes])
        (notes / "sub").chmod(0)
        try:
            report = bound_by_permissions(index.sync)
        finally:
            (notes / "sub").chmod(0o700)
        assert report.removed == () and report.kept[0].path == str(notes / "sub")

    def test_an_unreadable_file_is_kept(self, index, notes):
        index.sync([notes])
        (notes / "a.txt").write_text("changed", encoding="utf-8")
        (notes / "a.txt").chmod(0)
        report = bound_by_permissions(index.sync)
        assert report.removed == () and report.kept[0].path == str(notes / "a.txt")


class TestMarkedFolders:
    def test_a_file_of_that_name_takes_nothing_away(self, index, notes):
        index.sync([notes])
        (notes / "sub" / "CACHEDIR.TAG").touch()
        assert counts(index.sync()) == (0, 0, 3, 0)

    def test_what_was_indexed_of_a_folder_that_became_a_cache_is_kept_and_named(self, index, notes):
        index.sync([notes])
        tag = "Signature: 8a477f597d28d172789f06886806bc55\n"
        (notes / "sub" / "CACHEDIR.TAG").write_text(tag, encoding="utf-8")
        for _ in range(2):
            report = index.sync()
            assert report.removed == () and report.skipped == () and "c.txt" in indexed(index)
            (kept,) = report.kept
            assert kept.path == str(notes / "sub")
            assert kept.reason == "looks like a cache (CACHEDIR.TAG); 1 indexed file of it kept"
        report = index.sync(prune=True)
        assert names(report.removed) == ["c.txt"]
        assert [file.reason for file in report.forgotten] == ["looks like a cache (CACHEDIR.TAG)"]
        assert index.sync().kept == ()

    def test_an_unusable_ignore_file_keeps_what_was_indexed_and_takes_nothing_in(self, index, notes):
        index.sync([notes])
        (notes / ".ragignore").mkdir()
        (notes / "d.txt").write_text("The letter d.", encoding="utf-8")
        report = index.sync()
        assert indexed(index) == ["a.txt", "b.txt", "c.txt"] and report.removed == ()
        (kept,) = report.kept
        why = ".ragignore in it cannot be used (is not a regular file): mend or delete that file"
        assert kept.path == str(notes) and kept.reason == f"{why}; 3 indexed files of it kept"


class TestLinks:
    @pytest.fixture
    def linked(self, notes, tmp_path):
        (tmp_path / "far").mkdir()
        (tmp_path / "far" / "far.txt").write_text("A file elsewhere.", encoding="utf-8")
        try:
            (notes / "link").symlink_to(tmp_path / "far", target_is_directory=True)
        except OSError:
            pytest.skip("this system lets nobody make symbolic links")
        return notes

    def test_a_link_out_of_the_folder_is_named_and_followed_when_asked(self, index, linked):
        report = index.sync([linked])
        assert indexed(index) == ["a.txt", "b.txt", "c.txt"]
        assert [(file.path, file.reason) for file in report.skipped] == [(str(linked / "link"), LEADS_OUT)]
        index.sync([linked], follow_links=True)
        assert "far.txt" in indexed(index)
        assert counts(index.sync()) == counts(index.sync([linked])) == (0, 0, 4, 0)

    @pytest.mark.parametrize("asked", [None, False])
    def test_what_was_indexed_through_it_is_kept_once_more(self, index, linked, asked):
        index.sync([linked], follow_links=True)
        if asked is None:  # as an earlier version left it
            with closing(sqlite3.connect(index.path / "index.sqlite")) as db, db:
                db.execute("UPDATE roots SET follow_links = 0")
        report = index.sync([linked], follow_links=asked)
        assert "far.txt" in indexed(index) and report.removed == ()
        (kept,) = report.kept
        assert kept.path == str(linked) and "--follow-links" in kept.reason and "1 indexed file" in kept.reason
        report = index.sync()
        assert names(report.removed) == ["far.txt"] and report.kept == ()
        assert [(Path(file.path).name, file.reason) for file in report.forgotten] == [("far.txt", LEADS_OUT)]

    def test_it_is_kept_for_good_with_the_flag(self, index, linked):
        index.sync([linked], follow_links=True)
        index.sync(follow_links=False)
        assert counts(index.sync(follow_links=True)) == (0, 0, 4, 0)
        assert counts(index.sync()) == (0, 0, 4, 0)

    def test_it_goes_with_its_link(self, index, linked):
        index.sync([linked], follow_links=True)
        (linked / "link").unlink()
        assert names(index.sync(follow_links=False).removed) == ["far.txt"]


class TestWhatIsNew:
    def test_a_warning_is_new_once(self, index, notes):
        (notes / ".env").touch()
        (notes / "empty.txt").touch()
        assert [file.new for file in index.sync([notes]).skipped] == [True, True]
        assert [file.new for file in index.sync().skipped] == [False, False]
        (notes / "empty.txt").write_bytes(b"\x00\x01\x02" * 9)
        fresh = [Path(file.path).name for file in index.sync().skipped if file.new]
        assert fresh == ["empty.txt"]

    def test_a_sync_of_one_root_remembers_what_was_said_of_others(self, index, notes, tmp_path):
        other = tmp_path / "other"
        for folder in (notes, other):
            folder.mkdir(exist_ok=True)
            (folder / ".env").touch()
        index.sync([notes, other])
        index.sync([other])
        assert [file.new for file in index.sync().skipped] == [False, False]

    def test_what_was_mended_and_breaks_again_is_new_again(self, index, notes):
        (notes / "empty.txt").touch()
        index.sync([notes])
        (notes / "empty.txt").write_text("Not empty.", encoding="utf-8")
        assert index.sync().skipped == ()
        (notes / "empty.txt").write_text("", encoding="utf-8")
        assert [file.new for file in index.sync().skipped] == [True]


class TestBadFiles:
    @pytest.mark.slow
    def test_a_hostile_corpus(self, tmp_path):
        bad, good = make_hostile(tmp_path / "bad"), make_good(tmp_path / "good", huge=50_000)
        with open_at(tmp_path) as index:
            report = index.sync([tmp_path / "bad", tmp_path / "good"])
            assert set(report.new) == set(map(str, good)) and report.kept == ()
            reasons = {Path(skipped.path).name: skipped.reason for skipped in report.skipped}
            for name, fragment in bad.items():
                assert fragment in reasons.pop(name)
            assert reasons == {}
            saying = [d for file in good for d in index.search(SENTENCE, 50, within=[str(file)])]
            assert {d.metadata["source"] for d in saying if "Skerryvore" in d.page_content} == set(map(str, good))
            again = index.sync()
            assert counts(again) == (0, 0, len(good), 0) and set(again.skipped) == set(report.skipped)

    def test_pages_that_could_not_be_read_are_told_every_time(self, index, notes):
        make_pdf(notes / "half.pdf", [SENTENCE, ""], drawn=True)
        report = index.sync([notes])
        assert names(report.new) == ["a.txt", "b.txt", "c.txt", "half.pdf"]
        assert [Path(skipped.path).name for skipped in report.skipped] == ["half.pdf"] and "page 2" in report.skipped[
            0
        ].reason
        assert index.sync().skipped == report.skipped
        assert index.search(SENTENCE, 1)[0].metadata["page"] == 1

    def test_a_file_that_breaks_does_not_answer_with_its_old_text(self, index, notes):
        index.sync([notes])
        (notes / "a.txt").write_bytes(bytes(range(256)) * 8)
        report = index.sync()
        assert names(report.removed) == ["a.txt"] and report.skipped[0].reason == "is binary, not text"
        assert indexed(index) == ["b.txt", "c.txt"]

    @pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are text there")
    def test_a_name_that_is_no_text(self, index, notes):
        Path(os.fsdecode(os.fsencode(notes) + b"/\xff.txt")).write_text("whatever", encoding="utf-8")
        report = index.sync([notes])
        assert len(report.new) == 3 and report.skipped[0].path.endswith("\ufffd.txt")
        assert "not Unicode" in report.skipped[0].reason


class TestLimits:
    def test_a_file_that_is_too_large_is_not_even_read(self, index, notes, read):
        for name, size in (("dump [1].log", 200_000_000_000), ("book.pdf", 500_000_001)):
            with (notes / name).open("wb") as file:
                file.truncate(size)  # takes no room on the disk
        for _ in range(2):
            report = index.sync([notes])
            assert {Path(skipped.path).name: skipped.reason for skipped in report.skipped} == {
                "book.pdf": "is 500.0 MB large, up to 500.0 MB are read: "
                "split it, or leave it out with --exclude book.pdf",
                "dump [1].log": "is 200.0 GB large, up to 500.0 MB are read: "
                "split it, or leave it out with --exclude 'dump \\[1\\].log'",
            }
        assert not {"dump [1].log", "book.pdf"} & set(read)
        assert index.sync([notes], excludes=["dump \\[1\\].log", "book.pdf"]).skipped == ()

    def test_a_stop_is_heard_while_a_file_is_hashed(self, notes):
        with (notes / "large.log").open("wb") as file:
            file.truncate(400_000_000)

        class Third(cancel.Cancel):
            looks = 0

            def check(self):
                self.looks += 1
                if self.looks == 3:
                    self.stop()
                super().check()

        with cancel.scope(Third()), pytest.raises(Stopped):
            read_files.sha256(notes / "large.log")


# --- being stopped, killed, out of space, and not alone -------------------------------------------------------

SLOW_SYNC = """
import sys
from pathlib import Path
from support.fakes_index import HashingEmbedder
from local_rag.index.index import Index
from local_rag.index.store import connection
from local_rag.index.sync import embedding

def wait():
    print("batch", flush=True)
    sys.stdin.readline()

connection.BUSY_SECONDS = 120.0
embedding.MOST = embedding.LEAST = embedding.FIRST
embedder = HashingEmbedder(before_batch=wait)
index = Index.open(Path(sys.argv[1]), embedder, chunk_size=40, create=True)
print("opened", flush=True)
report = index.sync([Path(sys.argv[2])])
print(len(report.new), report.unchanged, flush=True)
"""


def slow_sync(tmp_path):
    """A process that shows "batch" before each of seven batches of vectors, and goes on when it reads a line."""
    return subprocess.Popen(
        [sys.executable, "-c", SLOW_SYNC, str(tmp_path / "index"), str(tmp_path / "many")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])},
    )


def wait_for(process, line, times=1):
    for _ in range(times):
        while (documents := process.stdout.readline()) != f"{line}\n":
            assert documents, "the process ended early"


def go_on(process, times=1):
    process.stdin.write("\n" * times)
    process.stdin.flush()


@pytest.fixture
def many(tmp_path):
    """12 files of 33 passages each: 7 batches."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(12):
        file = folder / f"file{number:02}.txt"
        file.write_text(paragraphs(file), encoding="utf-8")
    return folder


def paragraphs(file):
    return "\n\n".join(f"Paragraph {part} of {file.stem} is here. " * 4 for part in range(33))


def whole(index):
    """Every file that is in the index is there with all of its passages."""
    index.verify()
    assert {file.chunks for file in index.files()} <= {33}
    for document in index.search("Paragraph file", 40):
        text = paragraphs(Path(document.metadata["source"]))
        assert text[document.metadata["start"] : document.metadata["end"]] == document.page_content
    return len(index.files())


def test_kill_9_in_the_middle(tmp_path, many):
    process = slow_sync(tmp_path)
    go_on(process, times=3)
    wait_for(process, "batch", times=4)
    process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
    process.communicate()
    with open_at(tmp_path, create=False) as index:
        assert whole(index) == 12
        assert index.embedded_count() == (3 * 64, 12 * 33), "what was committed is there"
        report = index.sync()
        assert counts(report) == (0, 0, 12, 0) and report.embedded == 12 * 33 - 3 * 64
        assert index.embedded_count() == (12 * 33, 12 * 33)


@pytest.mark.slow
def test_two_processes_at_once_one_waits(tmp_path, many):
    first = slow_sync(tmp_path)
    wait_for(first, "batch")
    second = slow_sync(tmp_path)
    wait_for(second, "opened")
    results = [process.communicate("\n" * 9, timeout=600)[0].split("\n")[-2] for process in (first, second)]
    assert results == ["12 0", "0 12"]
    with open_at(tmp_path, create=False) as index:
        assert whole(index) == 12


def test_a_second_sync_does_not_wait_for_ever(index, notes, monkeypatch):
    index.sync([notes])
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    failed = []

    def sync():
        try:
            index.sync()
        except IndexBusy as error:
            failed.append(error)

    with write_lock(index.path):
        thread = threading.Thread(target=sync)
        thread.start()
        thread.join()
        assert len(index.search("letter", 9)) == 3
    assert len(failed) == 1 and "wait until it is done" in failed[0].hint
    assert counts(index.sync()) == (0, 0, 3, 0)


@pytest.mark.slow
def test_readers_in_this_and_another_process_during_a_sync(tmp_path, many):
    process = slow_sync(tmp_path)
    wait_for(process, "opened")
    sizes = []
    with open_at(tmp_path, create=False) as reader:
        for _ in range(6):
            wait_for(process, "batch")
            assert whole(reader) == 12, "all texts are there from the first batch on"
            sizes.append(reader.embedded_count()[0])
            documents = reader.search("Paragraph file", 40)
            assert len({document.page_content for document in documents}) == len(documents)
            go_on(process)
        process.communicate("\n" * 9, timeout=600)
        assert whole(reader) == 12
    assert sizes == [64 * batch for batch in range(6)]


def test_threads_search_while_one_syncs(tmp_path, many):
    embedder = HashingEmbedder()
    with open_at(tmp_path, embedder) as index:
        failures, stop = [], threading.Event()

        def search():
            while not stop.is_set():
                try:
                    whole(index)
                    index.catalog()
                except Exception as error:
                    failures.append(error)
                    return

        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        report = index.sync([many])
        for number in range(0, 12, 3):
            (many / f"file{number:02}.txt").unlink()
        removed = index.sync().removed
        stop.set()
        for thread in threads:
            thread.join()
        assert (failures, len(report.new), len(removed)) == ([], 12, 4)
        assert whole(index) == 8


@pytest.mark.parametrize("stopped_by", ["text", "vectors"])
def test_a_stop_keeps_what_is_done_and_the_next_run_goes_on(tmp_path, many, monkeypatch, stopped_by):
    monkeypatch.setattr(syncing, "_BATCH", 33)
    monkeypatch.setattr(embedding, "MOST", embedding.FIRST)
    stop = cancel.Cancel()

    def stop_in_the_middle(progress):
        if progress.phase == stopped_by and progress.chunks > 100:
            stop.stop()

    with open_at(tmp_path) as index:
        with cancel.scope(stop), pytest.raises(Stopped):
            index.sync([many], progress=stop_in_the_middle)
        done, (with_vector, chunks) = whole(index), index.embedded_count()
        assert (0 < done < 12 and with_vector == 0) if stopped_by == "text" else (done, with_vector) == (12, 128)
        report = index.sync()
        assert counts(report) == (12 - done, 0, done, 0) and report.embedded == 12 * 33 - with_vector
        assert chunks == done * 33 and index.embedded_count() == (12 * 33, 12 * 33)


def test_a_full_disk_keeps_what_is_done_and_the_next_run_goes_on(tmp_path, many, monkeypatch):
    monkeypatch.setattr(syncing, "_BATCH", 33)
    usual = connection.Connection

    def small(folder):
        opened = usual(folder)
        pages = opened.db.execute("PRAGMA page_count").fetchone()[0]
        opened.db.execute(f"PRAGMA max_page_count = {pages + 20}")
        return opened

    with open_at(tmp_path) as index, monkeypatch.context() as patched:
        patched.setattr(connection, "Connection", small)  # the thread that writes opens a connection of its own
        with pytest.raises(DiskFull, match="no space left"):
            index.sync([many])
    with open_at(tmp_path, create=False) as index:
        done = whole(index)
        assert 0 < done < 12
        assert counts(index.sync()) == (12 - done, 0, done, 0)
        assert whole(index) == 12
