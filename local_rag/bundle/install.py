"""Install local-rag from the bundle that contains this file, without a network, with the standard library alone.

It compares every file with manifest.json, makes a virtual environment, lets the bundle's own pip fill it, and runs
`local-rag bundle install` there, which puts models and an index in their folders. Older Pythons read this file up to
`_require`: use only syntax of Python 3.6.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

OLDEST = (3, 11)


def _require() -> None:
    """End with a hint if this Python cannot run the rest of this file."""
    if sys.version_info[:2] < OLDEST:
        sys.exit("error: local-rag needs Python 3.11 or newer\nhint: README.txt says which Python this bundle is for")


_require()

FORMAT = 1
WHAT = "local-rag bundle"
MANIFEST = "manifest.json"
REQUIREMENTS = "requirements.txt"

AGAIN = "bring the bundle again"
LARGEST_MANIFEST = 16_000_000
"""The maximum size in bytes; the manifest of a bundle of 100,000 files is smaller."""

_NAME = r"[A-Za-z0-9_][A-Za-z0-9._+!-]*"
LAYOUT = re.compile(
    rf"install\.py|README\.txt|requirements\.txt|models\.yaml|wheels/{_NAME}\.whl|indexes/{_NAME}/index\.sqlite"
    rf"|(embedders|evaluators)/({_NAME}/)+({_NAME}\.(json|txt|md|model|safetensors|onnx)|LICENSE)"
    rf"|ollama/blobs/sha256-[0-9a-f]{{64}}|ollama/manifests/{_NAME}/{_NAME}/{_NAME}/{_NAME}"
)
"""The paths that a bundle may contain; none leads out of it. Weights in other formats are excluded: they can hold
programs.
"""

OLDEST_SYSTEM = {"linux": ("glibc", "2.28"), "macos": ("macOS", "14.0")}
"""The oldest systems on which the wheels of a bundle run: Debian 10, Ubuntu 18.10 and RHEL 8 have this glibc."""

MARK = "local-rag-bundle.txt"
"""A file in a virtual environment that was made here: the SHA-256 of the bundle's manifest, or empty until all is
installed.
"""


class Refused(Exception):
    """Report in one line what does not fit, and in `hint` what to type next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def say(line: str) -> None:
    """Write a line to stderr, without control characters from names in the bundle."""
    print("".join(ch if ch.isprintable() else "?" for ch in line), file=sys.stderr, flush=True)  # noqa: T201


def quoted(path: Path) -> str:
    """Return a path as a person types it in a shell of this machine."""
    return f'"{path}"' if os.name == "nt" else shlex.quote(str(path))


# --- large files ------------------------------------------------------------------------------------------------------

EVERY = 3.0
"""Seconds between two lines of progress; shorter work shows none."""

BLOCK = 1 << 22


class Progress:
    """Report progress of long work on `total` bytes, as "copied 37% of 2,019 MB"; `done` is the verb."""

    def __init__(self, done: str, total: int, show: Callable[[str], None] = say) -> None:
        self.done, self.total, self.show = done, total, show
        self.count, self.shown = 0, time.monotonic()

    def add(self, count: int) -> None:
        """Count bytes that are done, and show the progress from time to time."""
        self.count += count
        if time.monotonic() - self.shown >= EVERY:
            self.shown = time.monotonic()
            share = min(self.count, self.total) / max(self.total, 1)
            self.show(f"{self.done} {share:.0%} of {self.total / 1e6:,.0f} MB")


def sum_of(source: Path, progress: Progress | None = None, target: Path | None = None) -> str:
    """Return the SHA-256 of a file in hex, and copy the file to `target` if it is given; raise OSError."""
    digest = hashlib.sha256()
    with source.open("rb") as stream, (target or Path(os.devnull)).open("wb") as out:
        for block in iter(lambda: stream.read(BLOCK), b""):
            digest.update(block)
            out.write(block)
            if progress:
                progress.add(len(block))
    return digest.hexdigest()


# --- is it the bundle, and whole? -------------------------------------------------------------------------------------


class Bundle(NamedTuple):
    """Hold a manifest that could be read: `files` maps paths to SHA-256, which `problems` compares."""

    folder: Path
    sum: str
    platform: str
    python: str
    files: dict[str, str]


