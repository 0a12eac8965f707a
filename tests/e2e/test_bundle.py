"""Test the whole way to an offline machine: a real bundle, installed and used without a route."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.processes import NO_ROUTE, namespaces

pytestmark = [
    pytest.mark.bundle,
    pytest.mark.namespace,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces (unshare -rn)"),
]

PERSON = {"HOME": str(Path.home())}
"""The home for fetching wheels, with the settings and cache of the person's pip; all else has the test's home."""


def run(*command, **variables):
    return subprocess.run([*map(str, command)], env=os.environ | variables, capture_output=True, text=True, timeout=900)


def test_a_bundle_is_made_carried_installed_and_asked_where_there_is_no_route(tmp_path):
    probe = ["download", "--no-deps", "--quiet", "--timeout", "5", "--retries", "0", "--dest", tmp_path / "probe"]
    if run(sys.executable, "-m", "pip", *probe, "packaging", **PERSON).returncode:
        pytest.skip("pip reaches no index to fetch the wheels from")
    notes = tmp_path / "plan.md"
    notes.write_text("# Plan\n\nThe greenhouse costs 4,200 euros.\n")
    assert run(sys.executable, "-m", "local_rag", "index", notes, "--index", "garden").returncode == 0
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:  # 2 GB, which pytest would keep for three runs
        across_the_gap(Path(folder) / "bundle", Path(folder) / "carried", Path(folder) / "there")


def across_the_gap(made, carried, place):
    links = [part for folder in os.environ.get("PIP_FIND_LINKS", "").split() for part in ("--find-links", folder)]
    created = run(sys.executable, "-m", "local_rag", "bundle", "create", made, "--index", "garden", *links, **PERSON)
    assert created.returncode == 0, created.stderr
    sum = next(line.split()[0] for line in created.stdout.splitlines() if line.endswith("manifest.json"))
    made.rename(carried)
    there = {name: str(place / name) for name in ("LOCAL_RAG_DATA_DIR", "LOCAL_RAG_CONFIG_DIR", "LOCAL_RAG_CACHE_DIR")}
    base = getattr(sys, "_base_executable", sys.executable)
    hostile = {"PIP_INDEX_URL": "https://pip.test/simple", "PIP_FIND_LINKS": "/nowhere"}
    installed = run(*NO_ROUTE, base, "-I", carried / "install.py", "--sum", sum, **there, **hostile)
    assert installed.returncode == 0, installed.stderr
    program = place / "LOCAL_RAG_DATA_DIR" / "venv" / "bin" / "local-rag"
    assert f"{program} demo\n" in installed.stdout
    answered = run(*NO_ROUTE, program, "ask", "What does the greenhouse cost?", "--index", "garden", **there)
    assert answered.returncode == 0 and "4,200 euros" in answered.stdout, answered.stderr
    shown = run(*NO_ROUTE, program, "demo", **there)
    assert shown.returncode == 0, shown.stderr
    assert "Your files do not say" in shown.stdout
    again = run(*NO_ROUTE, program, "bundle", "install", carried, "--dry-run", "--sum", sum, **there)
    assert again.returncode == 0, again.stdout
    checked = run(*NO_ROUTE, program, "doctor", **there)
    assert "others may open" not in checked.stdout
