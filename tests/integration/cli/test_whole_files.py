"""Outlines, files that hold something, and one question to many files, as a person at a terminal sees them."""

import pytest
from support.garden import enter, entered

from local_rag import Rag
from local_rag.cli.app import run

HEAD = "---\nauthor: Ada Quill\ndate: 2024-05-03\n---\n\n"
LEASES = {
    "a.md": HEAD + "# Lease of a flat\n\nThe lease ends on 31 May 2027.\n\nThe notice period is three months.\n",
    "b.md": "# Lease of a boat\n\nThe boat is painted blue.\n",
}


@pytest.fixture(scope="module")
def leases(tmp_path_factory, converted):
    base = tmp_path_factory.mktemp("home")
    (base / "leases").mkdir()
    for name, text in LEASES.items():
        (base / "leases" / name).write_text(text)
    with entered(base):
        assert run(["index", str(base / "leases"), "--index", "leases"]) == 0
    return base


@pytest.fixture(autouse=True)
def here(leases, monkeypatch):
    enter(monkeypatch, leases)
    monkeypatch.setenv("LOCAL_RAG_INDEX", "leases")
    monkeypatch.chdir(leases)


def test_each_file_is_asked_and_its_answers_are_kept_until_they_are_deleted(said):
    asked = said("ask 'When does it end?' --each 'leases/*.md'", code=3)
    assert (
        "leases/a.md\n  The lease ends on 31 May 2027. (sure)\n" in asked and "leases/b.md\n  does not say\n" in asked
    )
    twice = said("ask 'When does it end, and what is the notice period?' --each leases/a.md")
    assert twice.count("leases/a.md\n  ") == 1 and "\n  What is the notice period? The notice period is three" in twice
    assert "--as writes the table of --each" in said("ask 'When does it end?' --as csv", code=2)
    (first, *_) = said.json("ask 'When does it end?' --each leases/a.md")
    assert (first["answer"], first["full"]["status"]) == ("The lease ends on 31 May 2027.", "grounded")
    assert said("ask 'When does it end?' --each leases/a.md --as csv").startswith("file,question,answer")
    assert "file answer" in said("kept --index leases")
    said("kept --index leases --delete")
    assert "file answer" not in said("kept --index leases")


def test_a_file_has_an_outline_and_is_found_by_what_it_holds(said):
    assert "Lease of a flat: md" in said("outline leases/a.md")
    (lines,) = said.json("outline leases/a.md").values()
    assert lines[0]["kind"] == "about" and lines[0]["places"][0]["page"] is None
    (hit,) = said.json("search --files 'notice period'")
    assert hit["quote"].startswith("The notice period") and hit["source"].endswith("a.md")
    assert said("search --files 'notice period'").startswith('leases/a.md: "The notice period is')
    assert said("search --files 'Zanzibar'") == "nothing found\n"


def test_files_of_an_author_or_a_time_are_listed_and_of_none_that_is_known_none():
    with Rag.open(engine="extractive") as rag:
        for question, text in (
            ("Which leases were written by Ada Quill?", "a.md"),
            ("leases from May 2024", "a.md"),
            ("What does the lease by Ada Quill say?", "Lease of a flat: md"),
        ):
            assert text in rag.ask(question, record=False).text
        for asked in "leases were written in 1987", "leases are from 31 February 2024", "letters were written by Quill":
            answer = rag.ask(f"Which {asked}?", record=False)
            assert (answer.status, answer.citations) == ("abstained", ())