def read(folder: Path, expected: str = "") -> Bundle:
    """Read the manifest of a bundle; raise Refused for an unusable one, or if its SHA-256 is not `expected`."""
    file = folder / MANIFEST
    try:
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_MANIFEST:
            raise Refused(f"{file} is no manifest: it must be a plain file below {LARGEST_MANIFEST:,} bytes", AGAIN)
        raw = file.read_bytes()
    except OSError as error:
        create = f"local-rag bundle create {quoted(folder)}   where the network is, finishes a bundle"
        raise Refused(
            f"{folder} is not a whole bundle: no {MANIFEST} can be read ({error.strerror})", create
        ) from error
    digest = hashlib.sha256(raw).hexdigest()
    if expected and digest != expected.strip().lower():
        hint = "compare with the sum that 'local-rag bundle create' printed; if it differs, make the bundle anew"
        raise Refused(f"the manifest has SHA-256 {digest}, not {expected.strip()}", hint)
    try:
        data = json.loads(raw.decode("utf-8"))
        if (data["what"], data["format"]) != (WHAT, FORMAT):
            raise ValueError(f"it says {data['what']!r} of format {data['format']!r}, not {WHAT!r} of format {FORMAT}")
        if not all(re.fullmatch("[0-9a-f]{64}", value) for value in data["files"].values()):
            raise ValueError("a file has no SHA-256")
        return Bundle(folder, digest, str(data["platform"]), str(data["python"]), data["files"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"{MANIFEST} is not the manifest of a bundle: {error}", AGAIN) from error


def problems(bundle: Bundle) -> list[str]:
    """Return one line for each difference from the manifest: wrong names, or else wrong files, or else wrong sums."""
    found = _bad_names(bundle) or _bad_files(bundle)
    if found:
        return found
    progress = Progress("checked", sum((bundle.folder / path).stat().st_size for path in bundle.files))
    for path, digest in sorted(bundle.files.items()):
        try:
            if sum_of(bundle.folder / path, progress) != digest:
                found.append(f"changed: {path} does not have its SHA-256")
        except OSError as error:
            found.append(f"cannot be read: {path} ({error.strerror})")
    return found


def _bad_names(bundle: Bundle) -> list[str]:
    found = [
        f"missing: the manifest does not name {path}"
        for path in ("install.py", REQUIREMENTS)
        if path not in bundle.files
    ]
    for path, digest in sorted(bundle.files.items()):
        if not LAYOUT.fullmatch(path):
            found.append(f"not allowed: {path!r} is nothing that a bundle holds")
        elif path.startswith("ollama/blobs/") and not path.endswith(digest):
            found.append(f"not allowed: {path} is named for another SHA-256 than its own")
    return found


def _bad_files(bundle: Bundle) -> list[str]:
    """Return missing and extra files, and links, which are never followed."""
    found, there = [], set()
    for file in sorted(bundle.folder.rglob("*")):
        path, mode = file.relative_to(bundle.folder).as_posix(), file.lstat().st_mode
        if stat.S_ISDIR(mode) or path == MANIFEST:
            continue
        there.add(path)
        if not stat.S_ISREG(mode):
            found.append(f"not a plain file: {path}")
        elif path not in bundle.files:
            found.append(f"extra: {path} is not in the manifest (delete it, if you know what it is)")
    return found + [f"missing: {path}" for path in sorted(set(bundle.files) - there)]


def must_be_whole(bundle: Bundle) -> None:
    """Raise Refused, after writing a line for each problem, if there are any."""
    say(f"checking {len(bundle.files):,} files…")
    found = problems(bundle)
    for line in found:
        say(line)
    if found:
        raise Refused(f"{bundle.folder} is not as its manifest says, so nothing was installed", AGAIN)


# --- does it fit this machine? ----------------------------------------------------------------------------------------


def here() -> str:
    """Return the name of this machine's platform, such as linux-x86_64."""
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "arm64" if system == "macos" else "aarch64"}.get(machine, machine)
    return f"{system}-{machine}"


def must_fit(bundle: Bundle) -> None:
    """Raise Refused if the bundle was made for another platform, system or Python."""
    python = "{}.{}".format(*sys.version_info[:2])
    again = f"local-rag bundle create DIR --platform {here()} --python {python}   on the machine that has the network"
    if bundle.platform != here():
        raise Refused(f"the bundle is for {bundle.platform}, and this machine is {here()}", again)
    if bundle.python != python:
        program = quoted(bundle.folder / "install.py")
        hint = f"python{bundle.python} -I {program}   or: {again}"
        raise Refused(f"the bundle is for Python {bundle.python}, and this is Python {python}", hint)
    name, least = OLDEST_SYSTEM.get(bundle.platform.partition("-")[0], ("", ""))
    library, version = platform.libc_ver()
    present = {"glibc": version if library == "glibc" else "", "macOS": platform.mac_ver()[0]}.get(name, "")
    if _numbers(present) < _numbers(least):
        raise Refused(f"the bundle needs {name} {least} or newer, and this machine has {present or 'none'}", again)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


# --- the virtual environment ------------------------------------------------------------------------------------------


def usual_environment() -> Path:
    """Return the default folder, in the data folder as local_rag/config/settings.py and platformdirs choose it."""
    own, xdg = os.environ.get("LOCAL_RAG_DATA_DIR"), os.environ.get("XDG_DATA_HOME", "").strip()
    if own:
        return Path(own).expanduser().absolute() / "venv"
    if sys.platform == "win32":
        parent = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    elif Path(xdg).is_absolute():
        parent = Path(xdg)
    else:
        parent = Path.home() / ("Library/Application Support" if sys.platform == "darwin" else ".local/share")
    return parent / "local-rag" / "venv"


