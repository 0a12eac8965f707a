"""Test a release: the same bytes from the same commit, everything that the program needs, and pinned packages."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support import CHECKOUT
from support.marks import posix

NEEDED = {
    "local_rag/models.yaml",
    "local_rag/py.typed",
    "local_rag/server/page/index.html",
    "local_rag/server/page/vendor/preact.js",
    "local_rag/evaluation/page.html.j2",
    "local_rag/diagnostics/demo/documents/self-rag.md",
    "local_rag/engines/evaluator/weights/evaluator.onnx",
    "local_rag-0.1.0.dist-info/licenses/LICENSE",
    "local_rag-0.1.0.dist-info/licenses/local_rag/engines/evaluator/weights/LICENSE-APACHE",
}


def built(source, umask=0o022, **environment):
    """Build a folder with the command of CONTRIBUTING.md, and return the files by name."""
    (command,) = re.findall(r"`(SOURCE_DATE_EPOCH=.* -m hatchling build)`", (CHECKOUT / "CONTRIBUTING.md").read_text())
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "GIT_DIR": str(CHECKOUT / ".git"), **environment}
    subprocess.run(command, cwd=source, shell=True, check=True, capture_output=True, umask=umask, env=env)
    return {made.name: made.read_bytes() for made in (source / "dist").iterdir()}


@pytest.mark.slow
@posix  # the command is for a POSIX shell
def test_checkout_and_source_package_build_the_same_anywhere_at_any_time(tmp_path):
    checkout = ["git", "checkout-index", "--all", f"--prefix={tmp_path}/one/"]
    if subprocess.run(checkout, cwd=CHECKOUT, capture_output=True).returncode:
        pytest.skip("this is no checkout of git")
    release = built(tmp_path / "one")
    source, wheel = sorted(release, key=len)
    assert set(zipfile.ZipFile(tmp_path / "one/dist" / wheel).namelist()) >= NEEDED
    with tarfile.open(tmp_path / "one/dist" / source) as packed:
        packed.extractall(tmp_path, filter="data")
    other = tmp_path / source.removesuffix(".tar.gz")
    for file in other.rglob("*"):
        file.chmod(file.stat().st_mode & 0o700)
        os.utime(file, (1, 1))
    assert built(other, 0o077, TZ="Asia/Tokyo", SOURCE_DATE_EPOCH="400000000", LC_ALL="C") == release


def test_the_lock_file_pins_every_package_with_hashes_and_names_no_index():
    text = (CHECKOUT / "scripts/requirements.txt").read_text()
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    pinned = dict(entry.split()[0].split("==") for entry in entries)  # of several, for several Pythons, the last
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    for wanted in map(Requirement, project["dependencies"] + project["optional-dependencies"]["minilm"]):
        version = pinned.get(canonicalize_name(wanted.name))
        assert version and wanted.specifier.contains(version), f"{wanted}: make the lock file again (CONTRIBUTING.md)"
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "torch" not in pinned and not re.search(r"://|--index|--find-links|^nvidia", text, re.MULTILINE)
