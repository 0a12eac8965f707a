"""Test that reading the content of files takes time in proportion to it, whatever the content is."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.marks import posix

CHILD = Path(__file__).parents[2] / "support" / "linear_work.py"


@pytest.mark.slow
@posix  # Windows has no timer that counts the time of a process
@pytest.mark.parametrize("kind", ["text", "prose", "records", "markup"])
def test_a_hostile_text_costs_no_more_than_another(kind, tmp_path):
    command = [sys.executable, str(CHILD), kind, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    *passed, last = done.stdout.splitlines()
    assert done.returncode == 0 and last == "done", f"too slow, or wrong: {last}\n{done.stderr}"
    assert len(passed) > 60
