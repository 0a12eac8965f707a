"""A folder that has moved, as a person meets it: reported, said outright, and found by what quotes its old place."""

from __future__ import annotations

import json

import pytest

from local_rag.cli.app import run

pytestmark = pytest.mark.usefixtures("converted")


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in (("lease", "The rent is 900 euros."), ("shop", "Bread costs three euros.")):
        (folder / f"{name}.txt").write_text(text, "utf-8")
    assert run(["index", str(folder)]) == 0
    return folder


def test_a_moved_folder_is_reported_and_what_quotes_its_old_place_is_found(notes, tmp_path, capsys):
    assert run(["ask", "What is the rent?", "--thread", "home", "--engine", "extractive", "--graph", "plain"]) == 0
    new = tmp_path / "papers"
    notes.rename(new)
    capsys.readouterr()
    assert run(["index"]) == 0
    said = capsys.readouterr().out
    assert f"If it has moved: local-rag index --moved {notes} NEW" in said.replace("\n", "")
    assert run(["index", str(new), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["moved"] == [{"old": str(notes), "new": str(new), "files": 2}]
    assert report["embedded"] == 0 and report["not_embedded"] == 0
    assert run(["kept", str(new / "lease.txt"), "--json"]) == 0
    assert {"home"} <= {item["name"] for item in json.loads(capsys.readouterr().out)}
    assert run(["threads", "show", "home"]) == 0
    assert "900 euros" in capsys.readouterr().out
    assert run(["ask", "And what does bread cost?", "--thread", "home", "--engine", "extractive"]) == 0
    capsys.readouterr()
    assert run(["remove", str(new / "lease.txt")]) == 0
    assert "1 chat" in (said := capsys.readouterr().out) and "kept" in said


@pytest.mark.slow
def test_what_quotes_the_old_place_is_found_when_the_moved_file_was_edited_and_goes(notes, tmp_path, capsys):
    assert run(["ask", "What is the rent?", "--thread", "home", "--engine", "extractive", "--graph", "plain"]) == 0
    file = notes / "contracts" / "lease.txt"
    file.parent.mkdir()
    (notes / "lease.txt").rename(file)
    assert run(["index"]) == 0
    file.write_text("The rent is 950 euros.", "utf-8")
    assert run(["index"]) == 0
    capsys.readouterr()
    assert run(["kept", str(file), "--json"]) == 0
    assert "home" in {item["name"] for item in json.loads(capsys.readouterr().out)}
    file.unlink()
    assert run(["index"]) == 0
    captured = capsys.readouterr()
    assert str(notes / "lease.txt") in captured.err.replace("\n", "") and "1 chat" in captured.err + captured.out


def test_moved_on_the_command_line_reads_nothing_and_goes_with_nothing_else(notes, tmp_path, capsys):
    new = tmp_path / "papers"
    notes.rename(new)
    capsys.readouterr()
    assert run(["index", "--moved", str(notes), str(new)]) == 0
    assert "papers, 2 files" in capsys.readouterr().out.replace("\n", "")
    assert run(["index", "--moved", str(notes), str(new)]) == 2
    assert "is not in the index" in capsys.readouterr().err
    assert run(["index", "--moved", str(notes), str(new), "--prune"]) == 2
    assert "--prune changes nothing with it" in capsys.readouterr().err
    assert run(["index"]) == 0
    assert "0 new, 0 updated, 2 unchanged, 0 removed" in capsys.readouterr().out
