"""Two versions of a contract in a folder: what the commands show where they disagree, with the shipped evaluator."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

import pytest
from support.evaluation_run import MANIFEST
from support.garden import enter
from support.ollama_engine import engine_on
from support.reading import ScriptedEvaluator

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.evaluation import page
from local_rag.evaluation.cases import Case
from local_rag.evaluation.figures import summary
from local_rag.evaluation.records import answer_record
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.langchain_tool import tool_text
from local_rag.runtime.rag import Rag

pytestmark = pytest.mark.usefixtures("converted")

QUESTION = "What is the notice period of the lease?"
TEXT = """# Lease of the workshop in Dyer Street

{date}This lease is made between the owner of the house and the tenant of the workshop on the ground floor.

The notice period of the lease is {period}. It has to be given in writing.

The tenant cleans the yard. Bicycles stand behind the gate, and the gate is locked at night.
"""
DATED = "---\ndate: 2021-04-01\n---\n\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A person with two versions of a lease: one bears a date, the other was changed in 2024."""
    base = tmp_path_factory.mktemp("leases")
    (folder := base / "leases").mkdir()
    (folder / "lease old.md").write_text(DATED + TEXT.format(date="", period="three months"))
    (folder / "lease new.md").write_text(TEXT.format(date="", period="six months"))
    os.utime(folder / "lease new.md", (1_717_200_000, 1_717_200_000))
    with pytest.MonkeyPatch.context() as patched:
        enter(patched, base)
        assert run(["index", str(folder)]) == 0
    return base


@pytest.fixture
def here(world, monkeypatch):
    enter(monkeypatch, world)
    monkeypatch.chdir(world / "leases")
    return world / "leases"


def test_ask_shows_both_versions_the_newest_first_and_ends_with_4(here, capsys):
    assert run(["ask", QUESTION]) == 4
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("Probably: your files disagree.")
    both = shown.partition("What they say, the newest first:")[2]
    assert re.search(
        r"file changed 2024-06-01 six months \[\d\] .*lease new\.md.* 2021-04-01 three months \[\d\]", both
    )
    assert '"The notice period of the lease is six months."' in both


def test_json_has_the_positions(here, capsys):
    assert run(["ask", QUESTION, "--json"]) == 4
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["reason"].split(";")[0]) == ("partial", "your files disagree")
    assert answer["short"] == "six months", "the answer of the newest file"
    bold = [answer["text"][place["start"] : place["end"]] for place in answer["highlights"]]
    assert bold == ["six months", "three months"]
    (conflict,) = answer["conflicts"]
    new, old = conflict["positions"]
    assert (new["text"], new["date"], new["dated"]) == ("six months", "2024-06-01T00:00Z", "file")
    assert (old["text"], old["date"], old["dated"]) == ("three months", "2021-04-01", "document")
    for position in (new, old):
        (citation,) = position["citations"]
        stored = Path(citation["source"]).read_text(encoding="utf-8").removeprefix(DATED)
        assert citation["quote"] in stored and position["text"] in citation["quote"]


def test_what_the_versions_have_in_common_is_no_disagreement(here, capsys):
    run(["ask", "Where do the bicycles stand?", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["conflicts"] == [] and "disagree" not in answer["reason"]


def test_a_run_that_is_shown_again_has_the_mark(here, capsys):
    run(["ask", QUESTION])
    capsys.readouterr()
    assert run(["runs", "show", "last"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "conflict disagree" in shown and "What they say, the newest first:" in shown


def test_a_chat_its_export_and_what_is_kept_name_both_files(here, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{QUESTION}\n/sources\n"))
    assert run(["chat", "--thread", "lease"]) == 0
    assert "What they say, the newest first:" in capsys.readouterr().out
    assert run(["threads", "show", "lease"]) == 0
    assert "What they say, the newest first:" in capsys.readouterr().out
    assert run(["threads", "export", "lease", "--out", str(tmp_path / "lease.md")]) == 0
    page = (tmp_path / "lease.md").read_text(encoding="utf-8")
    assert "**What they say, the newest first:**" in page and "**six months**" in page
    assert "file changed 2024\\-06\\-01" in page or "file changed 2024-06-01" in page
    capsys.readouterr()
    run(["kept", "--json"])
    kept = json.loads(capsys.readouterr().out)
    text = json.dumps(kept)
    assert "lease new.md" in text and "lease old.md" in text
    assert run(["threads", "delete", "lease"]) == 0


def test_a_model_writes_and_the_evaluator_decides(here, ollama):
    """The model quotes one version; what the other one says stands beside it."""
    ollama.script('{"r": "yes yes"}', "Three months, says the lease. [2]", '{"s": "fully", "u": 5}')
    with engine_on(ollama) as engine, Rag.open(Settings.load()) as opened:
        choice = Choice(engine, evaluator=ScriptedEvaluator({"three months": 0.95, "six months": 0.95}))
        answer = Rag(Settings.load(), opened.index, choice, opened.embedder).ask(QUESTION, graph="self-rag")
    assert answer.text == "Three months, says the lease. [1]"
    (conflict,) = answer.conflicts
    assert [position.text for position in conflict.positions] == ["six months", "three months"]
    assert answer.status in ("partial", "ungrounded") and "your files disagree" in answer.reason
    numbers = {citation.number for position in conflict.positions for citation in position.citations}
    assert numbers == {1, 2}
    tool = tool_text(answer)
    assert "What they say, the newest first:" in tool and "2021-04-01: three months, [" in tool


def test_a_report_names_both_sides(here):
    with Rag.open(Settings.load()) as rag:
        answer = rag.ask(QUESTION)
    case = Case("1", QUESTION)
    record = answer_record(case, "plain", answer, [])
    text = page.report(MANIFEST, [case], [record], summary([case], [record]))
    assert "files disagree" in text and "2024-06-01 “six months” in [" in text and "lease old.md" in text
