"""Test stdout and stderr that are closed, broken, full, or a terminal: exit codes and silence."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.garden import enter, notes_in

from local_rag.cli.app import run

pytestmark = [
    pytest.mark.usefixtures("converted"),
    pytest.mark.skipif(os.name == "nt", reason="pipes and closed streams of POSIX"),
]


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Return a function that runs a line of a shell for a person whose default index has the notes, NOTES."""
    base = tmp_path_factory.mktemp("streams")
    notes = notes_in(base)
    with pytest.MonkeyPatch.context() as patched:
        enter(patched, base)
        assert run(["index", str(notes)]) == 0
        env = dict(os.environ)

    def done(line, cwd=base):
        line = line.replace("local-rag", f"{shlex.quote(sys.executable)} -m local_rag").replace("NOTES", str(notes))
        return subprocess.run(line, shell=True, env=env, cwd=cwd, capture_output=True, text=True, timeout=600)

    return done


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("local-rag status >&-", 0),
        ("local-rag ask 'Which insurance company covers the rental contract of the tenant?' <&- >&- 2>&-", 3),
        ("local-rag status --index nothing-here 2>&-", 1),
        ("local-rag index NOTES <&- >&- 2>&-", 0),
    ],
)
def test_a_stream_that_is_closed_from_the_start_changes_no_exit_code(shell, line, code):
    done = shell(line)
    assert done.returncode == code
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_result_that_cannot_be_written_is_an_error(shell):
    done = shell("local-rag status >/dev/full")
    assert done.returncode == 1
    assert "error: the result cannot be written (there is no space left on the disk)" in done.stderr


def test_a_folder_that_was_deleted_is_named(shell, tmp_path):
    done = shell(f"rmdir {shlex.quote(str(tmp_path))} && local-rag status", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0] == "error: the folder that you are in was deleted"
