"""Outlines, files that hold something, and one question to many files, as a person at a terminal sees them."""

from __future__ import annotations

import pytest
from support.garden import enter

pytestmark = pytest.mark.usefixtures("converted")

HEAD = "---\nauthor: Ada Quill\ndate: 2024-05-03\n---\n\n"
LEASES = {
    "a.md": HEAD + "# Lease of a flat\n\nThe lease ends on 31 May 2027.\n\nThe notice period is three months.\n",
    "b.md": "# Lease of a boat\n\nThe boat is painted blue every spring.\n",
}
QUESTION = "When does it end?"


def test_whole_files_in_a_terminal(tmp_path, monkeypatch, said):
    enter(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leases").mkdir()
    for name, text in LEASES.items():
        (tmp_path / "leases" / name).write_text(text)
    said("index leases --index leases")
    asked = said(f"ask '{QUESTION}' --each 'leases/*.md' --index leases", code=3)
    assert (
        "leases/a.md\n  The lease ends on 31 May 2027. (sure)\n" in asked and "leases/b.md\n  does not say\n" in asked
    )
    twice = said("ask 'When does it end, and what is the notice period?' --each leases/a.md --index leases")
    assert twice.count("leases/a.md\n  ") == 1 and "\n  What is the notice period? The notice period is three" in twice
    assert "--as writes the table of --each" in said(f"ask '{QUESTION}' --as csv --index leases", code=2)
    (first, *_) = said.json("ask 'When does it end?' --each leases/a.md --index leases")
    assert (first["answer"], first["full"]["status"]) == ("The lease ends on 31 May 2027.", "grounded")
    assert said("ask 'When does it end?' --each leases/a.md --as csv --index leases").startswith("file,question,answer")
    assert "Lease of a flat: md" in said("outline leases/a.md --index leases")
    (lines,) = said.json("outline leases/a.md --index leases").values()
    assert lines[0]["kind"] == "about" and lines[0]["places"][0]["page"] is None
    (hit,) = said.json("search --files 'notice period' --index leases")
    assert hit["quote"].startswith("The notice period") and hit["source"].endswith("a.md")
    assert said("search --files 'notice period' --index leases").startswith('leases/a.md: "The notice period is')
    assert said("search --files 'Zanzibar' --index leases") == "nothing found\n"
    assert "- leases/a.md" in said("ask 'Which leases were written by Ada Quill?' --index leases")
    assert "- leases/a.md" in said("ask 'leases from May 2024' --index leases")
    assert "Lease of a flat: md" in said("ask 'What does the lease by Ada Quill say?' --index leases")
    for asked in (
        "leases were written in 1987",
        "leases are from 31 February 2024",
        "letters were written by Ada Quill",
    ):
        assert "could not tell" in said(f"ask 'Which {asked}?' --index leases", code=3)
    kept = said("kept --index leases")
    assert "file answer" in kept
    said("kept --index leases --delete")
    assert "file answer" not in said("kept")
