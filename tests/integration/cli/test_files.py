"""What is indexed, what is left out of it, and what is kept out for good, as a person sees it."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest
from support.garden import enter

from local_rag.cli.app import run

pytestmark = pytest.mark.usefixtures("converted")


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """A folder of notes, above which this process stands."""
    enter(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes" / "old").mkdir(parents=True)
    (tmp_path / "notes" / "plan.md").write_text("# The plan\n\nThe greenhouse costs 1,200 euros.\n", encoding="utf-8")
    (tmp_path / "notes" / "diary.txt").write_text("Today nothing happened at all.\n", encoding="utf-8")
    (tmp_path / "notes" / "old" / "a.txt").write_text("An old letter about tulips.\n", encoding="utf-8")
    return tmp_path / "notes"


def listed():
    """The indexed paths, relative to where this process stands."""
    return [Path(row["path"]).relative_to(Path.cwd()).as_posix() for row in json_of(["files"])]


def json_of(command):
    out, stdout = io.StringIO(), sys.stdout
    sys.stdout = out
    try:
        assert run([*command, "--json"]) == 0
    finally:
        sys.stdout = stdout
    return json.loads(out.getvalue())


def test_files_are_listed_with_what_they_say_of_themselves(notes, capsys):
    letter = "---\ntitle: A letter\nauthor: Ada Keeper\ndate: 2023-03-31\n---\nTulips.\n"
    (notes / "letter.md").write_text(letter, encoding="utf-8")
    assert run(["index", "notes"]) == 0
    (row,) = json_of(["files", "**/letter.md"])
    assert (row["title"], row["author"], row["date"]) == ("A letter", "Ada Keeper", "2023-03-31")
    capsys.readouterr()
    assert run(["files", "**/letter.md"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("A letter, Ada Keeper, 2023-03-31")
    found = json_of(["search", "Tulips", "--in", "**/letter.md"])[0]
    assert (found["title"], found["author"], found["date"]) == ("A letter", "Ada Keeper", "2023-03-31")


def test_files_are_listed_with_what_is_known_of_them(notes, capsys):
    assert run(["index", "notes"]) == 0
    os.utime(notes / "plan.md", (1_700_000_000, 1_700_000_000))
    assert run(["index"]) == 0
    capsys.readouterr()
    assert run(["files"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["size", "changed", "passages", "file"]
    assert [line.split()[4] for line in lines] == ["notes/diary.txt", "notes/old/a.txt", "notes/plan.md"]
    assert lines[2].split() == ["46", "B", "2023-11-14", "1", "notes/plan.md", "The", "plan"]
    (row,) = json_of(["files", "*.md"])
    assert (row["title"], row["size"], row["chunks"], row["warnings"]) == ("The plan", 46, 1, [])
    assert row["modified"] == 1_700_000_000
    assert len(json_of(["files", "notes/old", "**/diary.*"])) == 2
    assert run(["files", "*.pdf"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert "no indexed file matches '*.pdf'" in error and hint.startswith("hint: local-rag files")


def test_what_is_excluded_is_shown_and_stays_out(notes, capsys):
    assert run(["index", "notes", "--exclude", "diary.txt", "--exclude", "old/"]) == 0
    line = "Left out of notes by --exclude: diary.txt and old/ (--no-exclude PATTERN takes one back)"
    assert line in capsys.readouterr().out.splitlines()
    assert run(["index", "notes"]) == 0
    assert line in capsys.readouterr().out.splitlines()
    assert listed() == ["notes/plan.md"]
    assert run(["status"]) == 0
    assert "notes (without diary.txt and old/)" in capsys.readouterr().out
    (root,) = json_of(["status"])["root_options"]
    assert root["excludes"] == ["diary.txt", "old/"]
    assert run(["index", "--no-exclude", "old"]) == 2
    assert "'old' is not excluded; excluded is 'diary.txt' and 'old/'" in capsys.readouterr().err
    assert run(["index", "--no-exclude", "old/"]) == 0
    assert listed() == ["notes/old/a.txt", "notes/plan.md"]
    assert run(["index", "--no-exclude", "diary.txt"]) == 0
    assert len(listed()) == 3


@pytest.mark.parametrize(
    ("flag", "message"), [("--exclude", "leaves nothing out"), ("--no-exclude", "is not excluded")]
)
def test_a_pattern_that_means_nothing_makes_no_index(notes, capsys, flag, message):
    assert run(["index", "notes", flag, "#"]) == 2
    assert message in capsys.readouterr().err
    assert run(["status"]) == 1


def test_the_report_names_what_went_and_why(notes, capsys):
    for number in range(12):
        (notes / "old" / f"{number}.log.txt").write_text(f"Line {number}.", encoding="utf-8")
    assert run(["index", "notes"]) == 0
    (notes / ".gitignore").write_text("*.log.txt\n", encoding="utf-8")
    (notes / "old" / "a.txt").unlink()
    capsys.readouterr()
    assert run(["index", "--exclude", "diary.txt"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("Removed from the index:") + 1 :] == [
        "  notes/old/a.txt: not there any more",
        "  notes/diary.txt: --exclude diary.txt",
        "  .gitignore: *.log.txt (12 files)",
        "    12 files in notes/old",
    ]


def test_warnings_are_told_once_and_counted_from_then_on(notes, capsys):
    for name in (".env", "id_rsa", "empty.txt"):
        (notes / name).touch()
    assert run(["index", "notes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("Skipped, wholly or in part:") + 1 :] == [
        "  may hold secrets; index it with --include-secrets (2 files)",
        "    notes/.env",
        "    notes/id_rsa",
        "  notes/empty.txt: is empty",
    ]
    (notes / "none.md").touch()
    assert run(["index"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("Skipped, wholly or in part:") + 1 :] == [
        "  notes/none.md: is empty",
        "3 files skipped as before: the same command with --all-warnings says why",
    ]
    assert run(["index", "--all-warnings"]) == 0
    assert "    notes/id_rsa" in capsys.readouterr().out.splitlines()
    assert [file["new"] for file in json_of(["index"])["skipped"]] == [False] * 4


def test_a_removed_file_is_kept_out_with_the_flag(notes, capsys):
    assert run(["index", "notes"]) == 0
    assert run(["remove", "notes/diary.txt"]) == 0
    assert "the same command with --keep-out leaves it out" in capsys.readouterr().out
    assert run(["remove", "notes/diary.txt", "--keep-out"]) == 0
    assert run(["remove", "notes/old", "--keep-out"]) == 0
    assert "local-rag index --no-exclude /old" in capsys.readouterr().out
    assert run(["index", "notes"]) == 0
    assert listed() == ["notes/plan.md"]
    assert run(["index", "--no-exclude", "/old"]) == 0
    assert listed() == ["notes/old/a.txt", "notes/plan.md"]
    assert run(["remove", "notes/old/a.txt", "--no-keep-out"]) == 0
    assert run(["index"]) == 0
    assert listed() == ["notes/old/a.txt", "notes/plan.md"]


def test_what_came_through_a_link_is_kept_out_by_its_flag(notes, capsys, tmp_path):
    (tmp_path / "far.txt").write_text("A letter from far away.", encoding="utf-8")
    try:
        (notes / "link.txt").symlink_to(tmp_path / "far.txt")
    except OSError:
        pytest.skip("this system lets nobody make symbolic links")
    assert run(["index", "notes", "--follow-links"]) == 0
    assert run(["status"]) == 0
    assert "notes (following links out of it)" in capsys.readouterr().out
    assert run(["remove", "far.txt"]) == 0
    assert "local-rag index --no-follow-links" in capsys.readouterr().out
    assert run(["index", "--no-follow-links"]) == 0
    assert "notes/link.txt: is a link out of the indexed folder" in capsys.readouterr().out
    assert len(listed()) == 3


def test_nothing_is_removed_where_one_name_is_wrong(notes, capsys):
    assert run(["index", "notes"]) == 0
    capsys.readouterr()
    assert run(["remove", "notes/diary.txt", "nothing.txt"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert "nothing.txt is not in the index" in error and hint == "hint: local-rag files"
    assert len(listed()) == 3


@pytest.mark.parametrize(("reply", "left"), [("y", 2), ("n", 3)])
def test_a_person_is_asked_whether_a_removed_file_stays_out(notes, capsys, monkeypatch, reply, left):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    assert run(["index", "notes"]) == 0
    monkeypatch.setattr(sys, "stdin", Terminal(f"{reply}\n"))
    assert run(["remove", "notes/diary.txt"]) == 0
    assert "Keep it out of the index from now on?" in capsys.readouterr().err
    assert run(["index"]) == 0
    assert len(listed()) == left
