"""Make and fill the virtual environment in the checkout, using only the standard library."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO

CHECKOUT = Path(__file__).resolve().parent.parent
CONSTRAINTS = "scripts/constraints.txt"
LOCK = "scripts/requirements.txt"
"""The lock file: every package but PyTorch, with the hashes of its files; CONTRIBUTING.md says how it is made."""
TORCH = "torch==2.13.0"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index of wheels without CUDA (https://pytorch.org/get-started/locally/)."""

MISLEADING = {"PYTHONHOME", "PYTHONPATH", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "__PYVENV_LAUNCHER__"}
"""Environment variables that send pip or Python elsewhere."""

AGAIN = "the same command again: what is installed already is kept"
TAMPERED = "DO NOT MATCH THE HASHES"
"""The words of pip for a file whose hash differs from the lock file."""
STOPPED = 130
"""The exit status after Ctrl-C: 128 and the number of SIGINT."""

TICK, BEAT = 1.0, 10.0
"""Seconds between two checks of a child, and between two dots that show its work without a terminal."""

GRACE = 5.0
"""Seconds that a child gets to end by itself after Ctrl-C, and again after being terminated."""


Wait = Callable[[subprocess.Popen[bytes]], object]


class SetupError(Exception):
    """Report in one line what went wrong, and in `hint` what to do next."""

    def __init__(self, message: str, hint: str, status: int = 1) -> None:
        super().__init__(message)
        self.hint = hint
        self.status = status


