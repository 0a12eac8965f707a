"""Without the extra `eval`, the commands that need it say how to install it."""

from __future__ import annotations

import sys

import pytest

from local_rag.cli.app import run


@pytest.mark.parametrize(
    ("missing", "command"),
    [
        ("matplotlib", ["eval", "cases.jsonl"]),
        ("jinja2", ["eval", "cases.jsonl", "--retrieval-only"]),
        ("scipy", ["eval", "compare", "a", "b"]),
        ("matplotlib", ["calibrate", "cases.jsonl"]),
    ],
)
def test_a_missing_library_is_one_line_and_the_command_that_installs_it(
    tmp_path, monkeypatch, capsys, missing, command
):
    (tmp_path / "cases.jsonl").write_text('{"question": "Who?", "relevant": ["a.md"]}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, missing, None)  # as where it is not installed
    assert run(command) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        f"error: evaluation needs {missing}, which the extra 'eval' brings",
        'hint: pip install "local-rag[eval]"',
    ]
