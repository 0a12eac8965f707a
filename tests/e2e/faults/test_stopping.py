"""Test that `local-rag index` stops at once."""

import json
import os
import signal

import pytest
from support.marks import posix
from support.processes import Terminal, stopped

from local_rag.cli.app import run

pytestmark = [
    pytest.mark.usefixtures("converted"),
    posix,
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


@pytest.fixture(autouse=True)
def person(monkeypatch):
    """Give commands in their own processes and in this one the same settings."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PYTHONWARNINGS", "error")


def test_ctrl_c_while_a_large_text_is_read(tmp_path, capsys):
    """Press Ctrl-C while a text is split, which takes long."""
    (tmp_path / "a.txt").write_text("The keeper lights the lamp.")
    run(["index", str(tmp_path)])
    (tmp_path / "b.txt").write_text("lamp keeper harbour " * 150_000)
    code, rest = stopped(CUTTING, ["index", str(tmp_path)], os.environ, "NOW")
    assert (code, rest.splitlines()) == (
        130,
        [
            "stopping: what is in hand is finished, nothing new begins…",
            "stopped",
            "hint: the same command continues where it stopped",
        ],
    )
    (tmp_path / "b.txt").unlink()
    capsys.readouterr()
    assert run(["index", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unchanged"] == 1


def test_a_second_ctrl_c_leaves_what_does_not_listen_and_the_terminal_as_it_was(tmp_path):
    (tmp_path / "a.txt").write_text("The keeper lights the lamp.")
    with Terminal(["index", str(tmp_path)], DEAF) as terminal:
        for words in ("NOW", "stopping"):
            terminal.until(words)
            terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130, terminal.shown
    assert terminal.shown.rfind("\x1b[?25h") > terminal.shown.rfind("\x1b[?25l") >= 0, "the cursor is seen again"
