"""Test that local-rag's files are for their owner alone: modes 0600 and 0700, under any umask."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest
from support.evaluation_cases import CASES, cases_file
from support.garden import notes_in

from local_rag.cli.app import run
from local_rag.config.calibrated import keep
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.core.private_files import make_folder
from local_rag.index.embed.weights import remembered_sha256
from local_rag.web.search import QUERY_LOG, log_query

pytestmark = [pytest.mark.usefixtures("converted"), pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")]


@pytest.fixture(autouse=True)
def open_to_everybody():
    """Set the umask of a careless shell or host program."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder):
    """Return what is open to others, with its mode."""
    found = [folder, *folder.rglob("*")]
    wanted = {True: 0o700, False: 0o600}
    return {
        str(path.relative_to(folder.parent)): oct(mode)
        for path in found
        if (mode := stat.S_IMODE(path.lstat().st_mode)) != wanted[path.is_dir()]
    }


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return a folder with notes and cases, with an empty folder for each kind of data."""
    base = tmp_path / "given"
    base.mkdir()
    notes_in(base)
    cases_file(base)
    many = [
        {**case, "id": f"{case['id']}-{n}", "question": f"{case['question']} ({n})"}
        for n in range(10)
        for case in CASES
    ]
    cases_file(base, many, "many.jsonl")
    written = tmp_path / "written"
    written.mkdir(mode=0o700)
    for name in ("config", "data"):
        monkeypatch.setenv(f"LOCAL_RAG_{name.upper()}_DIR", str(written / "above" / name))
    return base


@pytest.mark.slow
def test_what_every_command_writes_is_for_its_owner_alone(here, tmp_path, capsys):
    out = tmp_path / "written"
    question, cases, many = "What does the greenhouse cost?", str(here / "mine.jsonl"), str(here / "many.jsonl")
    for command in (
        ["index", str(here / "notes")],
        ["index", str(here / "notes"), "--index", str(out / "deep" / "er" / "index")],
        ["ask", question, "--thread", "plan"],
        ["threads", "export", "plan", "--out", str(out / "plan.md")],
        ["eval", cases, "--graph", "plain"],
        ["eval", cases, "--graph", "plain", "--out", str(out / "runs" / "one")],
        ["eval", "make", str(out / "made.jsonl"), "--count", "2", "--yes"],
        ["calibrate", many],
        ["doctor"],
        ["status"],
        ["remove", str(here / "notes" / "plan.md")],
    ):
        assert run(command) in (0, 1), (command, capsys.readouterr().err)
    said = capsys.readouterr().err
    names = {path.name for path in out.rglob("*")}
    assert names >= {"index.sqlite", "history.sqlite", "plan.md", "report.html", "made.jsonl"}, said
    assert modes(out) == {}


def test_what_left_for_the_web_is_for_its_owner_alone(tmp_path):
    folder = tmp_path / "written" / "data"
    log_query(folder, "rents", "duckduckgo")
    (folder / QUERY_LOG).chmod(0o644)
    log_query(folder, "rents", "duckduckgo")
    assert modes(tmp_path / "written") == {}


def test_calibrated_thresholds_are_for_their_owner_alone(here, tmp_path):
    keep(Settings.load(), "extractive 1; minilm", Thresholds(relevance=0.5), {})
    assert modes(tmp_path / "written") == {}


def test_what_is_remembered_of_weights_is_for_its_owner_alone(tmp_path):
    (tmp_path / "weights").write_bytes(b"weights")
    folder = tmp_path / "cache"
    remembered_sha256(tmp_path / "weights", folder / "deep" / "known.json")
    assert modes(folder) == {}


def test_a_folder_that_is_there_already_keeps_its_mode(tmp_path):
    (tmp_path / "shared").mkdir(mode=0o755)
    make_folder(tmp_path / "shared" / "a" / "b")
    assert modes(tmp_path / "shared") == {"shared": "0o755"}


@pytest.mark.parametrize("module", ["local_rag", "local_rag.cli.app"])
def test_a_process_of_our_own_writes_for_its_owner_and_an_import_changes_no_umask(module, tmp_path):
    program = f"import os, {module}; print(oct(os.umask(0)))"
    kept = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert kept.stdout == "0o0\n"
    program = "import os; from local_rag.core import process; process.prepare_own_process(); print(oct(os.umask(0)))"
    own = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert own.stdout == "0o77\n"
