"""Ctrl-C while `local-rag index` works: heard at once, whatever is being done, and nothing stored is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from support.commands import stopped
from support.terminal_process import Terminal

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
        return work(*arguments)
    return tells

read_files.NAME = told(read_files.NAME)
main()
"""


@pytest.fixture
def env(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOCAL_RAG_")}
    return env | {
        "LOCAL_RAG_CONFIG_DIR": str(tmp_path / "config"),
        "LOCAL_RAG_DATA_DIR": str(tmp_path / "data"),
        "LOCAL_RAG_CACHE_DIR": os.environ["LOCAL_RAG_CACHE_DIR"],
        "COLUMNS": "100",
        "PYTHONWARNINGS": "error",
    }


def index(env, *arguments):
    command = [sys.executable, "-m", "local_rag", "index", "--json", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("work", ["cut", "fingerprinted"])
def test_while_a_large_text_is_read(env, tmp_path, work):
    """Cutting 30 MB takes minutes, and its SHA-256 is one call of the library."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("The keeper lights the lamp.")
    index(env, str(notes))
    (notes / "b.txt").write_text("lamp keeper harbour " * 1_500_000)
    started = time.monotonic()
    code, rest = stopped(AT.replace("NAME", work), ["index", str(notes)], env, "NOW")
    assert (code, rest.splitlines()[-3:]) == (
        130,
        [
            "stopping: what is in hand is finished, nothing new begins…",
            "stopped",
            "hint: the same command continues where it stopped",
        ],
    )
    assert time.monotonic() - started < 40
    (notes / "b.txt").unlink()
    assert index(env, str(notes))["unchanged"] == 1


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


def test_a_second_ctrl_c_leaves_what_does_not_listen_and_the_terminal_as_it_was(env, tmp_path):
    (tmp_path / "a.txt").write_text("The keeper lights the lamp.")
    terminal = Terminal(["index", str(tmp_path / "a.txt")], env | {"TERM": "xterm"}, DEAF)
    terminal.read_until("NOW", 1)
    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until("stopping", 1)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130, terminal.shown
    assert terminal.shown.rfind("\x1b[?25h") > terminal.shown.rfind("\x1b[?25l") >= 0, "the cursor is seen again"
