"""Without the extra `eval`, the commands that need it say how to install it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules[sys.argv[1]] = None  # as where it is not installed
from local_rag.cli.app import run
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("missing", "command"),
    [
        ("matplotlib", ["eval", "cases.jsonl"]),
        ("jinja2", ["eval", "cases.jsonl", "--retrieval-only"]),
        ("scipy", ["eval", "compare", "a", "b"]),
        ("matplotlib", ["calibrate", "cases.jsonl"]),
    ],
)
def test_a_missing_library_is_one_line_and_the_command_that_installs_it(tmp_path, missing, command):
    (tmp_path / "cases.jsonl").write_text('{"question": "Who?", "relevant": ["a.md"]}\n')
    child = subprocess.run(
        [sys.executable, "-c", PROGRAM, missing, *command], cwd=tmp_path, capture_output=True, text=True
    )
    assert (child.returncode, child.stdout) == (1, "")
    assert child.stderr.splitlines() == [
        f"error: evaluation needs {missing}, which the extra 'eval' brings",
        'hint: pip install "local-rag[eval]"',
    ]
