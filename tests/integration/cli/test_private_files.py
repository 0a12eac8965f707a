"""Test that local-rag's files are for their owner alone: modes 0600 and 0700, under any umask."""

import os
import stat
import subprocess
import sys

import pytest
from support.evaluation_cases import cases_file
from support.garden import notes_in
from support.marks import posix

from local_rag.config.calibrated import keep
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.core.private_files import make_folder
from local_rag.index.embed.weights import remembered_sha256
from local_rag.web.search import QUERY_LOG, log_query

pytestmark = [pytest.mark.usefixtures("converted"), posix]


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
    written = tmp_path / "written"
    written.mkdir(mode=0o700)
    for name in ("config", "data"):
        monkeypatch.setenv(f"LOCAL_RAG_{name.upper()}_DIR", str(written / "above" / name))
    return base


@pytest.mark.slow
def test_what_every_command_writes_is_for_its_owner_alone(here, tmp_path, said):
    out = tmp_path / "written"
    for line in (
        f"index {here}/notes",
        f"index {here}/notes --index {out}/deep/er/index",
        "ask 'What does the greenhouse cost?' --thread plan",
        f"threads export plan --out {out}/plan.md",
        f"eval {here}/mine.jsonl --graph plain",
        f"eval {here}/mine.jsonl --graph plain --out {out}/runs/one",
        f"eval make {out}/made.jsonl --count 2 --yes",
        "status",
        f"remove {here}/notes/plan.md",
    ):
        said(line)
    names = {path.name for path in out.rglob("*")}
    assert names >= {"index.sqlite", "history.sqlite", "plan.md", "report.html", "made.jsonl"}
    assert modes(out) == {}


def test_what_is_written_beside_indexes_and_answers_is_for_its_owner_alone(here, tmp_path):
    folder, weights = tmp_path / "written", tmp_path / "weights"
    log_query(folder, "rents", "duckduckgo")
    (folder / QUERY_LOG).chmod(0o644)
    log_query(folder, "rents", "duckduckgo")
    keep(Settings.load(), "extractive 1; minilm", Thresholds(relevance=0.5), {})
    weights.write_bytes(b"weights")
    remembered_sha256(weights, folder / "deep" / "known.json")
    assert {path.suffix for path in folder.rglob("*")} >= {".log", ".yaml", ".json"}
    assert modes(folder) == {}


def test_a_folder_that_is_there_already_keeps_its_mode(tmp_path):
    (tmp_path / "shared").mkdir(mode=0o755)
    make_folder(tmp_path / "shared" / "a" / "b")
    assert modes(tmp_path / "shared") == {"shared": "0o755"}


def test_a_process_of_our_own_writes_for_its_owner_and_an_import_changes_no_umask():
    program = """
import os, local_rag.cli.app
print(oct(os.umask(0)))
from local_rag.core import process
process.prepare_own_process()
print(oct(os.umask(0)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0o0", "0o77"]
