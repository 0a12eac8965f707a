"""Test what is indexed, what is left out, and what is kept out permanently, as a person sees it."""

import io
import os
import sys
from pathlib import Path

import pytest
from support.garden import enter
from support.marks import posix

pytestmark = pytest.mark.usefixtures("converted")


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """Return a folder of notes below the current folder."""
    enter(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes" / "old").mkdir(parents=True)
    (tmp_path / "notes" / "plan.md").write_text("# The plan\n\nThe greenhouse costs 1,200 euros.\n")
    (tmp_path / "notes" / "diary.txt").write_text("Today nothing happened at all.\n")
    (tmp_path / "notes" / "old" / "a.txt").write_text("An old letter about tulips.\n")
    return tmp_path / "notes"


def listed(said):
    """Return the indexed paths below the notes."""
    return [Path(row["path"]).relative_to(Path.cwd() / "notes").as_posix() for row in said.json("files")]


def behind(report, title):
    """Return the lines of a report after a title."""
    lines = report.splitlines()
    return lines[lines.index(title) + 1 :]


def test_files_are_listed_with_what_is_known_of_them_and_what_they_say_of_themselves(notes, said):
    letter = "---\ntitle: A letter\nauthor: Ada Keeper\ndate: 2023-03-31\n---\nTulips.\n"
    (notes / "letter.md").write_text(letter)
    os.utime(notes / "plan.md", (1_700_000_000, 1_700_000_000))
    said("index notes")
    head, *lines = said("files").splitlines()
    assert head.split() == ["size", "changed", "passages", "file"]
    assert [line.split()[4] for line in lines] == [f"notes/{name}" for name in listed(said)]
    assert lines[1].endswith("A letter, Ada Keeper, 2023-03-31")
    assert lines[3].split() == ["46", "B", "2023-11-14", "1", "notes/plan.md", "The", "plan"]
    plan, found = said.json("files '*plan.md'")[0], said.json("search Tulips --in '**/letter.md'")[0]
    assert (plan["title"], plan["size"], plan["chunks"], plan["warnings"]) == ("The plan", 46, 1, [])
    assert plan["modified"] == 1_700_000_000
    for row in (found, said.json("files **/letter.md")[0]):
        assert (row["title"], row["author"], row["date"]) == ("A letter", "Ada Keeper", "2023-03-31")
    assert len(said.json("files notes/old **/diary.*")) == 2
    error, hint = said.error("files '*.pdf'")
    assert "no indexed file matches '*.pdf'" in error and hint.startswith("hint: local-rag files")


@pytest.mark.slow
def test_what_is_excluded_is_shown_and_stays_out(notes, said):
    line = "Left out of notes by --exclude: diary.txt and old/ (--no-exclude PATTERN takes one back)"
    for command in ("index notes --exclude diary.txt --exclude old/", "index notes"):
        assert line in said(command).splitlines()
    assert listed(said) == ["plan.md"] and "notes (without diary.txt and old/)" in said("status")
    assert said.json("status")["root_options"][0]["excludes"] == ["diary.txt", "old/"]
    assert "'old' is not excluded; excluded is 'diary.txt' and 'old/'" in said("index --no-exclude old", 2)
    said("index --no-exclude old/")
    assert listed(said) == ["old/a.txt", "plan.md"]
    said("index --no-exclude diary.txt")
    assert len(listed(said)) == 3


def test_the_report_names_what_went_and_why(notes, said):
    for number in range(12):
        (notes / "old" / f"{number}.log.txt").write_text(f"Line {number}.")
    said("index notes")
    (notes / ".gitignore").write_text("*.log.txt\n")
    (notes / "old" / "a.txt").unlink()
    assert behind(said.out("index --exclude diary.txt"), "Removed from the index:") == [
        "  notes/old/a.txt: not there any more",
        "  notes/diary.txt: --exclude diary.txt",
        "  .gitignore: *.log.txt (12 files)",
        "    12 files in notes/old",
    ]


def test_warnings_are_told_once_and_counted_from_then_on(notes, said):
    for name in (".env", "id_rsa", "empty.txt"):
        (notes / name).touch()
    (notes / "talk.mp4").write_bytes(b"x")
    report, title = said.out("index notes"), "Skipped, wholly or in part:"
    assert "Not indexed, because local-rag does not read these kinds of files: 1 .mp4" in report
    assert behind(report, title) == [
        "  may hold secrets; index it with --include-secrets (2 files)",
        "    notes/.env",
        "    notes/id_rsa",
        "  notes/empty.txt: is empty",
    ]
    (notes / "none.md").touch()
    assert behind(said.out("index"), title) == [
        "  notes/none.md: is empty",
        "3 files skipped as before: the same command with --all-warnings says why",
    ]
    assert "    notes/id_rsa" in said("index --all-warnings").splitlines()
    assert [file["new"] for file in said.json("index")["skipped"]] == [False] * 4


def test_a_removed_file_is_kept_out_with_the_flag(notes, said):
    said("index notes")
    error, hint = said.error("remove notes/diary.txt nothing.txt")
    assert "nothing.txt is not in the index" in error and hint == "hint: local-rag files"
    assert len(listed(said)) == 3, "nothing is removed where one name is wrong"
    assert "the same command with --keep-out leaves it out" in said("remove notes/diary.txt")
    said("remove notes/diary.txt --keep-out")
    assert "local-rag index --no-exclude /old" in said("remove notes/old --keep-out")
    said("index notes")
    assert listed(said) == ["plan.md"]
    said("index --no-exclude /old")
    assert listed(said) == ["old/a.txt", "plan.md"]
    said("remove notes/old/a.txt --no-keep-out")
    said("index")
    assert listed(said) == ["old/a.txt", "plan.md"]
    assert "so it stays out until you name it again" in said("remove notes --keep-out")
    assert "/ is the whole disk: name the folders" in said(f"index {Path('/').resolve()}", 2)


@posix  # few may make symbolic links there
def test_what_came_through_a_link_is_kept_out_by_its_flag(notes, said, tmp_path):
    (tmp_path / "far.txt").write_text("A letter from far away.")
    (notes / "link.txt").symlink_to(tmp_path / "far.txt")
    said("index notes --follow-links")
    assert "notes (following links out of it)" in said("status")
    assert "local-rag index --no-follow-links" in said("remove far.txt")
    assert "notes/link.txt: is a link out of the indexed folder" in said("index --no-follow-links")
    assert len(listed(said)) == 3


@pytest.mark.parametrize(("reply", "left"), [("y", 2), ("n", 3)])
def test_a_person_is_asked_whether_a_removed_file_stays_out(notes, said, monkeypatch, reply, left):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    said("index notes")
    monkeypatch.setattr(sys, "stdin", Terminal(f"{reply}\n"))
    assert "Keep it out of the index from now on?" in said("remove notes/diary.txt")
    said("index")
    assert len(listed(said)) == left


def test_text_alone_and_vectors_alone(notes, said):
    assert "3 passages of text, 3 without a vector yet (local-rag index)" in said("index notes --no-embed")
    (notes / "new.txt").write_text("A new note about whales.")
    report = said.json("index --embed-only")
    assert (report["new"], report["embedded"], report["not_embedded"]) == ([], 3, 0)
    assert {(file["chunks"], file["embedded"]) for file in said.json("files")} == {(1, 1)}


@pytest.mark.parametrize("other", ["--embed-only", "--reembed"])
def test_text_without_vectors_and_vectors_exclude_each_other(notes, said, other):
    assert said.error(f"index --no-embed {other}")[1].startswith("hint: local-rag index --")


@pytest.mark.parametrize("other", ["--reembed", "--prune", ".", "https://example.org", "--exclude *.log"])
def test_vectors_alone_read_no_file(notes, said, other):
    error, hint = said.error(f"index --embed-only {other}")
    assert error.startswith("error: --") and hint.startswith("hint: local-rag index --")
