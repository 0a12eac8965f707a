"""`local-rag index --passwords` at a real terminal."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.hostile import SENTENCE, make_pdf
from support.terminal_process import Terminal

pytestmark = [
    pytest.mark.usefixtures("converted"),
    pytest.mark.skipif(sys.platform == "win32", reason="a terminal as Unix has it"),
]


@pytest.fixture
def world(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "open.txt").write_text("The harbour is open.")
    make_pdf(notes / "lease.pdf", [SENTENCE], password="correct horse 7")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LOCAL_RAG_", "PYTHON_KEYRING"))}
    return notes, env | {
        "LOCAL_RAG_CONFIG_DIR": str(tmp_path / "config"),
        "LOCAL_RAG_DATA_DIR": str(tmp_path / "data"),
        "LOCAL_RAG_CACHE_DIR": os.environ["LOCAL_RAG_CACHE_DIR"],
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "TERM": "xterm",
        "COLUMNS": "200",
    }


def test_it_is_typed_unseen_and_kept_nowhere(world, tmp_path):
    notes, env = world
    terminal = Terminal(["index", str(notes), "--passwords"], env)
    for times, typed in enumerate(("wrong horse 7", "correct horse 7"), start=1):
        terminal.read_until("password of", times)
        terminal.wait_until_unseen()  # getpass switches the echo off after the prompt on some systems
        terminal.type(typed)
    assert terminal.end() == 0, terminal.shown
    assert "2 new" in terminal.shown and "that password does not open it" in terminal.shown
    assert "horse" not in terminal.shown
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != notes]
    assert kept and not [path for path in kept if b"horse 7" in path.read_bytes()]


def test_without_a_terminal_and_a_keyring_it_is_one_line(world):
    notes, env = world
    command = [sys.executable, "-m", "local_rag", "index", str(notes), "--passwords"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    first, *rest = done.stderr.splitlines()
    assert first.startswith("error: --passwords asks at a terminal") and len(rest) == 1 and rest[0].startswith("hint: ")
