"""Ctrl-C while `local-rag index` works: heard at once, whatever is being done, and nothing stored is lost."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from support.commands import stopped
from support.terminal_process import Terminal

from local_rag.cli.app import run

pytestmark = [
    pytest.mark.usefixtures("converted"),
    pytest.mark.skipif(sys.platform == "win32", reason="SIGINT as a terminal sends it"),
]

AT = """
import sys
from local_rag.cli.app import main
from local_rag.index.sync import read_files

def told(work):
    def tells(*arguments):
        print("NOW", file=sys.stderr, flush=True)
        done = work(*arguments)
        print("NOT STOPPED", file=sys.stderr, flush=True)
        return done
    return tells

read_files.NAME = told(read_files.NAME)
main()
"""


@pytest.fixture(autouse=True)
def person(monkeypatch):
    """Commands in processes of their own, and those of this process, have the same settings."""
    for name, value in {"COLUMNS": "100", "PYTHONWARNINGS": "error"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("work", ["cut", "fingerprinted"])
def test_while_a_large_text_is_read(tmp_path, work, capsys):
    """Cutting 30 MB takes minutes, and its SHA-256 is one call of the library."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("The keeper lights the lamp.")
    assert run(["index", str(notes)]) == 0
    (notes / "b.txt").write_text("lamp keeper harbour " * 1_500_000)
    code, rest = stopped(AT.replace("NAME", work), ["index", str(notes)], os.environ, "NOW")
    lines = [line for line in rest.splitlines() if line != "NOT STOPPED"]
    assert (code, lines[-3:]) == (
        130,
        [
            "stopping: what is in hand is finished, nothing new begins…",
            "stopped",
            "hint: the same command continues where it stopped",
        ],
    )
    if work == "cut":
        assert "NOT STOPPED" not in rest
    (notes / "b.txt").unlink()
    capsys.readouterr()
    assert run(["index", str(notes), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unchanged"] == 1


DEAF = """
import sys, time
from local_rag.cli.app import main
from local_rag.index.sync import read_files

def cut(*arguments):
    time.sleep(0.5)  # the bar is drawn by then
    print("NOW", file=sys.stderr, flush=True)
    time.sleep(600)

read_files.cut = cut
main()
"""


def test_a_second_ctrl_c_leaves_what_does_not_listen_and_the_terminal_as_it_was(tmp_path):
    (tmp_path / "a.txt").write_text("The keeper lights the lamp.")
    terminal = Terminal(["index", str(tmp_path / "a.txt")], os.environ | {"TERM": "xterm"}, DEAF)
    terminal.read_until("NOW", 1)
    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until("stopping", 1)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130, terminal.shown
    assert terminal.shown.rfind("\x1b[?25h") > terminal.shown.rfind("\x1b[?25l") >= 0, "the cursor is seen again"
