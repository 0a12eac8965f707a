"""Test which modules a fresh Python has loaded after an import or a short command."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.garden import enter, notes_in

from local_rag.cli.app import run


def loaded_by(code):
    """Return the names of the modules that a fresh Python has after running the code."""
    program = f"{code}\nimport sys; sys.__stdout__.write(' '.join([chr(10), *sys.modules]))"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        .stdout.rpartition("\n")[2]
        .split()
    )


def loaded_by_command(*arguments):
    """Return the names for a command, started as `local-rag` starts it, with exit code 0."""
    return loaded_by(
        f"import os, sys; sys.argv[1:] = {list(arguments)!r}\n"
        "def leave(code):\n    if code: raise SystemExit(code)\n"
        "os._exit = leave\nfrom local_rag.cli import main; main()"
    )


HEAVY = {
    "torch",
    "sentence_transformers",
    "transformers",
    "faiss",
    "langgraph",
    "langchain_core",
    "numpy",
    "openvino",
    "tokenizers",
    "trafilatura",
}


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_by("import local_rag") & (HEAVY | {"pydantic", "yaml", "sqlite3"})


def test_a_command_imports_nothing_heavy_before_it_runs():
    for command in (["--help"], ["search", "--help"], ["config", "show"]):
        assert not loaded_by_command(*command) & HEAVY


def test_a_server_imports_nothing_heavy_before_it_prints_its_address():
    assert not loaded_by("import local_rag.server.serving") & HEAVY


@pytest.mark.slow
@pytest.mark.usefixtures("converted")
def test_a_search_loads_what_embeds_and_nothing_that_answers(monkeypatch, tmp_path):
    enter(monkeypatch, tmp_path)
    assert run(["index", str(notes_in(tmp_path))]) == 0
    loaded = loaded_by_command("search", "How long is the notice period?")
    assert {"numpy", "openvino", "tokenizers"} <= loaded
    needless = {"faiss", "langgraph", "langsmith", "torch", "transformers"}
    assert not loaded & needless
    packages = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("local_rag.")}
    assert not packages & {f"local_rag.{name}" for name in ("engines", "web", "graphs", "evaluation", "diagnostics")}
    assert not loaded & {"local_rag.runtime.rag", "local_rag.runtime.run", "local_rag.text.citations"}
