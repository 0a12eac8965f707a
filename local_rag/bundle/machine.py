"""What a bundle must know of the machine: platform, folders, and the store of Ollama. Only the standard library.

It is the beginning of every bundle's install.py, which older Pythons read as far as `_require`: only syntax of
Python 3.6 in this file and in those that follow it there (large_files.py, checking.py, installer.py).
"""

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

OLDEST = (3, 11)


def _require() -> None:
    """Leave with what to type instead, if this Python cannot run what follows."""
    if tuple(sys.version_info[:2]) >= OLDEST:
        return
    try:
        wanted = str(json.loads((Path(__file__).parent / "manifest.json").read_text(encoding="utf-8"))["python"])
    except (OSError, ValueError, KeyError, TypeError):
        wanted = "{}.{}".format(*OLDEST)
    have = ".".join(str(part) for part in sys.version_info[:3])
    sys.exit(f"error: this bundle is for Python {wanted}, and this is Python {have}\nhint: python{wanted} install.py")


_require()


class Refused(Exception):
    """What does not fit, in one line, and in `hint` what to type next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def say(line: str) -> None:
    """Progress, on stderr."""
    _write(sys.stderr, [line])


def show(*lines: str) -> None:
    """Results, on stdout."""
    _write(sys.stdout, lines)


def _write(stream: TextIO, lines: Iterable[str]) -> None:
    """Nothing that a bundle names can drive the terminal."""
    stream.writelines("".join(ch if ch.isprintable() else "?" for ch in line) + "\n" for line in lines)
    stream.flush()


def here() -> str:
    """The running machine as a bundle names it, such as linux-x86_64."""
    system = {"linux": "linux", "darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if system == "macos" and machine == "aarch64":
        machine = "arm64"
    return f"{system}-{machine if sys.maxsize > 2**32 else '32bit'}"


def must_fit(wanted: str, python: str, needs: dict[str, str], program: str) -> None:
    """Raises Refused where this machine or this Python is not the one that a bundle was made for.

    `needs` are the oldest system libraries that its wheels run with, `program` is the bundle's install.py.
    """
    have = "{}.{}".format(*sys.version_info[:2])
    again = f"local-rag bundle create DIR --platform {here()} --python {have}   on the machine that has the network"
    if wanted != here():
        raise Refused(f"the bundle is for {wanted}, and this machine is {here()}", again)
    if python != have:
        raise Refused(
            f"the bundle is for Python {python}, and this is Python {have}", f"python{python} {program}   or: {again}"
        )
    library, version = platform.libc_ver()
    there = {"glibc": version if library == "glibc" else "", "macos": platform.mac_ver()[0]}
    for name, least in needs.items():
        present = there.get(name, "")
        if not present or _numbers(present) < _numbers(least):
            raise Refused(f"the bundle needs {name} {least} or newer, and this machine has {present or 'none'}", again)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def folders() -> tuple[Path, Path]:
    """The folders of settings and of data, as local_rag/config/ and platformdirs choose them."""
    paths = []
    for variable, xdg, usual in (
        ("LOCAL_RAG_CONFIG_DIR", "XDG_CONFIG_HOME", ".config"),
        ("LOCAL_RAG_DATA_DIR", "XDG_DATA_HOME", ".local/share"),
    ):
        base = os.environ.get(xdg, "").strip()
        if os.environ.get(variable):
            paths.append(Path(os.environ[variable]).expanduser().absolute())
            continue
        if sys.platform == "win32":
            parent = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
        elif Path(base).is_absolute():
            parent = Path(base)
        else:
            parent = Path.home() / ("Library/Application Support" if sys.platform == "darwin" else usual)
        paths.append(parent / "local-rag")
    return paths[0], paths[1]


def ollama_store() -> Path:
    """Where Ollama keeps its models: OLLAMA_MODELS, else the person's own store, else that of the Linux service.

    https://docs.ollama.com/faq, "Where are models stored?"
    """
    if os.environ.get("OLLAMA_MODELS"):
        return Path(os.environ["OLLAMA_MODELS"]).expanduser().absolute()
    own, service = Path.home() / ".ollama/models", Path("/usr/share/ollama/.ollama/models")
    return service if sys.platform == "linux" and service.is_dir() and not own.is_dir() else own


def quoted(path: Path) -> str:
    """A path as it is typed in a shell of this machine."""
    return f'"{path}"' if os.name == "nt" else shlex.quote(str(path))
