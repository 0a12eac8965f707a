"""What a release is made of: the same bytes from the same commit, all that the program needs, and pinned packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support import CHECKOUT

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


def built(source, *what):
    """What is built of a folder, and its bytes."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", "out", *what]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (made,) = (source / "out").iterdir()
    return made, made.read_bytes()


@pytest.mark.slow
def test_two_checkouts_build_the_same_wheel_and_so_does_the_source_package(tmp_path):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True)
    if listed.returncode:
        pytest.skip("this is no checkout of git")
    for copy in ("one", "other"):
        for name in filter(None, listed.stdout.decode().split("\0")):
            (tmp_path / copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(CHECKOUT / name, tmp_path / copy / name)
    os.utime(tmp_path / "other/models.yaml", (1, 1))
    wheel, first = built(tmp_path / "one", "-t", "wheel")
    assert built(tmp_path / "other", "-t", "wheel")[1] == first
    assert set(zipfile.ZipFile(wheel).namelist()) >= NEEDED
    shutil.rmtree(tmp_path / "other/out")
    source, packed_bytes = built(tmp_path / "other", "-t", "sdist")
    shutil.rmtree(tmp_path / "one/out")
    assert built(tmp_path / "one", "-t", "sdist")[1] == packed_bytes
    with tarfile.open(source) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    assert built(tmp_path / "unpacked" / source.name.removesuffix(".tar.gz"), "-t", "wheel")[1] == first


def test_the_lock_file_pins_every_package_with_hashes_and_names_no_index():
    text = (CHECKOUT / "scripts/requirements.txt").read_text()
    lines = re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    pinned = dict(lines)  # of several versions, for several Pythons, the last
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    for wanted in map(Requirement, project["dependencies"] + project["optional-dependencies"]["minilm"]):
        version = pinned.get(canonicalize_name(wanted.name))
        assert version and wanted.specifier.contains(version), f"{wanted}: make the lock file again (CONTRIBUTING.md)"
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(lines) and all("--hash=sha256:" in entry for entry in entries)
    assert "torch" not in pinned and not re.search(r"://|--index|--find-links|^nvidia", text, re.MULTILINE)
