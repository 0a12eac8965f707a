"""What a fresh Python has loaded after an import or a short command."""

from __future__ import annotations

import subprocess
import sys


def loaded_by(code):
    """Names of the modules that a fresh Python has after running the code."""
    program = f"{code}\nimport sys; print(' '.join(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


HEAVY = {
    "torch",
    "sentence_transformers",
    "transformers",
    "faiss",
    "langgraph",
    "langchain_core",
    "numpy",
    "trafilatura",
}


def test_importing_the_package_and_asking_for_help_load_nothing_heavy():
    assert not loaded_by("import local_rag") & (HEAVY | {"pydantic", "yaml", "sqlite3"})
    assert not loaded_by("from local_rag.cli.app import run; run(['--help'])") & HEAVY
    assert not loaded_by("from local_rag.cli.app import run; run(['config', 'show'])") & HEAVY
