"""Test `local-rag threads`: list, show, rename, export and delete, on chats that a scripted engine has answered."""

import re
import stat

import pytest
from markdown_it import MarkdownIt
from support.asking import opened
from support.fakes import ScriptedEngine


@pytest.fixture
def talked(home):
    with opened(ScriptedEngine(relevant=["ynny"])) as rag:
        rag.ask("What does the plan cost?", thread="plan")
        rag.ask("And the other?", thread="plan")
        rag.ask("What does <b>it</b> cost?", thread="odd one")


def test_threads_are_listed_shown_renamed_and_deleted(talked, said):
    head, *rows = said.out("threads").splitlines()
    assert head.split() == ["thread", "turns", "last", "(UTC)", "began", "with"]
    assert [row.split()[0] for row in rows] == ["odd", "plan"]
    assert [row["turns"] for row in said.json("threads list")] == [1, 2]
    shown = said.out("threads show plan")
    assert "1. What does the plan cost?  (" in shown
    assert "   understood as: And the other? (What does the plan cost?)" in shown
    assert '   [1] /notes/1.md, "Passage 1 says that the plan costs 100 euros."' in shown
    assert len(said.json("threads show plan")["turns"]) == 2
    (first,) = said.json("threads show plan --turn 1")["turns"]
    assert first["answer"]["question"] == "What does the plan cost?"
    assert said.error("threads show plan --turn 7") == (
        "error: the thread 'plan' has 2 turns, so there is no turn 7",
        "hint: local-rag threads show plan   shows them",
    )
    assert said.out("threads rename plan costs") == "renamed the thread plan to costs\n"
    assert "there is no thread 'plan'" in said("threads rename plan costs", 2)
    assert said.out("threads delete costs") == "deleted the thread costs (2 questions) and the 2 runs of it\n"
    error, hint = said.error("threads show costs")
    assert error == "error: there is no thread 'costs'; there is only odd one"
    assert hint.startswith("hint: local-rag threads")


def test_a_turn_is_shown_with_its_verdicts_and_what_it_cost(talked, said):
    folded = said.out("threads show plan --turn 1")
    assert "2 of 4 passages relevant; support: fully; usefulness: 5 of 5; 3 calls, 30 + 6 tokens" in folded
    assert "irrelevant" not in folded
    unfolded = said.out("threads show plan --turn 1 --verdicts")
    assert re.findall("relevance +irrelevant +(/.*)", unfolded) == ["/notes/2.md", "/notes/3.md"]
    assert "<li>relevance /notes/2.md (2): irrelevant" in MarkdownIt().render(
        said.out("threads export plan --verdicts")
    )


def test_deleting_asks_in_a_terminal(talked, said, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    said("threads delete plan", 1)
    said("threads show plan")


def test_an_export_is_a_page_of_markdown_and_never_overwrites(talked, said, tmp_path):
    out = tmp_path / "chat.md"
    said(f"threads export plan --out {out}")
    page = out.read_text(encoding="utf-8")
    assert page.startswith("# plan\n\n2 questions, ")
    assert "## What does the plan cost?\n" in page
    assert "It costs 100 euros \\[1\\].\n" in page
    assert "- \\[1\\] /notes/1.md: “Passage 1 says that the plan costs 100 euros.”\n" in page
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "exists already" in said(f"threads export plan --out {out}", 2)
    said(f"threads export plan --out {tmp_path / 'no' / 'chat.md'}", 2)
    shown = said.out("threads export 'odd one'")
    assert "\\<b\\>it\\</b\\>" in shown
    assert re.search(r"^1 question, [-0-9: ]+ UTC\.$", shown, re.MULTILINE)
