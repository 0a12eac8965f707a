"""The text of files without their vectors, and the vectors without reading files."""

from __future__ import annotations

import json

import pytest

from local_rag.cli.app import run


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"Lighthouse {number} stands on island {number}.")
    return folder


@pytest.mark.usefixtures("converted")
def test_text_alone_and_vectors_alone(notes, capsys):
    assert run(["index", str(notes), "--no-embed"]) == 0
    assert "3 passages of text, 3 without a vector yet (local-rag index)" in capsys.readouterr().out
    (notes / "new.txt").write_text("A new note about whales.")
    assert run(["index", "--embed-only", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["new"], report["embedded"], report["not_embedded"]) == ([], 3, 0)
    assert run(["files", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {(file["chunks"], file["embedded"]) for file in listed} == {(1, 1)}


@pytest.mark.parametrize(
    "options",
    [
        ["--no-embed", "--embed-only"],
        ["--no-embed", "--reembed"],
        ["--embed-only", "--reembed"],
        ["--embed-only", "--prune"],
        ["--embed-only", "."],
        ["--embed-only", "https://example.org"],
        ["--embed-only", "--exclude", "*.log"],
    ],
)
def test_options_that_exclude_each_other_are_one_line_with_a_command(options, capsys):
    assert run(["index", *options]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: --") and hint.startswith("hint: local-rag index --")
