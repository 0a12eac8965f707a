"""Run the lines of docs/README.md that install the wheel as a program, in environments without anything else."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support import CHECKOUT

HOME = str(Path.home())
"""The home folder of the person, whose settings say where packages come from."""
WHERE = [("uv tool", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR"), ("pipx", "PIPX_HOME", "PIPX_BIN_DIR")]
INDEX = r" --torch-backend cpu| --extra-index-url https://download.pytorch.org/whl/cpu"
REACH = "import socket; socket.create_connection(('download.pytorch.org', 443), 5)"

pytestmark = pytest.mark.bundle


def ran(command, cwd, **variables):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"HOME": HOME, "PATH": path, "UV_PYTHON": sys.executable}
    env = {"UV_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", ""), **os.environ, **own, **variables}
    done = subprocess.run(command, cwd=cwd, shell=True, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(("tool", "tools", "programs"), WHERE)
def test_an_empty_environment_gets_the_program(tool, tools, programs):
    """Run the lines unchanged, but without PyTorch's index of CPU builds if that cannot be reached."""
    page = (CHECKOUT / "docs" / "README.md").read_text()
    lines = re.findall(r"^(?:pip wheel|uv tool|pipx) (?:.*\\\n)*.*", page, re.MULTILINE)
    wheel, install = (next(line for line in lines if line.startswith(name)) for name in ("pip wheel", tool))
    if subprocess.run([sys.executable, "-c", REACH], capture_output=True).returncode:
        install, removed = re.subn(INDEX, "", install)
        assert removed == 1, install
    with tempfile.TemporaryDirectory() as folder:  # 1.5 GB, which pytest would keep for three runs
        checkout, bin_folder = Path(folder, "checkout"), f"{folder}/bin"
        shutil.copytree(CHECKOUT, checkout, ignore=shutil.ignore_patterns(".*", "tests", "__pycache__"))
        ran(wheel, checkout)
        ran(install, checkout, **{tools: f"{folder}/tools", programs: bin_folder})
        assert ran("./local-rag --version", bin_folder) == "local-rag 0.1.0\n"
        assert "Your files do not say" in ran("./local-rag demo", bin_folder)
