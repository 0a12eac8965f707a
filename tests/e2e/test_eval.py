"""Stop `local-rag eval` in the middle, and continue it."""

import os
import sys

import pytest
from support.evaluation_cases import cases_file, rows_of
from support.garden import notes_in
from support.processes import stopped

from local_rag.cli.app import run

pytestmark = pytest.mark.usefixtures("converted")

WAITING = """
import sys
from local_rag.cli import main
from local_rag.core import cancel
from local_rag.engines.extractive.engine import ExtractiveEngine

answer_at_once = ExtractiveEngine.answer

def answer(self, question, documents, attempt):
    if "notice" in question:
        print("THE SECOND QUESTION", file=sys.stderr, flush=True)
        cancel.current().wait(600)
    yield from answer_at_once(self, question, documents, attempt)

ExtractiveEngine.answer = answer
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT as a terminal sends it")
def test_ctrl_c_loses_no_answer_and_the_same_command_goes_on(tmp_path):
    assert run(["index", str(notes_in(tmp_path))]) == 0
    command = ["eval", str(cases_file(tmp_path)), "--out", str(tmp_path / "run"), "--graph", "self-rag"]
    code, rest = stopped(WAITING, command, os.environ, "THE SECOND QUESTION")
    assert code == 130
    assert rest.endswith("stopped\nhint: the same command continues where it stopped\n")
    before = rows_of(tmp_path / "run")
    assert 2 < len(before) < 5
    assert run(command) == 0
    after = rows_of(tmp_path / "run")
    assert after[: len(before)] == before
    assert len(after) == 2 + 3, "what was answered before is not asked again"
