"""Make and fill the virtual environment in the checkout, using only the standard library."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDER = CHECKOUT / ".venv"
PROGRAMS = Path(".venv", "Scripts" if os.name == "nt" else "bin")
"""The folder of the programs, as a person in the checkout types it."""
PYTHON = CHECKOUT / PROGRAMS / "python"
STAMP = FOLDER / "local-rag-setup.txt"
"""The file that a finished installation leaves: a digest of what it depends on, then its extras."""

CONSTRAINTS = "scripts/constraints.txt"
"""The file that pins PyTorch."""
LOCK = "scripts/requirements.txt"
"""The lock file: every other package, with the hashes of its files; CONTRIBUTING.md says how it is made."""
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index of wheels without CUDA (https://pytorch.org/get-started/locally/)."""

TAMPERED = "DO NOT MATCH THE HASHES"
"""The words of pip for a file whose hash differs from the lock file."""

MISLEADING = {"PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
"""Variables that send Python elsewhere, or make every process compile every module anew."""

_HAS_PIP = "import sys, importlib.util; sys.exit(importlib.util.find_spec('pip') is None)"


def main(script: Callable[[], int]) -> None:
    """Run a script, and end with its exit status, or with that of Ctrl-C."""
    try:
        sys.exit(script())
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        sys.exit(f"{error}\n  try: the same command with --recreate")


def run(*command: str | Path, stderr: IO[bytes] | None = None) -> int:
    """Run a command in the checkout and return its exit status; Ctrl-C reaches it too, and is raised once it ends."""
    sys.stdout.flush()
    variables = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    with subprocess.Popen([*map(str, command)], env=variables, cwd=CHECKOUT, stderr=stderr) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise


def prepare(extras: set[str], recreate: bool) -> None:
    """Make the environment with these extras, or end the program; do nothing if all are installed."""
    works = not recreate and PYTHON.exists() and run(PYTHON, "-c", _HAS_PIP) == 0
    digest = _digest()
    if works and STAMP.exists():
        known, *installed = STAMP.read_text(encoding="utf-8").split("\n")
        if known == digest and extras.issubset(installed):
            print("everything is installed in .venv")
            return
    if not works:
        _make()
    STAMP.unlink(missing_ok=True)
    cpu = ["--extra-index-url", CPU_INDEX] if sys.platform.startswith("linux") else []
    size = "about 200 MB; several GB on Linux if download.pytorch.org cannot be reached"
    _install(f"PyTorch for the CPU ({size})", "--no-deps", "-r", CONSTRAINTS, *cpu)
    _install("what local-rag needs (about 300 MB)", "--no-deps", "--require-hashes", "-r", LOCK)
    _install("local-rag", "-e", f".[{','.join(sorted(extras))}]", "-c", CONSTRAINTS)
    STAMP.write_text("\n".join([digest, *sorted(extras)]), encoding="utf-8")
    print("installed in .venv")


def _digest() -> str:
    """Return a digest of the folder and the requirements; if it changes, the installation must be done again."""
    digest = hashlib.sha256(str(CHECKOUT).encode())
    for name in ("pyproject.toml", CONSTRAINTS, LOCK):
        digest.update((CHECKOUT / name).read_bytes())
    return digest.hexdigest()


def _make() -> None:
    """Make the environment in place of what is there, but only if that is an environment."""
    if FOLDER.exists() and any(FOLDER.iterdir()) and not (FOLDER / "pyvenv.cfg").exists():
        sys.exit(f"{FOLDER} is not a virtual environment\n  try: move it away, then the same command")
    print("making a virtual environment in .venv")
    if run(sys.executable, "-m", "venv", "--clear", "--prompt", "local-rag", FOLDER):
        sys.exit("this Python could not make a virtual environment\n  try: what it says above, then the same command")


def _install(what: str, *arguments: str) -> None:
    """Install by uv where it is installed; where it is not, or fails, by pip, whose settings uv does not read."""
    print(f"installing {what}")
    quiet = [] if sys.stdout.isatty() else ["--quiet"]
    uv = shutil.which("uv")
    if uv:
        if run(uv, "pip", "install", "--python", PYTHON, *quiet, *arguments) == 0:
            return
        print("uv could not; trying pip")
    with tempfile.TemporaryFile() as errors:
        if run(PYTHON, "-m", "pip", "install", "--disable-pip-version-check", *quiet, *arguments, stderr=errors) == 0:
            return
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    print(said, file=sys.stderr)
    if LOCK in arguments and TAMPERED not in said:
        print("not all of it is there as pinned; going on with the newest that fit")
        return
    again = "the same command again, which keeps what is installed, or with --recreate"
    sys.exit(f"could not install {what}\n  try: what pip says above, then {again}")
