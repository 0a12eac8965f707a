"""The whole way across the air gap: a real bundle, installed and used where there is no route."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.namespaces import NO_ROUTE, namespaces

pytestmark = [
    pytest.mark.bundle,
    pytest.mark.namespace,
    pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces (unshare -rn)"),
]

PERSON = {"HOME": str(Path.home())}
"""What fetches wheels has the settings and the cache of the person's pip; all else has the home of the test."""

BUNDLE = "from local_rag.cli.bundle import bundle_app; raise SystemExit(bundle_app(standalone_mode=False))"


def run(*command, **variables):
    return subprocess.run([*map(str, command)], env=os.environ | variables, capture_output=True, text=True, timeout=900)


def pip_reaches_its_index(tmp_path):
    probe = ["download", "--no-deps", "--quiet", "--timeout", "5", "--retries", "0", "--dest", tmp_path / "probe"]
    return run(sys.executable, "-m", "pip", *probe, "packaging", **PERSON).returncode == 0


def test_a_bundle_is_made_installed_and_used_where_there_is_no_route(tmp_path):
    if not pip_reaches_its_index(tmp_path):
        pytest.skip("pip reaches no index to fetch the wheels from")
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:  # 2 GB, which pytest would keep for three runs
        across_the_gap(Path(folder) / "bundle", Path(folder) / "there")


def across_the_gap(bundle, place):
    made = run(sys.executable, "-c", BUNDLE, "create", bundle, **PERSON)
    assert made.returncode == 0, made.stderr
    manifest = next(line.split()[0] for line in made.stdout.splitlines() if line.endswith("manifest.json"))
    base = getattr(sys, "_base_executable", sys.executable)
    command = [base, "-I", bundle / "install.py", "--venv", place, "--sum", manifest]
    installed = run(*NO_ROUTE, *command, PIP_INDEX_URL="https://pip.test/simple", PIP_FIND_LINKS="/nowhere")
    assert installed.returncode == 0, installed.stderr
    program = place / "bin" / "local-rag"
    assert f"{program} demo\n" in installed.stdout
    shown = run(*NO_ROUTE, program, "demo")
    assert shown.returncode == 0, shown.stderr
    assert "CRAG discards all of them and searches the web instead. [1]" in shown.stdout
    assert "Your files do not say" in shown.stdout
    verified = run(*NO_ROUTE, place / "bin" / "python", "-c", BUNDLE, "verify", bundle, "--sum", manifest)
    assert verified.returncode == 0, verified.stdout