def program(folder: Path, name: str) -> Path:
    """Return the path of a program in a virtual environment."""
    return folder / "Scripts" / f"{name}.exe" if os.name == "nt" else folder / "bin" / name


def is_installed(folder: Path, bundle: Bundle) -> bool:
    """Return whether the environment contains all of this bundle."""
    mark = folder / MARK
    return mark.is_file() and mark.read_text() == bundle.sum and program(folder, "local-rag").exists()


def must_be_ours(folder: Path, bundle: Bundle) -> None:
    """Raise Refused for an environment inside the bundle, and for a folder with other contents."""
    if bundle.folder.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise Refused(f"{folder} is inside the bundle, which must not change", "… --venv PATH   elsewhere")
    is_free = not folder.exists() or (folder.is_dir() and (not any(folder.iterdir()) or (folder / MARK).is_file()))
    if not is_free:
        raise Refused(f"{folder} holds something other than an installation from a bundle", "… --venv PATH   elsewhere")


def make_environment(folder: Path, bundle: Bundle) -> None:
    """Make the environment and let pip fill it, unless it contains all of this bundle already."""
    if is_installed(folder, bundle):
        say(f"already installed in {folder}")
        return
    try:
        if folder.exists():
            shutil.rmtree(folder)
        say(f"making a virtual environment in {folder}")
        for parent in reversed([parent for parent in folder.parents if not parent.exists()]):
            parent.mkdir(mode=0o700)
        folder.mkdir()
        (folder / MARK).touch()
        venv.EnvBuilder(symlinks=os.name != "nt", prompt="local-rag").create(folder)
        _install_wheels(folder, bundle)
        (folder / MARK).write_text(bundle.sum)
    except OSError as error:
        raise Refused(f"{error.filename or folder}: {error.strerror}", "mend that, then the same command") from error


def _install_wheels(folder: Path, bundle: Bundle) -> None:
    """Run pip from its wheel in the bundle, without the settings of the shell and the system; raise Refused."""
    wheels = [path for path in bundle.files if path.startswith("wheels/")]
    pip = next((path for path in wheels if path.startswith("wheels/pip-")), None)
    if pip is None:
        raise Refused("the bundle holds no wheel of pip", "local-rag bundle create DIR   makes a whole one")
    say(f"installing {len(wheels):,} packages, which takes a minute or two…")
    command = [
        str(program(folder, "python")),
        "-I",
        str(Path(pip) / "pip"),
        "install",
        "--isolated",
        "--no-input",
        "-qq",
    ]
    command += ["--disable-pip-version-check", "--no-cache-dir", "--no-compile", "--no-index", "--find-links", "wheels"]
    command += ["--only-binary", ":all:", "--require-hashes", "-r", REQUIREMENTS]
    environment = {name: value for name, value in os.environ.items() if not name.upper().startswith(("PIP_", "PYTHON"))}
    environment.update(PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull)
    if subprocess.run(command, cwd=bundle.folder, env=environment, stdin=subprocess.DEVNULL).returncode:
        raise Refused("pip could not install the packages", "what pip said stands above; then the same command")


# --- the program ------------------------------------------------------------------------------------------------------


def install(given: Any) -> int:
    """Install everything in order and return the exit code; raise Refused before writing if something does not fit."""
    bundle = read(Path(__file__).resolve().parent, given.sum)
    must_fit(bundle)
    folder = Path(given.venv).expanduser().absolute() if given.venv else usual_environment()
    must_be_ours(folder, bundle)
    must_be_whole(bundle)
    local_rag = program(folder, "local-rag")
    then = [str(local_rag), "bundle", "install", str(bundle.folder), "--sum", bundle.sum]
    then += ["--index", given.index] if given.index else []
    then += [option for option in ("--keep", "--dry-run") if getattr(given, option[2:].replace("-", "_"))]
    if not given.dry_run:
        make_environment(folder, bundle)
    elif not is_installed(folder, bundle):
        say(f"all is as the manifest says; local-rag would be installed in {folder}, and nothing is written")
        return 0
    return subprocess.run(then, stdin=subprocess.DEVNULL).returncode


def main() -> int:
    """Read the options, install, and return the exit code of the program."""
    parser = argparse.ArgumentParser(prog="install.py", description="Install local-rag from this bundle, offline.")
    parser.add_argument("--venv", default="", metavar="PATH", help="where to install; default: in your data folder")
    parser.add_argument("--sum", default="", metavar="HEX", help="the SHA-256 that manifest.json must have")
    parser.add_argument("--index", default="", metavar="NAME", help="another name for the index")
    parser.add_argument("--keep", action="store_true", help="leave what is there and differs, and install the rest")
    parser.add_argument("--dry-run", action="store_true", help="check, and show what would be done")
    try:
        return install(parser.parse_args())
    except Refused as error:
        say(f"error: {error}")
        say(f"hint: {error.hint}")
        return 1
    except KeyboardInterrupt:
        say("stopped")
        say("hint: the same command continues")
        return 130


if __name__ == "__main__":
    sys.exit(main())
