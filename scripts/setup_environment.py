"""The virtual environment in the checkout: made, filled and recognised again. Only the standard library."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from setup_console import SetupError, done, quietly, say, variables

CHECKOUT = Path(__file__).resolve().parent.parent
CONSTRAINTS = "scripts/constraints.txt"
TORCH = "torch==2.13.0"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index of wheels without CUDA (https://pytorch.org/get-started/locally/)."""

AGAIN = "the same command again: what is installed already is kept"


@dataclass(frozen=True)
class Environment:
    """The virtual environment of a checkout."""

    checkout: Path
    windows: bool = os.name == "nt"

    @property
    def folder(self) -> Path:
        return self.checkout / ".venv"

    @property
    def programs(self) -> Path:
        return self.folder / ("Scripts" if self.windows else "bin")

    @property
    def python(self) -> Path:
        return self.program("python")

    def program(self, name: str) -> Path:
        return self.programs / (f"{name}.exe" if self.windows else name)

    @property
    def variables(self) -> dict[str, str]:
        return variables(os.environ, self.programs)

    def typed(self, name: str) -> str:
        """A program as a person in the checkout types it."""
        kind: type[PurePath] = PureWindowsPath if self.windows else PurePosixPath
        return str(kind(".venv", "Scripts" if self.windows else "bin", name))

    def version(self) -> str:
        """The version of its Python, empty where there is none that runs and has pip."""
        try:
            asked = subprocess.run(
                [self.python, "-c", "import pip, platform; print(platform.python_version())"],
                env=self.variables,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:
            return ""
        return asked.stdout.strip() if asked.returncode == 0 else ""


@dataclass(frozen=True)
class Way:
    """One way to install something: what the person reads meanwhile, and after it worked or did not."""

    doing: str
    arguments: tuple[str, ...]
    worked: str = ""
    failed: str = "failed"


def torch_ways(platform: str) -> tuple[Way, ...]:
    """How to get PyTorch without CUDA, best way first; `platform` is sys.platform.

    On Linux the ordinary index has CUDA with several GB of libraries. --no-deps: their index is the ordinary one.
    """
    pinned = ("--no-deps", TORCH)
    impatient = ("--timeout", "5", "--retries", "0")
    size = "installing PyTorch for the CPU (about 200 MB)"
    if not platform.startswith("linux"):
        return (Way(size, pinned),)
    return (
        Way("looking for PyTorch on this machine", ("--no-index", *pinned), "installed", "not there"),
        Way(f"{size} from pytorch.org", (*impatient, "--index-url", CPU_INDEX, *pinned), failed="not there"),
        Way("installing PyTorch from pip's own index (on Linux with CUDA, several GB)", pinned),
    )


def package_ways(extras: Collection[str]) -> tuple[Way, ...]:
    """How to install the checkout itself, editable. The constraint keeps the PyTorch that is there."""
    wanted = f".[{','.join(sorted(extras))}]"
    return (Way("installing local-rag and what it needs (about 300 MB)", ("-e", wanted)),)


def prepare(environment: Environment, extras: Collection[str], recreate: bool = False) -> None:
    """Make the environment with these extras, or with more where more were there; nothing is done if all is there.

    Raises SetupError.
    """
    if recreate:
        _delete(environment)
    version = environment.version()
    stamped = read_stamp(environment, version) if version else None
    if stamped is not None and stamped.issuperset(extras):
        say("everything is installed in .venv")
        return
    start = time.monotonic()
    if not version:
        _make(environment)
        version = environment.version()
    _stamp(environment).unlink(missing_ok=True)
    wanted = set(extras) | (stamped or set())
    _install(environment, torch_ways(sys.platform))
    _install(environment, package_ways(wanted))
    write_stamp(environment, version, wanted)
    say(f"installed in .venv in {time.monotonic() - start:.0f} s")


# --- the stamp ------------------------------------------------------------------------------------------------


def fingerprint(checkout: Path, version: str) -> str:
    """Changes whenever an installation must be done again: SHA-256 of where it is, its Python and what it asks for."""
    digest = hashlib.sha256(f"{checkout}\n{version}\n".encode())
    for name in ("pyproject.toml", CONSTRAINTS):
        digest.update((checkout / name).read_bytes())
    return digest.hexdigest()


def read_stamp(environment: Environment, version: str) -> set[str] | None:
    """The extras of a finished installation, None where there is none or what it asked for has changed since."""
    try:
        stamp = json.loads(_stamp(environment).read_text(encoding="utf-8"))
        if stamp["fingerprint"] != fingerprint(environment.checkout, version):
            return None
        return set(stamp["extras"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_stamp(environment: Environment, version: str, extras: Collection[str]) -> None:
    """Mark the installation as finished; the rename leaves no half a stamp."""
    stamp = {"fingerprint": fingerprint(environment.checkout, version), "extras": sorted(extras)}
    half = _stamp(environment).with_suffix(".half")
    half.write_text(json.dumps(stamp), encoding="utf-8")
    half.replace(_stamp(environment))


def _stamp(environment: Environment) -> Path:
    return environment.folder / "local-rag-setup.json"


# --- the stages -----------------------------------------------------------------------------------------------


def _delete(environment: Environment) -> None:
    folder = environment.folder
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or (not (folder / "pyvenv.cfg").exists() and any(folder.iterdir())):
        raise SetupError(f"{folder} is not a virtual environment made here", "move it away, then the same command")
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise SetupError(f"cannot delete {folder}: {error}", "close what uses it, then the same command") from error


def _make(environment: Environment) -> None:
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        python = f"python{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(f"{python} comes without venv here", f"sudo apt install {python}-venv, then the same command")
    _delete(environment)
    doing, start = "making a virtual environment in .venv", time.monotonic()
    command = [sys.executable, "-m", "venv", "--prompt", "local-rag", str(environment.folder)]
    status, output = quietly(doing, command, variables(os.environ, environment.programs), environment.checkout)
    done(doing, start, "failed" if status else "")
    if status or not environment.version():
        raise SetupError(f"cannot make a virtual environment\n{output}", "another Python, 3.11 or newer")


def _install(environment: Environment, ways: Sequence[Way]) -> None:
    """Take the first way that works. Raises SetupError with the whole output of the last."""
    output = ""
    for way in ways:
        start = time.monotonic()
        status, output = quietly(
            way.doing, pip(environment.python, way.arguments), environment.variables, environment.checkout
        )
        done(way.doing, start, way.failed if status else way.worked)
        if status == 0:
            return
    raise SetupError(f"pip could not install what is needed; it says:\n{output}", hint(output))


def pip(python: Path, arguments: Sequence[str]) -> list[str]:
    """The command line of one installation, without progress bars and advice that nobody can act on."""
    quiet = ["--quiet", "--progress-bar", "off", "--no-warn-script-location"]
    return [str(python), "-m", "pip", "install", *quiet, "-c", CONSTRAINTS, *arguments]


def hint(output: str) -> str:
    """What to do about an output of pip."""
    text = output.lower()
    if "no space left" in text or "not enough space" in text:
        return f"free 3 GB of disk space, then {AGAIN}"
    if any(sign in text for sign in ("connection", "timed out", "resolve", "resolution", "proxy", "ssl")):
        return f"see that pip reaches its index (pip config list shows which), then {AGAIN}"
    if "no matching distribution found for torch" in text:
        return f"another Python from 3.11 on, with --recreate: there is no {TORCH} for this one on this system"
    return AGAIN


def next_commands(environment: Environment) -> str:
    """What a person types after the demo, from the checkout."""
    program = environment.typed("local-rag")
    activate = environment.typed("activate")
    return (
        f"\nNow your own files:\n"
        f"  {program} index FOLDER\n"
        f'  {program} ask "your question"\n'
        f"or, to type only local-rag from now on:\n"
        f"  {activate if environment.windows else f'source {activate}'}"
    )