def main(script: Callable[[], int]) -> int:
    """Run a script and turn its errors and Ctrl-C into a line and an exit status."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a Windows console without …
    try:
        return script()
    except SetupError as error:
        say(f"{error}\n  try: {error.hint}", to=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        say("\nstopped; the same command goes on from here", to=sys.stderr)
        return STOPPED


def say(text: str, end: str = "\n", to: TextIO | None = None) -> None:
    print(text, end=end, file=to or sys.stdout, flush=True)


@dataclass(frozen=True)
class Environment:
    """Manage the virtual environment of a checkout."""

    checkout: Path
    windows: bool = os.name == "nt"

    @property
    def folder(self) -> Path:
        return self.checkout / ".venv"

    @property
    def python(self) -> Path:
        return self.program("python")

    @property
    def stamp(self) -> Path:
        """Return the file that a finished installation leaves: its fingerprint, then its extras."""
        return self.folder / "local-rag-setup.txt"

    def program(self, name: str) -> Path:
        return self.folder / ("Scripts" if self.windows else "bin") / (f"{name}.exe" if self.windows else name)

    def typed(self, name: str) -> str:
        """Return a program as a person in the checkout types it."""
        return f".venv\\Scripts\\{name}" if self.windows else f".venv/bin/{name}"

    def next_commands(self) -> str:
        """Return what a person types after the demo."""
        program, activate = self.typed("local-rag"), self.typed("activate")
        return (
            f"\nNow your own files:\n"
            f"  {program} index FOLDER\n"
            f'  {program} ask "your question"\n'
            f"or in the browser, which only this machine can reach:\n"
            f"  {program} serve\n"
            f"To type only local-rag from now on:\n"
            f"  {activate if self.windows else f'source {activate}'}"
        )

    def version(self) -> str:
        """Return the version of its Python, or "" if there is none that runs and has pip."""
        command = [str(self.python), "-c", "import pip, platform; print(platform.python_version())"]
        try:
            asked = subprocess.run(command, env=self.variables(os.environ), capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return ""
        return asked.stdout.strip()

    def variables(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of an activated environment, without those that mislead."""
        path = os.pathsep.join(filter(None, [str(self.python.parent), given.get("PATH", "")]))
        kept = {name: value for name, value in given.items() if name.upper() not in MISLEADING}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)  # without bytecode every process compiles every module anew
        own = {"VIRTUAL_ENV": str(self.folder), "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
        return kept | own

    def prepare(self, extras: Collection[str], recreate: bool = False) -> None:
        """Make the environment with these extras and those it had; do nothing if all are installed.

        Raise SetupError.
        """
        if recreate:
            self.delete()
        version = self.version()
        there = self.installed(version)
        if there.issuperset(extras):
            say("everything is installed in .venv")
            return
        start = time.monotonic()
        if not version:
            self.make()
            version = self.version()
        self.stamp.unlink(missing_ok=True)
        self.install(torch_ways(sys.platform))
        wanted = sorted(there.union(extras))
        locked = ("--require-hashes", "--no-deps", "-r", LOCK)
        package = Way("installing local-rag", ("-e", f".[{','.join(wanted)}]"))
        self.install([Way("installing what local-rag needs (about 300 MB)", locked, "not all there"), package])
        self.install([package])
        self.stamp.write_text("\n".join([self.fingerprint(version), *wanted]), encoding="utf-8")
        say(f"installed in .venv in {time.monotonic() - start:.0f} s")

    def installed(self, version: str) -> set[str]:
        """Return the extras of a finished installation by this version of Python, if its requirements are unchanged."""
        if not (version and self.stamp.is_file()):
            return set()
        known, *extras = self.stamp.read_text(encoding="utf-8", errors="replace").split("\n")
        return set(extras) if known == self.fingerprint(version) else set()

    def fingerprint(self, version: str) -> str:
        """Return a digest of folder, Python and requirements; if it changes, the installation must be done again."""
        digest = hashlib.sha256(f"{self.checkout}\n{version}\n".encode())
        for name in ("pyproject.toml", CONSTRAINTS, LOCK):
            digest.update((self.checkout / name).read_bytes())
        return digest.hexdigest()

    def delete(self) -> None:
        """Delete the environment; raise SetupError if the folder is no environment, or if the system refuses."""
        folder, again = self.folder, "then the same command"
        if folder.is_symlink() or (folder.exists() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").exists()):
            raise SetupError(f"{folder} is not a virtual environment made here", f"move it away, {again}")
        try:
            if folder.exists():
                shutil.rmtree(folder)
        except OSError as error:
            raise SetupError(f"cannot delete {folder}: {error}", f"close what uses it, {again}") from error

    def make(self) -> None:
        """Make the environment; raise SetupError if this Python cannot make one."""
        if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
            python = f"python{sys.version_info.major}.{sys.version_info.minor}"
            hint = f"sudo apt install {python}-venv, then the same command"
            raise SetupError(f"{python} comes without venv here", hint)
        self.delete()
        command = [sys.executable, "-m", "venv", "--prompt", "local-rag", str(self.folder)]
        status, output = self.stage("making a virtual environment in .venv", *command)
        if status or not self.version():
            raise SetupError(f"cannot make a virtual environment\n{output}", "another Python, 3.11 or newer")

    def install(self, ways: Collection[Way]) -> None:
        """Install in the first way that works, but stop after a file with a wrong hash.

        Raise SetupError with the whole output of the last way.
        """
        quiet = ["--quiet", "--progress-bar", "off", "--no-warn-script-location", "-c", CONSTRAINTS]
        output = ""
        for way in ways:
            command = [str(self.python), "-m", "pip", "install", *quiet, *way.arguments]
            status, output = self.stage(way.doing, *command, failed=way.failed)
            if status == 0:
                return
            if TAMPERED in output:
                break
        raise SetupError(f"pip could not install what is needed; it says:\n{output}", hint(output))

    def call(self, *command: str | Path, wait: Wait = subprocess.Popen.wait, **streams: Any) -> int:
        """Run a command and return its exit status; Ctrl-C reaches it too, so that it can end by itself.

        Raise KeyboardInterrupt if it ended by Ctrl-C.
        """
        words, variables = [*map(str, command)], self.variables(os.environ)
        with subprocess.Popen(words, env=variables, cwd=self.checkout, **streams) as process:
            try:
                wait(process)
            except KeyboardInterrupt:
                _end(process)
                raise
        if process.returncode == STOPPED:
            raise KeyboardInterrupt
        return process.returncode

    def stage(self, doing: str, *command: str | Path, failed: str = "failed") -> tuple[int, str]:
        """Run a command while `doing` and the seconds are shown; return its exit status and its output."""
        say(f"{doing}…", end="")
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
            status = self.call(*command, wait=partial(_wait, doing), **streams)
            seconds = f"{time.monotonic() - start:.0f} s"
            _line(doing, f"{failed} ({seconds})" if status else seconds, end="\n")
            output.seek(0)
            return status, output.read().decode(errors="replace").strip()


@dataclass(frozen=True)
class Way:
    """Describe one way to install something: the text to show meanwhile, and the text to show if it fails."""

    doing: str
    arguments: tuple[str, ...]
    failed: str = "failed"


def torch_ways(platform: str) -> tuple[Way, ...]:
    """Return the ways to get PyTorch without CUDA, best way first; `platform` is sys.platform.

    On Linux the ordinary index has CUDA with several GB of libraries. --no-deps: the lock file has the requirements.
    """
    pinned = ("--no-deps", TORCH)
    cpu_only = ("--timeout", "5", "--retries", "0", "--index-url", CPU_INDEX)
    size = "installing PyTorch for the CPU (about 200 MB)"
    if not platform.startswith("linux"):
        return (Way(size, pinned),)
    return (
        Way("looking for PyTorch on this machine", ("--no-index", *pinned), "not there"),
        Way(f"{size} from pytorch.org", (*cpu_only, *pinned), "not there"),
        Way("installing PyTorch from pip's own index (on Linux with CUDA, several GB)", (TORCH,)),
    )


def hint(output: str) -> str:
    """Return what to do about an output of pip."""
    text = output.lower()
    if "no space left" in text or "not enough space" in text:
        return f"free 3 GB of disk space, then {AGAIN}"
    if any(sign in text for sign in ("connection", "timed out", "resolve", "resolution", "proxy", "ssl")):
        return f"see that pip reaches its index (pip config list shows which), then {AGAIN}"
    if TAMPERED.lower() in text:
        return "nothing of it was installed; see which index pip asks (pip config list), and do not go on with that one"
    if "no matching distribution found for torch" in text:
        return f"another Python from 3.11 on, with --recreate: there is no {TORCH} for this one on this system"
    return AGAIN


def _wait(doing: str, process: subprocess.Popen[bytes]) -> None:
    start = beat = time.monotonic()
    while True:
        try:
            process.wait(timeout=TICK)
            return
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            if sys.stdout.isatty():
                _line(doing, f"{now - start:.0f} s")
            elif now - beat >= BEAT:
                say(".", end="")
                beat = now


def _line(doing: str, rest: str, end: str = "") -> None:
    say(f"\r{doing}… {rest}" if sys.stdout.isatty() else f" {rest}", end=end)


def _end(process: subprocess.Popen[bytes]) -> None:
    for tell in (process.terminate, process.kill):
        try:
            process.wait(timeout=GRACE)
            return
        except subprocess.TimeoutExpired:
            tell()
