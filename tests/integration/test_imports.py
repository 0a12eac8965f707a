"""Test which modules a fresh Python has loaded after an import or a short command."""

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


def loaded_by_command(line):
    """Return the names for a command, started as `local-rag` starts it, with exit code 0."""
    return loaded_by(
        f"import os, sys; sys.argv[1:] = {line.split()!r}\n"
        "def leave(code):\n    if code: raise SystemExit(code)\n"
        "os._exit = leave\nfrom local_rag.cli import main; main()"
    )


HEAVY = set(
    "faiss langchain_core langgraph numpy openvino sentence_transformers "
    "tokenizers torch trafilatura transformers".split()
)


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_by("import local_rag") & (HEAVY | {"pydantic", "yaml", "sqlite3"})


def test_a_command_and_a_server_import_nothing_heavy_before_they_run_and_print_an_address():
    assert not loaded_by_command("config show") & HEAVY
    helps = "from local_rag.cli.app import run; run(['--help']); run(['search', '--help'])"
    assert not loaded_by(f"{helps}; import local_rag.server.serving") & HEAVY


@pytest.mark.slow
@pytest.mark.usefixtures("converted")
def test_a_search_loads_what_embeds_and_nothing_that_answers(monkeypatch, tmp_path):
    enter(monkeypatch, tmp_path)
    assert run(["index", str(notes_in(tmp_path))]) == 0
    loaded = loaded_by_command("search notice")
    assert {"numpy", "openvino", "tokenizers"} <= loaded
    needless = {"faiss", "langgraph", "langsmith", "torch", "transformers"}
    assert not loaded & needless
    packages = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("local_rag.")}
    assert not packages & {f"local_rag.{name}" for name in ("engines", "web", "graphs", "evaluation", "diagnostics")}
    assert not loaded & {"local_rag.runtime.rag", "local_rag.runtime.run", "local_rag.text.citations"}
