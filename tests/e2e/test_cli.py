"""Run commands as real processes, also with stdout and stderr closed, broken or full: exit codes and silence."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support import CHECKOUT
from support.garden import enter, entered, notes_in
from support.marks import posix
from support.processes import stopped

from local_rag.cli.app import run

pytestmark = pytest.mark.usefixtures("converted")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return a folder of notes, and the environment of a person whose default index has them."""
    base = tmp_path_factory.mktemp("world")
    notes = notes_in(base)
    with entered(base):
        assert run(["index", str(notes)]) == 0
        env = os.environ | {"PYTHONWARNINGS": "error"}
    return base, notes, env


@pytest.fixture
def here(world, monkeypatch):
    """Be that person in this process too, to look at what a command has done."""
    enter(monkeypatch, world[0])


def process(arguments, env, **options):
    command = [sys.executable, "-m", "local_rag", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, **options)


def test_index_reports_what_it_did_and_the_script_is_the_same_command(world, here):
    _, notes, env = world
    again = process(["index", "--all-warnings"], env)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.splitlines()[0] == "0 new, 0 updated, 2 unchanged, 0 removed, 1 skipped"
    assert re.search(r"empty\.txt: is empty", again.stdout)

    script = CHECKOUT / "scripts" / "build_index.py"
    command = [sys.executable, str(script), str(notes), "--index", "other", "--json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    report = json.loads(done.stdout)
    assert [Path(path).name for path in report["new"]] == ["tenant.txt", "plan.md"]
    assert report["skipped"][0]["reason"].startswith("is empty")
    assert report["unchanged"] == 0
    assert run(["remove", "--index", "other"]) == 0
    assert run(["status", "--index", "other"]) == 1


def test_ask_answers_with_a_citation_on_stdout_and_everything_else_on_stderr(world):
    _, notes, env = world
    done = process(["ask", "What does the greenhouse cost?"], env, cwd=notes)
    assert done.returncode == 0, done.stderr
    first, blank, citation = done.stdout.splitlines()
    assert (first, blank) == ("The greenhouse costs 4,200 euros. [1]", "")
    assert citation == '[1] plan.md, § Garden plan > Costs, "The greenhouse costs 4,200 euros."'
    assert done.stderr.splitlines()[0].startswith("engine: extractive")
    assert "retrieving…" in done.stderr
    assert "writing…" in done.stderr


def test_doctor_version_and_completion_as_processes(world):
    _, _, env = world
    assert process(["doctor"], env).returncode == 0
    assert process(["--version"], env).stdout.startswith("local-rag ")
    shell = ["bash", "-c", f"{shlex.quote(sys.executable)} -m local_rag --show-completion; true"]
    assert "local-rag" in subprocess.run(shell, env=env, capture_output=True, text=True, check=True).stdout


def test_demo_answers_one_question_and_abstains_from_the_other(world, here, capsys):
    _, _, env = world
    done = process(["demo"], env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Your files do not say" in done.stdout
    assert "[1] " in done.stdout
    assert run(["demo"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("0 new, 0 updated, ")


def test_debug_shows_the_traceback(here, capsys):
    assert run(["status", "--index", "nothing-here", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


SLOW_ANSWER = """
from local_rag.cli import main
from local_rag.core import cancel
from local_rag.core.protocols import AnswerDelta
from local_rag.engines.extractive.engine import ExtractiveEngine

def answer(self, question, documents, attempt):
    yield AnswerDelta("word ")
    cancel.current().wait(600)

ExtractiveEngine.answer = answer
main()
"""


@posix  # SIGINT as a terminal sends it
def test_ctrl_c_ends_an_answer_that_goes_on(world):
    _, _, env = world
    code, rest = stopped(SLOW_ANSWER, ["ask", "What does the greenhouse cost?"], env, "writing")
    assert (code, rest) == (130, "stopped\n")


# --- streams that are closed or full ----------------------------------------------------------------------------------


@pytest.fixture
def shell(world):
    """Return a function that runs a line of a shell as that person; NOTES are the notes."""
    base, notes, env = world

    def done(line, cwd=base):
        line = line.replace("local-rag", f"{shlex.quote(sys.executable)} -m local_rag").replace("NOTES", str(notes))
        return subprocess.run(line, shell=True, env=env, cwd=cwd, capture_output=True, text=True, timeout=600)

    return done


@posix
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


@posix
def test_a_folder_that_was_deleted_is_named(shell, tmp_path):
    done = shell(f"rmdir {shlex.quote(str(tmp_path))} && local-rag status", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0] == "error: the folder that you are in was deleted"
