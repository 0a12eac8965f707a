"""Test that `local-rag index` stops at once, and that searches by words work while it runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from support.processes import Terminal, stopped

from local_rag.cli.app import run

pytestmark = [
    pytest.mark.usefixtures("converted"),
    pytest.mark.skipif(sys.platform == "win32", reason="SIGINT as a terminal sends it"),
]

CUTTING = """
import sys
from local_rag.cli import main
from local_rag.index import prepare

def told(*arguments, **options):
    print("NOW", file=sys.stderr, flush=True)
    chunks = chunk(*arguments, **options)
    print("NOT STOPPED", file=sys.stderr, flush=True)
    return chunks

chunk, prepare.chunk = prepare.chunk, told
main()
"""
"""A program that reports when splitting a file into chunks begins and ends."""

DEAF = """
import sys, time
from local_rag.cli import main
from local_rag.index import prepare

def chunk(*arguments, **options):
    time.sleep(0.5)  # the bar is drawn by then
    print("NOW", file=sys.stderr, flush=True)
    time.sleep(600)

prepare.chunk = chunk
main()
"""

WAITING = """
import sys, time
from local_rag.cli import main
from local_rag.index.sync import embed

embed.FIRST = embed.SMALLEST = embed.LARGEST = 4
work, batches = embed.embed_batch, []

def waits(*batch):
    work(*batch)
    batches.append(batch)
    if len(batches) == 2:
        print("NOW", file=sys.stderr, flush=True)
        time.sleep(600)

embed.embed_batch = waits
main()
"""
"""A program that embeds two batches of four passages, and then waits."""

FILES = 20


@pytest.fixture(autouse=True)
def person(monkeypatch):
    """Give commands in their own processes and in this one the same settings."""
    for name, value in {"LOCAL_RAG_ENGINE": "extractive", "COLUMNS": "200", "PYTHONWARNINGS": "error"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def notes(tmp_path):
    """Make notes of lighthouses, newest first, and last the oldest, which the query asks for."""
    folder = tmp_path / "notes"
    folder.mkdir()
    texts = [f"Lighthouse {n} stands on island {n} and was built in {1800 + n}." for n in range(FILES)]
    texts.append("The ferry to the mainland leaves at a quarter past seven from the northern pier.")
    for number, text in enumerate(texts):
        (folder / f"{number:02}.txt").write_text(text)
        os.utime(folder / f"{number:02}.txt", (1_700_000_000 - number,) * 2)
    return folder


@pytest.fixture
def shown(capsys):
    """Return the output of a command in this process."""

    def shown(*arguments, codes=(0,)):
        capsys.readouterr()
        assert run([*map(str, arguments)]) in codes
        return capsys.readouterr()

    return shown


def embedded(shown):
    """Return how many passages have a vector, and how many there are."""
    status = json.loads(shown("status", "--json").out)
    return status["embedded"], status["chunks"]


STOPPED = ["stopped", "hint: the same command continues where it stopped"]


def test_ctrl_c_while_a_large_text_is_read(tmp_path, shown):
    """Press Ctrl-C while a text is split, which takes long."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("The keeper lights the lamp.")
    shown("index", notes)
    (notes / "b.txt").write_text("lamp keeper harbour " * 150_000)
    code, rest = stopped(CUTTING, ["index", str(notes)], os.environ, "NOW")
    assert (code, rest.splitlines()) == (130, ["stopping: what is in hand is finished, nothing new begins…", *STOPPED])
    (notes / "b.txt").unlink()
    assert json.loads(shown("index", notes, "--json").out)["unchanged"] == 1


def test_a_second_ctrl_c_leaves_what_does_not_listen_and_the_terminal_as_it_was(notes):
    with Terminal(["index", str(notes / "00.txt")], DEAF) as terminal:
        for words in ("NOW", "stopping"):
            terminal.until(words)
            terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130, terminal.shown
    assert terminal.shown.rfind("\x1b[?25h") > terminal.shown.rfind("\x1b[?25l") >= 0, "the cursor is seen again"


def test_a_question_while_vectors_come_and_a_kill_that_loses_one_batch(notes, shown):
    command = [sys.executable, "-c", WAITING, "index", str(notes)]
    with subprocess.Popen(command, text=True, stderr=subprocess.PIPE) as process:
        lines = []
        while not (lines and lines[-1].startswith("NOW")):
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        assert any(line.startswith("searchable: 21 files, 21 passages (") for line in lines), lines
        answered = shown("ask", "When does the ferry to the mainland leave?", codes=(0, 4))
        assert "quarter past seven" in answered.out and "8 of 21 passages are embedded" in answered.err
        busy = shown("index", "--embed-only", codes=(1,))
        assert "error: " in busy.err and "Traceback" not in busy.err
        process.kill()
    assert embedded(shown) == (8, 21)
    assert json.loads(shown("index", "--embed-only", "--json").out)["embedded"] == 13
