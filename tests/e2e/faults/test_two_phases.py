"""`local-rag index` stopped while it embeds, and asked meanwhile by other processes: words answer at every moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from support.commands import stopped

from local_rag.cli.app import run

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


@pytest.fixture(autouse=True)
def person(monkeypatch):
    """Commands in processes of their own, and those of this process, have the same settings."""
    for name, value in {"LOCAL_RAG_ENGINE": "extractive", "COLUMNS": "200", "PYTHONWARNINGS": "error"}.items():
        monkeypatch.setenv(name, value)


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


@pytest.fixture
def shown(capsys):
    """What a command of this process shows."""

    def shown(*arguments, codes=(0,)):
        capsys.readouterr()
        assert run(list(arguments)) in codes
        return capsys.readouterr()

    return shown


@pytest.fixture
def status(shown):
    return lambda: json.loads(shown("status", "--json").out)


def until_now(process):
    """What a process shows on stderr until it waits."""
    lines = []
    while not (lines and lines[-1].startswith("NOW")):
        lines.append(process.stderr.readline())
        assert lines[-1], lines
    return lines


def test_ctrl_c_while_vectors_come(notes, shown, status):
    code, rest = stopped(LISTENING, ["index", str(notes)], os.environ, "NOW")
    assert code == 130
    assert rest.splitlines()[-3:] == [
        "8 of 21 passages are embedded; the others are found by their words only; the rest: local-rag index",
        "stopped",
        "hint: the same command continues where it stopped",
    ]
    assert (status()["embedded"], status()["chunks"]) == (8, 21)
    assert "8 of 21 passages embedded (38 %)" in shown("status").out
    found = shown("search", "--json", "ferry to the mainland")
    assert "quarter past seven" in json.loads(found.out)[0]["text"]
    assert "8 of 21 passages are embedded" in found.err
    report = json.loads(shown("index", "--json").out)
    assert (report["unchanged"], report["chunks"], report["embedded"], report["not_embedded"]) == (21, 0, 13, 0)
    assert "are embedded" not in shown("search", "ferry").err


def test_a_question_while_vectors_come(notes, home, shown, status):
    command = [sys.executable, "-c", WAITING, "index", str(notes)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as indexing:
        lines = until_now(indexing)
        assert any(line.startswith("searchable: 21 files, 21 passages (") for line in lines), lines
        answered = shown("ask", "When does the ferry to the mainland leave?", codes=(0, 4))
        assert "quarter past seven" in answered.out and "8 of 21 passages are embedded" in answered.err
        busy = shown("index", "--embed-only", codes=(1,))
        assert "error: " in busy.err and "Traceback" not in busy.err
        wanted = list((home / "data" / "indexes" / "default").glob("priority.ids"))
        assert len(wanted) == 1 and wanted[0].stat().st_mode & 0o777 == 0o600
        out, _ = indexing.communicate("\n", timeout=600)
        assert indexing.returncode == 0 and "21 passages of text, 21 embedded" in out
    assert (status()["embedded"], status()["chunks"]) == (21, 21)


@pytest.mark.parametrize("rest", [["index"], ["index", "--embed-only"]])
def test_a_kill_while_vectors_come_loses_one_batch(notes, rest, shown, status):
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, "index", str(notes)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as indexing:
        until_now(indexing)
        indexing.send_signal(signal.SIGKILL)
    assert (status()["embedded"], status()["chunks"]) == (8, 21)
    assert json.loads(shown(*rest, "--json").out)["embedded"] == 13
