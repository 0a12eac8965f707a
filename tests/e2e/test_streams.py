"""Test stdout and stderr that are closed, broken, full, or a terminal: exit codes and silence."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.garden import notes_in

pytestmark = [
    pytest.mark.usefixtures("converted"),
    pytest.mark.skipif(os.name == "nt", reason="pipes and closed streams of POSIX"),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return a folder of notes, and the environment of a person whose default index has them."""
    base = tmp_path_factory.mktemp("streams")
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOCAL_RAG_")}
    env |= {"LOCAL_RAG_CONFIG_DIR": f"{base}/config", "LOCAL_RAG_DATA_DIR": f"{base}/data", "HOME": str(base)}
    env["LOCAL_RAG_CACHE_DIR"] = os.environ["LOCAL_RAG_CACHE_DIR"]
    notes = notes_in(base)
    assert run(["index", str(notes)], env, stdout=subprocess.DEVNULL).returncode == 0
    return notes, env


def run(arguments, env, **options):
    command = [sys.executable, "-m", "local_rag", *arguments]
    return subprocess.run(command, env=env, timeout=600, check=False, **{"stderr": subprocess.PIPE} | options)


@pytest.mark.parametrize(
    ("command", "code", "closed"),
    [
        ("ask 'What does the greenhouse cost?'", 0, ">&-"),
        ("ask 'Which insurance company covers the rental contract of the tenant?'", 3, "<&- >&- 2>&-"),
        ("status --index nothing-here", 1, "2>&-"),
        ("index NOTES", 0, "<&- >&- 2>&-"),
    ],
)
def test_a_stream_that_is_closed_from_the_start_changes_no_exit_code(world, command, code, closed):
    notes, env = world
    line = f"{shlex.quote(sys.executable)} -m local_rag {command.replace('NOTES', str(notes))} {closed}"
    done = subprocess.run(line, shell=True, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_result_that_cannot_be_written_is_an_error(world):
    _, env = world
    with Path("/dev/full").open("wb") as full:
        done = run(["status"], env, stdout=full)
    assert done.returncode == 1
    assert b"error: the result cannot be written (there is no space left on the disk)" in done.stderr


def test_a_folder_that_was_deleted_is_named(world, tmp_path):
    _, env = world
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"rmdir {shlex.quote(str(gone))} && {shlex.quote(sys.executable)} -m local_rag status"
    done = subprocess.run(line, shell=True, env=env, cwd=gone, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0] == "error: the folder that you are in was deleted"
