"""Test what the commands show when two versions of a contract disagree, with the shipped evaluator."""

import io
import os
import re

import pytest
from support.evaluation_run import MANIFEST
from support.garden import enter, entered

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.evaluation import page
from local_rag.evaluation.cases import Case
from local_rag.evaluation.figures import summary
from local_rag.evaluation.records import answer_record
from local_rag.runtime.langchain_tool import tool_text
from local_rag.runtime.rag import Rag

pytestmark = pytest.mark.usefixtures("converted")

QUESTION = "What is the notice period of the lease?"
TEXT = """# Lease of the workshop in Dyer Street

{date}This lease is made between the owner of the house and the tenant of the workshop on the ground floor.

The notice period of the lease is {period}. It has to be given in writing.

The tenant cleans the yard. Bicycles stand behind the gate, and the gate is locked at night.
"""
TITLE = "What they say, the newest first:"
DATED = "---\ndate: 2021-04-01\n---\n\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return a person with two versions of a lease: one has a date, the other was changed in 2024."""
    base = tmp_path_factory.mktemp("leases")
    (folder := base / "leases").mkdir()
    (folder / "lease old.md").write_text(DATED + TEXT.format(date="", period="three months"))
    (folder / "lease new.md").write_text(TEXT.format(date="", period="six months"))
    os.utime(folder / "lease new.md", (1_717_200_000, 1_717_200_000))
    with entered(base):
        assert run(["index", str(folder)]) == 0
    return base


@pytest.fixture
def here(world, monkeypatch):
    enter(monkeypatch, world)
    monkeypatch.chdir(world / "leases")
    return world / "leases"


def test_markup_hides_no_disagreement(tmp_path, monkeypatch, said):
    enter(monkeypatch, tmp_path)
    (folder := tmp_path / "flat").mkdir()
    (folder / "lease.md").write_text("# Lease of 2023\n\nThe **rent** of the flat is `900 euros` a month.\n")
    (folder / "addendum.md").write_text("# Addendum of 2024\n\nThe **rent** of the flat is `950` euros a month.\n")
    said(f"index '{folder}'")
    text = said.out("ask 'What is the rent of the flat?'", 4)
    assert text.startswith("Probably: your files disagree.") and "900 euros" in text and "950 euros" in text


def test_ask_shows_both_versions_the_newest_first_and_ends_with_4(here, said):
    text = " ".join(said.out(f"ask '{QUESTION}'", 4).split())
    assert text.startswith("Probably: your files disagree.")
    both = text.partition(TITLE)[2]
    sides = r"file changed 2024-06-01 six months \[\d\] .*lease new\.md.* 2021-04-01 three months \[\d\]"
    assert re.search(sides, both)
    assert '"The notice period of the lease is six months."' in both
    again = " ".join(said("runs show last").split())
    assert "conflict disagree" in again and TITLE in again


def test_a_chat_its_export_and_what_is_kept_name_both_files(here, said, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{QUESTION}\n/sources\n"))
    assert TITLE in said("chat --thread lease") and TITLE in said("threads show lease")
    said(f"threads export lease --out {tmp_path / 'lease.md'}")
    page = (tmp_path / "lease.md").read_text(encoding="utf-8")
    assert f"**{TITLE}**" in page and "**six months**" in page and "file changed 2024-06-01" in page.replace("\\", "")
    kept = str(said.json("kept"))
    assert "lease new.md" in kept and "lease old.md" in kept
    said("threads delete lease")


def test_a_report_names_both_sides(here):
    with Rag.open(Settings.load()) as rag:
        answer = rag.ask(QUESTION)
    case = Case("1", QUESTION)
    record = {"kind": "answer", "case": "1", "graph": "plain"} | answer_record(case, answer, [])
    text = page.report(MANIFEST, [case], [record], summary([case], [record]))
    assert TITLE in tool_text(answer)
    assert "files disagree" in text and "2024-06-01 “six months” in [" in text and "lease old.md" in text
