"""`local-rag index` stopped while it embeds, and asked meanwhile by other processes: words answer at every moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from support.commands import stopped

pytestmark = [
    pytest.mark.usefixtures("converted"),
    pytest.mark.skipif(sys.platform == "win32", reason="SIGINT as a terminal sends it"),
]

WAITING = """
import sys
from local_rag.cli.app import main
from local_rag.index.sync import embedding

embedding.FIRST = embedding.LEAST = embedding.MOST = 4
embed, batches = embedding.Embedding._embed, []

def waits(self, chunks):
    embed(self, chunks)
    batches.append(chunks)
    if len(batches) == 2:
        print("NOW", file=sys.stderr, flush=True)
        sys.stdin.readline()

embedding.Embedding._embed = waits
main()
"""
"""Two batches of four passages are embedded; then a line of stdin is waited for."""

LISTENING = WAITING.replace(
    "sys.stdin.readline()", "import time; from local_rag.core import cancel; cancel.current().wait(60)"
)
"""The same, which hears Ctrl-C."""

FILES = 20


@pytest.fixture
def env(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOCAL_RAG_")}
    return env | {
        "LOCAL_RAG_CONFIG_DIR": str(tmp_path / "config"),
        "LOCAL_RAG_DATA_DIR": str(tmp_path / "data"),
        "LOCAL_RAG_CACHE_DIR": os.environ["LOCAL_RAG_CACHE_DIR"],
        "LOCAL_RAG_ENGINE": "extractive",
        "COLUMNS": "200",
        "PYTHONWARNINGS": "error",
    }


@pytest.fixture
def notes(tmp_path):
    """Newest first: letters of other lighthouses, and last the oldest, which is asked for."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(FILES):
        file = folder / f"{number:02}.txt"
        file.write_text(f"Lighthouse {number} stands on island {number} and was built in {1800 + number}.")
        os.utime(file, (1_700_000_000 - number,) * 2)
    oldest = folder / "ferry.txt"
    oldest.write_text("The ferry to the mainland leaves at a quarter past seven from the northern pier.")
    os.utime(oldest, (1_600_000_000,) * 2)
    return folder


def run(env, *arguments, code=0):
    command = [sys.executable, "-m", "local_rag", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done


def status(env):
    return json.loads(run(env, "status", "--json").stdout)


def test_ctrl_c_while_vectors_come(env, notes):
    code, rest = stopped(LISTENING, ["index", str(notes)], env, "NOW")
    assert code == 130
    assert rest.splitlines()[-3:] == [
        "8 of 21 passages are embedded; the others are found by their words only; the rest: local-rag index",
        "stopped",
        "hint: the same command continues where it stopped",
    ]
    assert (status(env)["embedded"], status(env)["chunks"]) == (8, 21)
    assert "8 of 21 passages embedded (38 %)" in run(env, "status").stdout
    found = run(env, "search", "--json", "ferry to the mainland")
    assert "quarter past seven" in json.loads(found.stdout)[0]["text"]
    assert "8 of 21 passages are embedded" in found.stderr
    report = json.loads(run(env, "index", "--json").stdout)
    assert (report["unchanged"], report["chunks"], report["embedded"], report["not_embedded"]) == (21, 0, 13, 0)
    assert "are embedded" not in run(env, "search", "ferry").stderr


def test_a_question_while_vectors_come(env, notes):
    command = [sys.executable, "-c", WAITING, "index", str(notes)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=env, text=True, **pipes) as indexing:
        shown = []
        while not (shown and shown[-1].startswith("NOW")):
            shown.append(indexing.stderr.readline())
            assert shown[-1], shown
        assert any(line.startswith("searchable: 21 files, 21 passages (") for line in shown), shown
        command = [sys.executable, "-m", "local_rag", "ask", "When does the ferry to the mainland leave?"]
        asked = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
        assert asked.returncode in (0, 4), asked.stderr
        assert "quarter past seven" in asked.stdout and "8 of 21 passages are embedded" in asked.stderr
        busy = run(env, "index", "--embed-only", code=1)
        assert "error: " in busy.stderr and "Traceback" not in busy.stderr
        wanted = list((notes.parent / "data" / "indexes" / "default").glob("priority.ids"))
        assert len(wanted) == 1 and wanted[0].stat().st_mode & 0o777 == 0o600
        out, _ = indexing.communicate("\n", timeout=600)
        assert indexing.returncode == 0 and "21 passages of text, 21 embedded" in out
    assert (status(env)["embedded"], status(env)["chunks"]) == (21, 21)


@pytest.mark.parametrize("rest", [["index"], ["index", "--embed-only"]])
def test_a_kill_while_vectors_come_loses_one_batch(env, notes, rest):
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, "index", str(notes)], env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as indexing:
        while not indexing.stderr.readline().startswith(b"NOW"):
            pass
        indexing.send_signal(signal.SIGKILL)
    assert (status(env)["embedded"], status(env)["chunks"]) == (8, 21)
    assert json.loads(run(env, *rest, "--json").stdout)["embedded"] == 13


def test_text_alone_and_vectors_alone(env, notes):
    first = run(env, "index", str(notes), "--no-embed")
    assert "21 passages of text, 21 without a vector yet (local-rag index)" in first.stdout
    (notes / "new.txt").write_text("A new note about whales.")
    report = json.loads(run(env, "index", "--embed-only", "--json").stdout)
    assert (report["new"], report["embedded"], report["not_embedded"]) == ([], 21, 0)
    listed = json.loads(run(env, "files", "--json").stdout)
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
def test_options_that_exclude_each_other_are_one_line_with_a_command(env, options):
    done = run(env, "index", *options, code=2)
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: --") and hint.startswith("hint: local-rag index --")
